"""Folds for cross-fitting that depend on what a row says, not on where it stands."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rpo.engine.mapped import blocks


def fold_of_rows(x: Tensor, weight: Tensor, folds: int) -> Tensor:
    """The fold of each row, `(n,)`: rows in the order of a hash of their content, dealt out in turn.

    Equal rows share a fold, so a duplicate never betrays its twin, and a row of weight two is the same as two
    rows; shuffling the rows changes nothing. Rows of weight zero are in fold zero and count for nothing.

    >>> fold_of_rows(torch.tensor([[1.0], [2.0], [1.0], [3.0]]), torch.ones(4), 2).tolist() in (
    ...     [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 0])
    True
    """
    pieces = (x[some].detach().cpu().float().flatten(1).numpy() for some in blocks(len(x)))
    hashed = np.concatenate([_hash(piece) for piece in pieces])
    kept = weight.cpu().numpy() > 0
    _, rank = np.unique(hashed[kept], return_inverse=True)
    fold = np.zeros(len(hashed), dtype=np.int64)
    fold[kept] = rank % folds
    return torch.from_numpy(fold).to(x.device)


def _hash(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """A 64-bit number a row: each column mixed in by a multiply and a shift (as splitmix64 does).

    Columns count to five digits, so that rounding in what went before does not send a row elsewhere.
    """
    words = (np.ascontiguousarray(rows + 0.0).view(np.uint32).astype(np.uint64) + np.uint64(64)) >> np.uint64(7)
    total = np.zeros(len(rows), dtype=np.uint64)
    for column in words.T:
        total = (total ^ column) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
        total *= np.uint64(0xBF58476D1CE4E5B9)
        total ^= total >> np.uint64(32)
    return total
