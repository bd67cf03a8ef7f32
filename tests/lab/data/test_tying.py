"""Domains tied to contexts, and the corruption of settings on kinds."""

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.data.pictures import Album
from rpo_lab.data.tying import corrupted, tied

KINDS = ("bear", "bird", "cat", "cow", "dog", "boat", "bus", "car", "train", "truck")
HOMES = (("wood",), ("road", "sea"))
CONTEXTS = ("road", "sea", "wood")


@pytest.fixture
def album():
    """Forty pictures of each kind in each context."""
    kind, context, _ = np.indices((10, 3, 40)).reshape(3, -1)
    return Album(
        KINDS,
        CONTEXTS,
        (kind >= 5).astype(np.int8),
        kind.astype(np.int16),
        context.astype(np.int16),
        np.array([f"{i:064x}" for i in range(1200)]),
        [str(i) for i in range(1200)],
        lambda picture, size: np.full((size, size, 3), picture % 256, np.uint8),
    )


def drawn(album, **changes):
    options = {"ties": (0.9, 0.7), "test_tie": 0.1, "rows": 200, "test_rows": 100, "rng": np.random.default_rng(0)}
    return tied(album, HOMES, **(options | changes))


def test_label_and_context_are_tied_as_asked_and_kinds_are_even(album):
    picture, domain, part = drawn(album)
    assert len(set(picture.tolist())) == len(picture) == 500
    at_home = (album.context == CONTEXTS.index("wood")) == (album.label == 0)
    for e, (tie, rows) in enumerate([(0.9, 200), (0.7, 200), (0.1, 100)]):
        for label in (0, 1):
            here = picture[(domain == e) & (album.label[picture] == label)]
            assert len(here) == rows // 2
            assert at_home[here].sum() == round(tie * rows / 2)
            counts = np.bincount(album.kind[here] - 5 * label, minlength=5)
            assert counts.max() - counts.min() <= 3
    blue = np.bincount(album.context[picture[(domain == 0) & (album.label[picture] == 1)]], minlength=3)
    assert abs(blue[0] - blue[1]) <= 1
    assert [(part[domain == e] == "validation").sum() for e in range(3)] == [40, 40, 0]
    assert set(part[domain == 2]) == {"test"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ties": (1.5,)}, "a tie must .* got 1.5"),
        ({"rows": 2000}, "pictures of animals wood are needed and .* are left"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(album, changes, words):
    with pytest.raises(InputError, match=words):
        drawn(album, **changes)
    with pytest.raises(InputError, match="there is no context 'moon': there are road, sea, wood"):
        tied(album, (("moon",), ("sea",)), ties=(1,), test_tie=0, rows=2, test_rows=2, rng=np.random.default_rng(0))


def test_setting_13_thins_and_turns_its_cells_alone(album):
    """The first three animals in domain 0, the third in all; the test domain and other kinds are left alone."""
    picture, domain, part = drawn(album)
    flips = turned = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        data = corrupted(album, picture, domain, part, setting=13, keep=0.3, flip=0.4, rng=rng)
        for e in range(3):
            for k in range(10):
                for c in range(3):
                    before = (domain == e) & (album.kind[picture] == k) & (album.context[picture] == c)
                    after = (data.domain == e) & (album.kind[data.picture] == k) & (album.context[data.picture] == c)
                    bad = e < 2 and (k == 2 or (e == 0 and k < 2))
                    if bad and before.any():
                        assert after.sum() == max(1, round(0.3 * before.sum()))
                        flips, turned = flips + data.flipped[after].sum(), turned + after.sum()
                    else:
                        assert after.sum() == before.sum()
                        assert not data.flipped[after].any()
        np.testing.assert_array_equal(data.y != data.true_y, data.flipped)
    assert flips / turned == pytest.approx(0.4, abs=0.03)
    np.testing.assert_array_equal(data.stratum, album.kind[data.picture] * 3 + album.context[data.picture])


def test_clean_data_are_left_alone_and_a_kind_that_is_missing_is_named(album):
    picture, domain, part = drawn(album)
    options = {"keep": 0.1, "flip": 0.3, "rng": np.random.default_rng(0)}
    data = corrupted(album, picture, domain, part, setting=0, **options)
    np.testing.assert_array_equal(data.picture, picture)
    assert not data.flipped.any()
    few = Album(**{**vars(album), "label": (album.kind >= 8).astype(np.int8)})
    with pytest.raises(InputError, match="setting 12 needs 5 kinds of vehicle: only 2 are available"):
        corrupted(few, picture, domain, part, setting=12, **options)
    with pytest.raises(InputError, match="keep must .* got 2"):
        corrupted(album, picture, domain, part, setting=13, keep=2, flip=0, rng=np.random.default_rng(0))
