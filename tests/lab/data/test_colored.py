"""The fourteen settings: counts and noise of every cell as defined, images held once."""

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.data.colored import DOMAINS, colored_mnist, colored_setting


def counts(data):
    return np.array([[((data.domain == e) & (data.digit == k)).sum() for k in range(10)] for e in range(DOMAINS + 1)])


def check_cells(data, clean, keep=0.1, flip=0.3):
    """Bad cells keep their share of the clean cell's rows and have labels turned; the others are as in clean data."""
    bad = np.array([[(e, k) in data.setting.cells for k in range(10)] for e in range(DOMAINS + 1)])
    before, after = counts(clean), counts(data)
    expected = np.where(bad, np.maximum(1, np.rint(keep * before)), before)
    # Two halves may round either way.
    assert np.abs(after - expected).max() <= 1
    assert (after[~bad] == before[~bad]).all()
    assert not data.flipped[~bad[data.domain, data.digit]].any()
    return data.flipped[bad[data.domain, data.digit]]


@pytest.mark.parametrize("number", range(1, 15))
def test_every_cell_is_as_defined_on_the_small_digits(number):
    turned = np.concatenate(
        [
            check_cells(colored_mnist(number, digits="sklearn", seed=s), colored_mnist(digits="sklearn", seed=s))
            for s in range(20)
        ]
    )
    error = np.sqrt(0.3 * 0.7 / len(turned))
    assert abs(turned.mean() - 0.3) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 15))
def test_every_cell_is_as_defined_on_mnist(mnist, number):
    turned = check_cells(colored_mnist(number), colored_mnist())
    assert abs(turned.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / len(turned))


def test_settings_are_those_of_the_definition():
    # Setting 1 and digit 2 everywhere share a cell.
    assert [len(colored_setting(n).cells) for n in range(15)] == [0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 5, 6]
    for number in range(1, 7):
        assert len({domain for domain, _ in colored_setting(number).cells}) == 1
    for number in range(7, 13):
        assert {domain for domain, _ in colored_setting(number).cells} == {0, 1, 2}
    assert colored_setting(13).cells == colored_setting(1).cells | colored_setting(8).cells
    assert colored_setting(14).cells == colored_setting(6).cells | colored_setting(11).cells
    assert len({colored_setting(n).cells for n in range(15)}) == 15
    with pytest.raises(InputError, match="there is no setting 15"):
        colored_setting(15)


def test_colour_and_label_noise_are_what_was_asked():
    drawn = [colored_mnist(digits="sklearn", seed=s) for s in range(30)]
    rows = {name: np.concatenate([getattr(d, name) for d in drawn]) for name in ("y", "colour", "domain", "digit")}
    for e, flips in enumerate((0.1, 0.2, 0.3, 0.9)):
        here = rows["domain"] == e
        n = here.sum()
        assert abs((rows["colour"] != rows["y"])[here].mean() - flips) < 4 * np.sqrt(flips * (1 - flips) / n)
        wrong = (rows["y"] != (rows["digit"] >= 5))[here].mean()
        assert abs(wrong - 0.25) < 4 * np.sqrt(0.25 * 0.75 / n)
    clean_test = colored_mnist(digits="sklearn", test_label_noise=0.0)
    assert ((clean_test.y == (clean_test.digit >= 5))[clean_test.test]).all()


def test_flips_before_colouring_keep_the_colour_tied():
    tied = {}
    for after in (True, False):
        drawn = [
            colored_mnist(
                7, digits="sklearn", flip=0.5, flip_after_colouring=after, colour_flip=(0, 0, 0), keep=1.0, seed=s
            )
            for s in range(10)
        ]
        tied[after] = np.mean([(d.colour == d.y)[(d.digit == 0) & (d.domain < DOMAINS)].mean() for d in drawn])
    assert tied[False] == 1.0
    assert abs(tied[True] - 0.5) < 0.1


def test_images_are_held_once_and_inputs_have_one_colour():
    first, second = colored_mnist(1, digits="sklearn"), colored_mnist(9, digits="sklearn", seed=3)
    assert first.images is second.images
    assert first.images.dtype == np.uint8
    inputs = first.x(first.train[:50]).reshape(50, 2, 64)
    other = 1 - first.colour[first.train[:50]]
    assert (inputs[np.arange(50), other] == 0).all()
    own = inputs[np.arange(50), first.colour[first.train[:50]]]
    np.testing.assert_allclose(own, first.images[first.image[first.train[:50]]].reshape(50, 64) / 255, rtol=1e-6)


def test_training_and_test_share_no_image_and_a_seed_is_a_draw():
    data = colored_mnist(5, digits="sklearn", seed=2)
    assert not set(data.image[data.train]) & set(data.image[data.test])
    assert len(set(data.image)) == len(data.image)
    again, other = colored_mnist(5, digits="sklearn", seed=2), colored_mnist(5, digits="sklearn", seed=4)
    np.testing.assert_array_equal(data.image, again.image)
    assert not np.array_equal(data.y, other.y[: len(data.y)])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"keep": 1.5}, "keep must .* got 1.5"),
        ({"flip": -0.1}, "flip must .* got -0.1"),
        ({"colour_flip": (0.1, 0.2)}, "colour_flip must have one value"),
        ({"colour_flip": (0.1, 0.2, 3.0)}, r"colour_flip\[2\] must .* got 3.0"),
        ({"digits": "roman"}, "digits must .* got 'roman'"),
    ],
)
def test_bad_options_are_one_line(options, message):
    with pytest.raises(InputError, match=message):
        colored_mnist(1, **{"digits": "sklearn", **options})
