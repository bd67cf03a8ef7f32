"""Folds of tensors by content."""

import torch
from torch import Tensor

from rpo.grouping.folds import folds_by_content
from rpo.mapped import blocks


def fold_of_rows(x: Tensor, weight: Tensor, folds: int) -> Tensor:
    """The fold of each row, `(n,)`, as `folds_by_content` deals them out.

    >>> fold_of_rows(torch.tensor([[1.0], [2.0], [1.0]]), torch.ones(3), 2).tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    pieces = (x[some].detach().cpu().float().flatten(1).numpy() for some in blocks(len(x)))
    return torch.from_numpy(folds_by_content(pieces, weight.cpu().numpy(), folds)).to(x.device)
