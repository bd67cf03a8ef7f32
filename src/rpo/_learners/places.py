"""The rank of a number among sorted cuts, from the cell of a grid and a step or two instead of a search."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rpo._stats.ridge import Array

CELLS = 4096
MOST_STEPS = 6  # from which on a search takes no longer


@dataclass(frozen=True, eq=False)
class Places:
    """#{c : c < x} for sorted cuts c: those in cells before that of x, and a step for every cut in the same cell.

    Finding the cell is monotone whatever the rounding, so that the place is exact.

    >>> Places.of(np.array([1.0, 2.0, 2.001]))(np.array([0.0, 1.0, 2.0005, 9.0])).tolist()
    [0, 0, 2, 3]
    """

    cuts: Array
    """The last is infinite."""
    low: float
    per: float
    """Cells to a unit."""
    first: NDArray[np.intp]
    """Of each cell, how many cuts are in those before."""
    steps: int

    @classmethod
    def of(cls, cuts: Array) -> "Places":
        """Build the grid of cuts in any order."""
        values = np.unique(cuts[np.isfinite(cuts)])
        span = float(values[-1] - values[0]) if len(values) else 0.0
        low, per = (float(values[0]) if len(values) else 0.0), (CELLS - 1) / span if 1e-300 < span < np.inf else 0.0
        count = np.bincount(_cell(values, low, per), minlength=CELLS)
        return cls(np.append(values, np.inf), low, per, np.cumsum(count) - count, int(count.max(initial=0)))

    def __call__(self, x: Array) -> NDArray[np.intp]:
        """Return the place of each number; none may be NaN."""
        if self.steps > MOST_STEPS:
            return np.asarray(np.searchsorted(self.cuts[:-1], x, side="left"))
        place = self.first.take(_cell(x, self.low, self.per), mode="clip")
        for _ in range(self.steps):
            place += x > self.cuts.take(place, mode="clip")
        return place


@dataclass(frozen=True, eq=False)
class Ranks:
    """The rank of a hash among sorted hashes: these are uniform, so that their first bits are the grid.

    >>> Ranks.of(np.array([5, 2**63], dtype=np.uint64))(np.array([5, 6, 2**64 - 1], dtype=np.uint64)).tolist()
    [0, 1, 2]
    """

    known: NDArray[np.uint64]
    shift: np.uint64
    first: NDArray[np.intp]
    steps: int

    @classmethod
    def of(cls, known: NDArray[np.uint64]) -> "Ranks":
        """Build the grid of sorted, unique hashes."""
        bits = max(1, len(known).bit_length())
        shift = np.uint64(64 - bits)
        first = np.searchsorted(known, np.arange(2**bits, dtype=np.uint64) << shift)
        return cls(known, shift, first, int(np.diff(first, append=len(known)).max()))

    def __call__(self, given: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the number of known hashes below each."""
        rank = self.first.take((given >> self.shift).astype(np.intp))
        for _ in range(self.steps):
            rank += (self.known.take(rank, mode="clip") < given) & (rank < len(self.known))
        return rank


def _cell(x: Array, low: float, per: float) -> NDArray[np.intp]:
    cell = x - low
    cell *= per
    np.clip(cell, 0.0, CELLS - 1.0, out=cell)
    return cell.astype(np.intp)
