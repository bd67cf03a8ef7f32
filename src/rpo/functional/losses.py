"""Losses of single samples, and what the dummy classifier makes of them.

Outputs are always of shape `(n, c)`: one column for regression and for the logit of a binary class.
"""

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional as F

from rpo.exceptions import InputError

Task = Literal["regression", "binary", "multiclass"]


def check_task(task: str) -> Task:
    """Return `task` if it is known; raise an error that lists the tasks otherwise.

    >>> check_task("binary")
    'binary'
    """
    for known in get_args(Task):
        if task == known:
            return known  # type: ignore[no-any-return]
    raise InputError(f"task must be one of {', '.join(get_args(Task))}, got {task!r}")


def sample_loss(output: Tensor, y: Tensor, task: Task) -> Tensor:
    r"""Compute the loss of each row, shape `(n,)`.

    l(f, y): (f − y)², −log sigmoid(±f), or −log softmax(f)_y.

    >>> sample_loss(torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 1.0]), "regression")
    tensor([1., 4.])
    """
    if task == "regression":
        return (output[:, 0] - y).square()
    if task == "binary":
        return F.binary_cross_entropy_with_logits(output[:, 0], y, reduction="none")
    return F.cross_entropy(output, y, reduction="none")


def sample_dummy_gradient(output: Tensor, y: Tensor, task: Task, centre: Tensor | None = None) -> Tensor:
    r"""Compute each row's derivative of the loss with respect to a scale of the output (IRM term of Eq. 1, 4).

    d/dw l(w·f, y) at w = 1, which is f · ∂l/∂f.

    Squared loss 2(f − y)f; logistic (sigmoid(f) − y)f; softmax Σ_c f_c (p_c − y_c). The closed form
    needs no second-order graph. With a `centre` c, `(c,)`, w stretches f about it: d/dw l(c + w·(f − c), y).

    >>> sample_dummy_gradient(torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 1.0]), "regression")
    tensor([ 2., 12.])
    """
    stretched = output if centre is None else output - centre
    if task == "regression":
        return 2 * (output[:, 0] - y) * stretched[:, 0]
    if task == "binary":
        return (output[:, 0].sigmoid() - y) * stretched[:, 0]
    return (stretched * output.softmax(1)).sum(1) - stretched.gather(1, y[:, None])[:, 0]


def probability(output: Tensor, task: Task) -> Tensor:
    r"""Compute class probabilities from logits, shape `(n, classes)`; return regression outputs unchanged.

    >>> probability(torch.tensor([[0.0]]), "binary")
    tensor([[0.5000, 0.5000]])
    """
    if task == "regression":
        return output
    if task == "binary":
        return torch.cat([(-output).sigmoid(), output.sigmoid()], 1)
    return output.softmax(1)


def squared_residual(output: Tensor, y: Tensor, task: Task) -> Tensor:
    r"""Compute the squared residual of each row.

    (y − f)² for regression; ½ Σ_c (1[y = c] − p_c)² for classes, which is (y − p)² for two.

    >>> squared_residual(torch.tensor([[0.0]]), torch.tensor([1.0]), "binary")
    tensor([0.2500])
    """
    if task == "regression":
        return (output[:, 0] - y).square()
    p = probability(output, task)
    truth = F.one_hot(y.long(), p.shape[1]).to(p.dtype)
    return (truth - p).square().sum(1) / 2


def sample_output_gradient(output: Tensor, y: Tensor, task: Task) -> Tensor:
    r"""Compute the gradient of each row's loss with respect to the output, shape `(n, c)`.

    ∂l/∂f: 2(f − y), sigmoid(f) − y, or p_c − 1[y = c].

    >>> sample_output_gradient(torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 1.0]), "regression")
    tensor([[2.],
            [4.]])
    """
    if task == "regression":
        return 2 * (output - y[:, None])
    if task == "binary":
        return output.sigmoid() - y[:, None]
    return output.softmax(1) - F.one_hot(y, output.shape[1]).to(output.dtype)
