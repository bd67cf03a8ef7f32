"""Folds for cross-fitting that depend on the content of a row, not on its position."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Folds = NDArray[np.int64]


def folds_by_content(pieces: Iterable[ArrayLike], weight: ArrayLike, folds: int) -> Folds:
    """Assign rows to folds by a hash of their content, in turn.

    Equal rows share a fold, so that duplicates do not leak, and a row of weight two is the same as two rows; shuffling
    the rows changes nothing. Rows of weight zero are assigned to fold zero and do not count.

    >>> folds_by_content([[[1.0], [2.0], [1.0], [3.0]]], np.ones(4), 2).tolist() in (
    ...     [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0])
    True
    """
    hashed = content(pieces)
    positive = np.asarray(weight) > 0
    _, rank = np.unique(hashed[positive], return_inverse=True)
    fold = np.zeros(len(hashed), dtype=np.int64)
    fold[positive] = rank % folds
    return fold


def folds_by_group(group: NDArray[np.intp], folds: int, weight: ArrayLike | None = None) -> Folds:
    """Assign whole groups to folds of similar size, the largest group first.

    With weights, the size of a group is the sum of its weights.

    >>> folds_by_group(np.array([0, 0, 0, 1, 2, 2]), 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    count = np.bincount(group, None if weight is None else np.asarray(weight, dtype=np.float64))
    home = np.zeros(len(count), dtype=np.int64)
    load = np.zeros(folds)
    for g in np.argsort(-count, kind="stable"):
        home[g] = load.argmin()
        load[home[g]] += count[g]
    return home[group]


def content(pieces: Iterable[ArrayLike], salt: int = 0) -> NDArray[np.uint64]:
    """Hash each row of blocks of rows to 64 bits; equal rows have equal hashes, `salt` changes them all.

    >>> one, other, same = content([[[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]]).tolist()
    >>> one == same, one == other
    (True, False)
    """
    return np.concatenate([_hash(np.asarray(piece, dtype=np.float32), salt) for piece in pieces])


def _hash(rows: NDArray[np.float32], salt: int) -> NDArray[np.uint64]:
    """Hash rows column by column, by multiplications and shifts (as splitmix64 does).

    Values are rounded to five digits, so that earlier rounding errors do not change the fold of a row.
    """
    total = np.full(len(rows), salt, dtype=np.uint64)
    room = np.empty_like(total)
    for column in rows.T:
        words = np.ascontiguousarray(column + np.float32(0.0)).view(np.uint32).astype(np.uint64)
        words += np.uint64(64)
        words >>= np.uint64(7)
        total ^= words
        total *= np.uint64(0x9E3779B97F4A7C15)
        total ^= np.right_shift(total, np.uint64(29), out=room)
        total *= np.uint64(0xBF58476D1CE4E5B9)
        total ^= np.right_shift(total, np.uint64(32), out=room)
    return total
