"""Colored-MNIST with uneven quality: the fourteen settings, on MNIST or on scikit-learn's small digits."""

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rpo.exceptions import InputError
from rpo_lab.data.mnist import load_mnist

Digits = Literal["mnist", "sklearn"]
DOMAINS = 3
TEST_SHARE = 0.25  # of scikit-learn's digits, which have no test set of their own

BAD_DOMAIN_DIGITS = ((0, 1, 2), (0, 1, 5))  # of one class, and of both
BAD_GROUPS = (0, 2, 4, 5, 7, 9)


@dataclass(frozen=True)
class Setting:
    """Which cells (domain, digit) are bad, and what kind of trouble that is."""

    number: int
    kind: str
    cells: frozenset[tuple[int, int]]


def colored_setting(number: int) -> Setting:
    """Return one of the fourteen settings; 0 has no bad cell.

    1 to 6, Bad Domain: domain 0, 1, 2 in turn, digits {0, 1, 2} (one class) then {0, 1, 5} (both classes). 7 to 12, Bad
    Group: digit 0, 2, 4, 5, 7, 9 in all domains. 13 is 1 and 8 together, 14 is 6 and 11.

    >>> sorted(colored_setting(1).cells)
    [(0, 0), (0, 1), (0, 2)]
    >>> sorted(colored_setting(14).cells)
    [(0, 7), (1, 7), (2, 0), (2, 1), (2, 5), (2, 7)]
    """
    if number == 0:
        return Setting(0, "clean", frozenset())
    if 1 <= number <= 6:
        domain, which = divmod(number - 1, 2)
        return Setting(number, "Bad Domain", frozenset((domain, digit) for digit in BAD_DOMAIN_DIGITS[which]))
    if 7 <= number <= 12:
        digit = BAD_GROUPS[number - 7]
        return Setting(number, "Bad Group", frozenset((domain, digit) for domain in range(DOMAINS)))
    if number in (13, 14):
        first, second = {13: (1, 8), 14: (6, 11)}[number]
        return Setting(number, "Mixup", colored_setting(first).cells | colored_setting(second).cells)
    raise InputError(f"there is no setting {number}: use 1 to 14, or 0 for clean data")


@dataclass(frozen=True, eq=False)
class ColoredDigits:
    """Rows that point at images: which image, which colour, which label; nothing is copied until `x` is asked for.

    `domain` is 0, 1, 2 in training and 3 for the test domain; `digit` is the stratum; `flipped` says whose label the
    corruption turned; `images` is the one array of bytes that all settings share.
    """

    images: NDArray[np.uint8]
    image: NDArray[np.intp]
    colour: NDArray[np.int8]
    y: NDArray[np.int8]
    domain: NDArray[np.int8]
    digit: NDArray[np.int8]
    flipped: NDArray[np.bool_]
    setting: Setting

    @property
    def train(self) -> NDArray[np.intp]:
        """The rows of the training domains."""
        return np.flatnonzero(self.domain < DOMAINS)

    @property
    def test(self) -> NDArray[np.intp]:
        """The rows of the test domain."""
        return np.flatnonzero(self.domain == DOMAINS)

    def x(self, rows: NDArray[Any] | slice = slice(None)) -> NDArray[np.float32]:
        """Return the inputs of some rows, `(n, 2·s·s)`: the image in the channel of its colour, zeros in the other."""
        pixels = self.images[self.image[rows]].astype(np.float32) / 255
        inputs = np.zeros((len(pixels), 2, *pixels.shape[1:]), dtype=np.float32)
        inputs[np.arange(len(pixels)), self.colour[rows]] = pixels
        return inputs.reshape(len(pixels), -1)


def random_setting(share: float, seed: int) -> Setting:
    """Draw a share of the thirty cells, in an order given by the seed: a larger share adds cells and drops none.

    >>> len(random_setting(0.1, seed=0).cells), random_setting(0.1, 0).cells < random_setting(0.5, 0).cells
    (3, True)
    """
    _check_probabilities(bad_share=share)
    every = [(domain, digit) for domain in range(DOMAINS) for digit in range(10)]
    order = np.random.default_rng([seed, 9]).permutation(len(every))
    return Setting(0, "Random Cells", frozenset(every[i] for i in order[: round(share * len(every))]))


def colored_mnist(
    setting: int = 0,
    *,
    bad_share: float | None = None,
    digits: Digits = "mnist",
    folder: str | os.PathLike[str] | None = None,
    colour_flip: tuple[float, float, float] = (0.1, 0.2, 0.3),
    test_colour_flip: float = 0.9,
    label_noise: float = 0.25,
    test_label_noise: float = 0.25,
    keep: float = 0.1,
    flip: float = 0.3,
    flip_after_colouring: bool = True,
    image_size: int = 14,
    seed: int = 0,
) -> ColoredDigits:
    """Draw digits (0–4 against 5–9) whose colour follows the label in training and the reverse in the test domain.

    The label is turned with probability `label_noise`; the colour is the label, turned with the domain's
    `colour_flip`. In the bad cells of the setting a share `keep` of the rows stays, and their labels are turned again
    with probability `flip`, after the colour is drawn (so that it no longer follows) or before. With `bad_share`, that
    share of all cells, drawn from the seed, is bad instead of the setting's. `digits="sklearn"` takes the 8 × 8 digits
    that come with scikit-learn and needs no download.

    >>> data = colored_mnist(1, digits="sklearn")
    >>> data.x(data.train).shape[1], sorted(set(data.domain.tolist()))
    (128, [0, 1, 2, 3])
    """
    chosen = colored_setting(setting) if bad_share is None else random_setting(bad_share, seed)
    _check_probabilities(
        label_noise=label_noise,
        test_label_noise=test_label_noise,
        keep=keep,
        flip=flip,
        test_colour_flip=test_colour_flip,
    )
    if len(colour_flip) != DOMAINS:
        raise InputError(
            f"colour_flip must have one value for each of the {DOMAINS} training domains, got {len(colour_flip)}"
        )
    _check_probabilities(**{f"colour_flip[{e}]": value for e, value in enumerate(colour_flip)})
    images, digit, is_test = _pool(digits, None if folder is None else os.fspath(folder), image_size)
    rng = np.random.default_rng([seed, 7])
    domain = _domains(is_test, rng)
    bad = np.zeros((DOMAINS + 1, 10), dtype=bool)
    for cell in chosen.cells:
        bad[cell] = True
    in_bad = bad[domain, digit]

    true_label = (digit >= 5).astype(np.int8)
    noise = np.where(domain == DOMAINS, test_label_noise, label_noise)
    label = true_label ^ (rng.random(len(digit)) < noise)
    turned = in_bad & (rng.random(len(digit)) < flip)
    colour_noise = np.array([*colour_flip, test_colour_flip])[domain]
    coloured_by = label if flip_after_colouring else label ^ turned
    colour = coloured_by ^ (rng.random(len(digit)) < colour_noise)
    rows = np.flatnonzero(~in_bad | thinned(domain, digit, in_bad, keep, rng))
    return ColoredDigits(
        images,
        rows,
        colour[rows].astype(np.int8),
        (label ^ turned)[rows].astype(np.int8),
        domain[rows],
        digit[rows],
        turned[rows],
        chosen,
    )


def thinned(
    domain: NDArray[Any], digit: NDArray[Any], in_bad: NDArray[np.bool_], keep: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw a share of the rows of every bad cell without replacement: at least one stays."""
    stays = np.zeros(len(domain), dtype=bool)
    for e, k in sorted(set(zip(domain[in_bad].tolist(), digit[in_bad].tolist(), strict=True))):
        rows = np.flatnonzero((domain == e) & (digit == k))
        stays[rng.choice(rows, max(1, round(keep * len(rows))), replace=False)] = True
    return stays


def _domains(is_test: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int8]:
    """Divide training images evenly over the training domains; the others make the test domain."""
    domain = np.full(len(is_test), DOMAINS, dtype=np.int8)
    training = rng.permutation(np.flatnonzero(~is_test))
    domain[training] = np.arange(len(training)) % DOMAINS
    return domain


@lru_cache(maxsize=4)
def _pool(
    digits: str, folder: str | None, image_size: int
) -> tuple[NDArray[np.uint8], NDArray[np.int8], NDArray[np.bool_]]:
    """Return all images, their digits, and which belong to the test domain: held once, whatever is drawn from them."""
    if digits == "sklearn":
        from sklearn.datasets import load_digits

        data = load_digits()
        images = np.rint(data.images * (255 / 16)).astype(np.uint8)
        order = np.random.default_rng(0).permutation(len(images))
        is_test = np.zeros(len(images), dtype=bool)
        is_test[order[: round(TEST_SHARE * len(images))]] = True
        digit = data.target.astype(np.int8)
    elif digits == "mnist":
        if image_size not in (14, 28):
            raise InputError(f"image_size must be 14 (every second pixel) or 28, got {image_size}")
        mnist = load_mnist(folder)
        step = 28 // image_size
        images = np.ascontiguousarray(np.concatenate([mnist.train_images, mnist.test_images])[:, ::step, ::step])
        digit = np.concatenate([mnist.train_labels, mnist.test_labels]).astype(np.int8)
        is_test = np.arange(len(digit)) >= len(mnist.train_labels)
    else:
        raise InputError(f"digits must be 'mnist' or 'sklearn', got {digits!r}")
    for array in (images, digit, is_test):
        array.flags.writeable = False  # shared by all
    return images, digit, is_test


def _check_probabilities(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise InputError(f"{name} must be a probability between 0 and 1, got {value}")
