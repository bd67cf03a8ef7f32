"""Encoding of rows: columns learned, weights as repeated rows, an order by content."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._stats.ridge import Array
from rpo._table.columns import Column, LeftOut, check_reach, fill, learn, names_of, typed
from rpo.exceptions import InputError

REPEATED = 10  # times as many rows as there are, at most, where weights are whole numbers


def columns_of(frame: pd.DataFrame) -> tuple[tuple[Column, ...], tuple[LeftOut, ...]]:
    """Learn each column; return those in use, and those left out because they have no information.

    >>> used, left = columns_of(pd.DataFrame({"a": [1.0, 2.0], "b": [None, None], "c": [3, 3]}))
    >>> [column.name for column in used], [(column.name, column.reason) for column in left]
    (['a'], [('b', 'missing in every row'), ('c', 'the same in every row')])
    """
    learned = [
        learn(frame[name], str(name)) if frame[name].notna().any() else LeftOut(str(name), "missing in every row")
        for name in frame.columns
    ]
    used = tuple(column for column in learned if isinstance(column, Column))
    left = tuple(column for column in learned if isinstance(column, LeftOut))
    if not used:
        reasons = "; ".join(f"{column.name!r}: {column.reason}" for column in left[:3])
        raise InputError(f"no column of X can be used ({reasons}): at least one must vary between rows")
    return used, left


def numbers(frame: pd.DataFrame, columns: Sequence[Column]) -> Array:
    """Return the numbers of checked columns, `(rows, numbers)`.

    >>> numbers(pd.DataFrame({"a": [1.0, 2.0]}), [Column(name="a", kind="number")]).tolist()
    [[1.0], [2.0]]
    """
    values = [typed(frame[column.name], column) for column in columns]
    for value, column in zip(values, columns, strict=True):
        check_reach(value, column.name)
    return fill(np.empty((len(frame), len(names_of(columns)[0]))), values, columns)


def repeat_rows(weight: Array) -> tuple[NDArray[np.intp], Array]:
    """Repeat each row as often as its weight says, if weights are whole numbers; return rows and their weights.

    A row of weight k and k copies of the row are then the same to any learner.

    >>> rows, counts = repeat_rows(np.array([0.0, 2.0, 1.0]))
    >>> rows.tolist(), counts.tolist()
    ([1, 1, 2], [1.0, 1.0, 1.0])
    """
    rows = np.flatnonzero(weight > 0)
    counts = weight[rows]
    if (counts % 1 == 0).all() and counts.sum() <= REPEATED * len(rows):
        rows = np.repeat(rows, counts.astype(np.intp))
        return rows, np.ones(len(rows))
    return rows, counts


def sort_rows(X: Array, y: NDArray[Any], *more: NDArray[Any]) -> NDArray[np.intp]:
    """Sort rows by their content, so that no result depends on the order of the table.

    >>> sort_rows(np.array([[2.0], [1.0], [1.0]]), np.array([0, 1, 0])).tolist()
    [2, 1, 0]
    """
    return np.lexsort((*more, y, *X.T[::-1]))


def free_name(name: str, frame: pd.DataFrame) -> str:
    """Return the name, followed by underscores if a column has it already.

    >>> free_name("target", pd.DataFrame({"target": []}))
    'target_'
    """
    while name in frame.columns:
        name += "_"
    return name
