"""Coordinates of the small drawings in table cells, in per cent of the width."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Place = dict[str, float] | None
TAIL = 0.9  # share of intervals that fit the scale: a wide one must not flatten all others
FURTHEST = 4.0  # the scale extends up to this factor for distant values


def from_zero(low: Any, middle: Any, high: Any, mark: float = np.nan) -> list[Place]:
    """Place intervals on a scale that begins at zero, with a `mark` to compare; None where there is no interval.

    >>> from_zero([0.5, None], [1.0, None], [2.0, None], 1.0)
    [{'low': 25.0, 'middle': 50.0, 'high': 100.0, 'mark': 50.0}, None]
    """
    table = _table(low, middle, high, np.full(len(low), mark if np.isfinite(mark) else 0.0))
    return _places(100 * np.clip(table / _reach(table), 0, 1))


def about_zero(low: Any, middle: Any, high: Any) -> list[Place]:
    """Place intervals on a scale with zero, marked, in its middle; None where there is no interval.

    >>> about_zero([0.0, None], [1.0, None], [2.0, None])
    [{'low': 50.0, 'middle': 75.0, 'high': 100.0, 'mark': 50.0}, None]
    """
    table = _table(low, middle, high, np.zeros(len(low)))
    return _places(50 + 50 * np.clip(table / _reach(table), -1, 1))


def bars(value: Any, full: float = 0.0) -> list[float | None]:
    """Compute lengths of bars; the longest is the largest value, or `full` if that is more.

    >>> bars([0.5, None, 0.25]), bars([0.1], 1.0)
    ([100.0, None, 50.0], [10.0])
    """
    table = np.asarray(value, dtype=float)
    end = max(float(np.nanmax(table, initial=0.0)), full, 1e-300)
    return [round(100 * v / end, 1) if np.isfinite(v) else None for v in table.tolist()]


def _table(*columns: Any) -> NDArray[np.float64]:
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def _reach(table: NDArray[np.float64]) -> float:
    known = np.abs(table[np.isfinite(table).all(1)])
    if not len(known):
        return 1.0
    wide = float(np.quantile(known.max(1), TAIL))
    return max(wide, min(float(known[:, 1].max()), FURTHEST * wide), 1e-300)


def _places(table: NDArray[np.float64]) -> list[Place]:
    names = ("low", "middle", "high", "mark")
    return [
        {name: round(value, 1) for name, value in zip(names, row, strict=True)} if np.isfinite(row).all() else None
        for row in table.tolist()
    ]
