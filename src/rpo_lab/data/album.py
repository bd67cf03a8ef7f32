"""All pictures that there are: what each shows, before what, and how to have its pixels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpo._io import few
from rpo_lab.data.pictures import Trouble

LABELS = ("animal", "vehicle")


class Skipped(NamedTuple):
    """A file that was left out, and why."""

    name: str
    why: Trouble | str


@dataclass(frozen=True, eq=False)
class Album:
    """Pictures, no two of them the same: label (0 animal, 1 vehicle), kind, context, and content hash of each.

    `read(picture, size)` gives the pixels of one, `(size, size, 3)` bytes.
    """

    kinds: tuple[str, ...]
    contexts: tuple[str, ...]
    label: NDArray[np.int8]
    kind: NDArray[np.int16]
    context: NDArray[np.int16]
    digest: NDArray[np.str_]
    """SHA-256 of each picture's content."""
    names: Sequence[str]
    read: Callable[[int, int], NDArray[np.uint8]]
    skipped: tuple[Skipped, ...] = ()
    aliases: Mapping[str, int] = field(default_factory=dict)
    """Every name that leads to a picture, those of duplicates among them."""

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def place(self) -> dict[str, int]:
        """Where the picture of a content hash is."""
        return {str(digest): place for place, digest in enumerate(self.digest)}

    def pixels(self, pictures: NDArray[Any], size: int) -> NDArray[np.uint8]:
        """Pixels of some pictures, `(n, size, size, 3)`."""
        found = np.empty((len(pictures), size, size, 3), dtype=np.uint8)
        for row, picture in enumerate(pictures):
            found[row] = self.read(int(picture), size)
        return found

    def notes(self, most: int = 5) -> list[str]:
        """One line for each reason for which files were left out: how many, and the first names."""
        lines = []
        for why in dict.fromkeys(skipped.why for skipped in self.skipped):
            names = [skipped.name for skipped in self.skipped if skipped.why == why]
            lines.append(f"{len(names)} {why}: {few(names, most)}")
        return lines


def unique(digest: NDArray[np.str_]) -> NDArray[np.intp]:
    """The first place of every content, in order: a picture under two names is one picture.

    >>> unique(np.array(["b", "a", "b", "c"])).tolist()
    [0, 1, 3]
    """
    return np.sort(np.unique(digest, return_index=True)[1])
