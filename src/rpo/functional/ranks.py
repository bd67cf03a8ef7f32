"""Sums over the processes of `torch.distributed`, differentiable: what one model on many processes needs."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def sum_over_ranks(values: Tensor, group: "ProcessGroup | None") -> Tensor:
    r"""Σ_r v_r over the processes of a group, the same on each; without a group, v itself.

    The derivative of Σ_r L_r with respect to one process's v is Σ_r dL_r/d(sum): the same sum, of the gradients.

    >>> sum_over_ranks(torch.tensor([1.0, 2.0]), None)
    tensor([1., 2.])
    """
    if group is None:
        return values
    summed: Tensor = _Sum.apply(values, group)  # type: ignore[no-untyped-call]
    return summed


def largest_over_ranks(value: Tensor, group: "ProcessGroup | None") -> Tensor:
    r"""max_r v_r over the processes of a group; without a group, v itself. It has no derivative.

    >>> largest_over_ranks(torch.tensor(3), None)
    tensor(3)
    """
    if group is None:
        return value
    from torch import distributed

    largest = value.detach().clone()
    distributed.all_reduce(largest, distributed.ReduceOp.MAX, group=group)
    return largest


def sum_over_earlier_ranks(values: Tensor, group: "ProcessGroup | None") -> Tensor:
    r"""Σ_{s < r} v_s on process r, zero on the first; without a group, zero. It has no derivative.

    >>> sum_over_earlier_ranks(torch.tensor([3, 4]), None)
    tensor([0, 0])
    """
    if group is None:
        return torch.zeros_like(values)
    from torch import distributed

    every = [torch.empty_like(values) for _ in range(distributed.get_world_size(group))]
    distributed.all_gather(every, values.detach().contiguous(), group=group)
    return torch.stack([torch.zeros_like(values), *every[: distributed.get_rank(group)]]).sum(0)


class _Sum(torch.autograd.Function):
    """An all-reduce whose derivative is an all-reduce, to any order."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, group: "ProcessGroup") -> Tensor:
        from torch import distributed

        ctx.group = group
        summed = values.detach().clone(memory_format=torch.contiguous_format)
        distributed.all_reduce(summed, group=group)
        return summed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return sum_over_ranks(gradients[0], ctx.group), None
