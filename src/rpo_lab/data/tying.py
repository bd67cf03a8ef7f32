"""Domains in which the label is tied to the context of the photo, and to its opposite in the test domain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rpo.exceptions import InputError
from rpo_lab.data.colored import Setting, colored_setting, thinned
from rpo_lab.data.confounded import draw_validation
from rpo_lab.data.pictures import LABELS, Album, Skipped

Part = Literal["train", "validation", "balanced", "test"]
VALIDATION = 0.2  # share of each training domain that is kept for choosing models

Homes = tuple[tuple[str, ...], tuple[str, ...]]
"""The contexts in which animals, and those in which vehicles are at home."""


@dataclass(frozen=True, eq=False)
class Photos:
    """Rows that point at pictures of an album: which picture, which label, which domain, and what the row is for.

    `domain` counts from 0 in training; parts for testing have numbers of their own behind. `y` is 0 for an animal and 1
    for a vehicle, where `flipped` the other way round.
    """

    album: Album
    picture: NDArray[np.intp]
    y: NDArray[np.int8]
    domain: NDArray[np.int8]
    part: NDArray[np.str_]
    flipped: NDArray[np.bool_]
    setting: Setting
    skipped: tuple[Skipped, ...] = ()
    """Listed pictures that are not there or were not taken."""

    def rows(self, part: Part) -> NDArray[np.intp]:
        """Return the rows of one part."""
        return np.flatnonzero(self.part == part)

    @property
    def stratum(self) -> NDArray[np.int64]:
        """Kind × context of each row, as one number."""
        context = self.album.context[self.picture].astype(np.int64)
        return self.album.kind[self.picture] * len(self.album.contexts) + context

    @property
    def true_y(self) -> NDArray[np.int8]:
        """Labels before the corruption."""
        return self.album.label[self.picture]


def tied(
    album: Album,
    homes: Homes,
    *,
    ties: Sequence[float],
    test_tie: float,
    rows: int,
    test_rows: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.int8], NDArray[np.str_]]:
    """Draw pictures, domains and parts: half animals, half vehicles, a share `tie` of each at home.

    The rest are where the other is. No picture is drawn twice, contexts of one home are drawn alike, and kinds as
    evenly as there are pictures.

    >>> from rpo_lab.data.pictures import Album
    >>> grid = np.indices((2, 2, 50)).reshape(3, -1)  # label, context, picture
    >>> album = Album(LABELS, ("wood", "road"), grid[0].astype(np.int8), grid[0].astype(np.int16),
    ...     grid[1].astype(np.int16), np.arange(200).astype(str), "", lambda *_: np.zeros(0, np.uint8))
    >>> picture, domain, part = tied(album, (("wood",), ("road",)), ties=(0.9, 0.8), test_tie=0.1, rows=40,
    ...     test_rows=20, rng=np.random.default_rng(0))
    >>> [int((album.label == album.context)[picture][domain == e].sum()) for e in range(3)]
    [36, 32, 2]
    """
    stock = _Stock(album, homes, rng)
    plan = [(len(ties), test_tie, test_rows), *((e, tie, rows) for e, tie in enumerate(ties))]  # the scarce ones first
    drawn = {e: np.array(stock.draw(tie, count), dtype=np.intp) for e, tie, count in plan}
    picture = np.concatenate([drawn[e] for e in range(len(ties) + 1)])
    domain = np.repeat(np.arange(len(ties) + 1), [len(drawn[e]) for e in range(len(ties) + 1)]).astype(np.int8)
    part = np.where(domain == len(ties), "test", "train").astype("U10")
    return picture, domain, with_validation(domain, part, rng)


def with_validation(domain: NDArray[np.int8], part: NDArray[np.str_], rng: np.random.Generator) -> NDArray[np.str_]:
    """Set a fifth of each training domain apart for validation."""
    training = np.where(part == "train", domain, -1)
    drawn = draw_validation(rng, training, int(training.max()) + 1, VALIDATION)
    return np.where(drawn, "validation", part)


def corrupted(
    album: Album,
    picture: NDArray[np.intp],
    domain: NDArray[np.int8],
    part: NDArray[np.str_],
    *,
    setting: int,
    keep: float,
    flip: float,
    rng: np.random.Generator,
    skipped: tuple[Skipped, ...] = (),
) -> Photos:
    """Apply a setting of Colored-MNIST to photos: digits 0–4 are the first five kinds of animal, 5–9 those of vehicle.

    In a bad cell, a kind in a training domain, a share `keep` of the rows of every stratum (kind × context) stays, and
    their labels are turned with probability `flip`. The test domain is left alone.
    """
    for name, value in (("keep", keep), ("flip", flip)):
        if not 0 <= value <= 1:
            raise InputError(f"{name} must be a probability between 0 and 1, got {value}")
    chosen = colored_setting(setting)
    training = np.isin(part, ("train", "validation"))
    kind, context = album.kind[picture], album.context[picture]
    bad = np.zeros(len(picture), dtype=bool)
    for e, digit in chosen.cells:
        bad |= training & (domain == e) & (kind == _kind_of(album, digit, setting))
    stratum = kind.astype(np.int64) * len(album.contexts) + context
    present = ~bad | thinned(domain, stratum, bad, keep, rng)
    flipped = bad & (rng.random(len(picture)) < flip)
    y = (album.label[picture] ^ flipped).astype(np.int8)
    return Photos(
        album, picture[present], y[present], domain[present], part[present], flipped[present], chosen, skipped
    )


def _kind_of(album: Album, digit: int, setting: int) -> int:
    """Return the kind that stands for a digit."""
    label, place = divmod(digit, 5)
    kinds = np.unique(album.kind[album.label == label])
    if place >= len(kinds):
        raise InputError(
            f"setting {setting} needs {place + 1} kinds of {LABELS[label]}: only {len(kinds)} are available"
        )
    return int(kinds[place])


class _Stock:
    """Pictures not yet drawn, shuffled, by label, context and kind."""

    def __init__(self, album: Album, homes: Homes, rng: np.random.Generator) -> None:
        self.album, self.homes = album, homes
        shuffled = rng.permutation(len(album))
        self.left: dict[tuple[int, int], list[list[int]]] = {}
        for label in range(len(LABELS)):
            for name in (*homes[0], *homes[1]):
                if name not in album.contexts:
                    raise InputError(f"there is no context {name!r}: there are {', '.join(album.contexts)}")
                context = album.contexts.index(name)
                cell = shuffled[(album.label == label)[shuffled] & (album.context == context)[shuffled]]
                kinds = np.unique(album.kind[cell])
                self.left[label, context] = [cell[album.kind[cell] == kind].tolist() for kind in kinds]

    def draw(self, tie: float, count: int) -> list[int]:
        """Draw as many animals as vehicles, a share `tie` of them at home."""
        if not 0 <= tie <= 1:
            raise InputError(f"a tie must be a share between 0 and 1, got {tie}")
        drawn = []
        for label in range(len(LABELS)):
            half = (count + 1 - label) // 2
            at_home = round(half * tie)
            for home, number in ((self.homes[label], at_home), (self.homes[1 - label], half - at_home)):
                for place, name in enumerate(home):
                    share = (number + len(home) - 1 - place) // len(home)
                    drawn += self._take(label, self.album.contexts.index(name), share)
        return drawn

    def _take(self, label: int, context: int, number: int) -> list[int]:
        """Draw pictures from each kind in turn, as long as it has any."""
        kinds = self.left[label, context]
        left = sum(map(len, kinds))
        if left < number:
            raise InputError(
                f"{number} pictures of {LABELS[label]}s {self.album.contexts[context]} are needed "
                f"and {left} are left: ask for fewer rows"
            )
        taken: list[int] = []
        while len(taken) < number:
            taken += [kind.pop() for kind in kinds if kind][: number - len(taken)]
        return taken
