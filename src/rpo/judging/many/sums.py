"""Sums that add up: of rows, of batches, of parts, of machines, in whatever way a dataset is cut."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Sums = dict[str, NDArray[np.float64]]


def added(one: Sums, other: Mapping[str, NDArray[np.float64]]) -> Sums:
    """Two sums together; the first is changed, and is none at the start.

    >>> added(added({}, {"n": np.ones(2)}), {"n": np.ones(2)})
    {'n': array([2., 2.])}
    """
    for name, value in other.items():
        if name in one:
            one[name] += value
        else:
            one[name] = np.array(value, dtype=np.float64)
    return one


def by_group(group: NDArray[np.intp], value: NDArray[np.float64] | None, number: int) -> NDArray[np.float64]:
    """Σ of a value in each group; without a value, how many rows.

    >>> by_group(np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0]), 2).tolist()
    [1.0, 5.0]
    """
    return np.asarray(np.bincount(group, value, number), dtype=np.float64)
