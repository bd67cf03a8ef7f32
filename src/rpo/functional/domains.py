"""Sums and means over the rows of each domain, without a loop over domains.

With a `group` of `torch.distributed` sums run over the rows of all its processes, and each gets the same result.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def domain_sum(values: Tensor, domain: Tensor, n_domains: int, group: "ProcessGroup | None" = None) -> Tensor:
    r"""Sum values by domain; `values` has shape `(n, ...)`, the result `(n_domains, ...)`.

        Σ_{i ∈ e} v_i for every domain e

    >>> domain_sum(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 1, 1]), 3)
    tensor([1., 6., 0.])
    """
    return sum_over_ranks(values.new_zeros(n_domains, *values.shape[1:]).index_add(0, domain, values), group)


def domain_share(weight: Tensor, domain: Tensor, n_domains: int, group: "ProcessGroup | None" = None) -> Tensor:
    r"""Compute each row's share of the weight of its domain; zero where a domain has no weight.

        w_i / Σ_{j ∈ e(i)} w_j

    A sum over rows of share times value is the sum over domains of the domains' means: one pass, no segments.

    >>> domain_share(torch.tensor([1.0, 1.0, 3.0, 0.0]), torch.tensor([0, 1, 1, 2]), 3)
    tensor([1.0000, 0.2500, 0.7500, 0.0000])
    """
    total = domain_sum(weight, domain, n_domains, group)[domain]
    return weight / torch.where(total == 0, 1, total)


def domain_mean(
    values: Tensor, domain: Tensor, weight: Tensor, n_domains: int, group: "ProcessGroup | None" = None
) -> Tensor:
    r"""Compute weighted means by domain; zero for a domain without weight.

        Σ_{i ∈ e} w_i v_i / Σ_{i ∈ e} w_i

    >>> domain_mean(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 1, 1]), torch.ones(3), 3)
    tensor([1., 3., 0.])
    """
    share = domain_share(weight, domain, n_domains, group)
    return domain_sum(share.reshape(-1, *(1,) * (values.dim() - 1)) * values, domain, n_domains, group)


def place_in_domain(domain: Tensor, weight: Tensor, n_domains: int, group: "ProcessGroup | None" = None) -> Tensor:
    r"""Count the rows of its domain that come before each row; rows without weight get zero.

        #{j < i : e(j) = e(i), w_j > 0}

    >>> place_in_domain(torch.tensor([0, 1, 0, 1, 0]), torch.tensor([1.0, 1.0, 0.0, 1.0, 1.0]), 2)
    tensor([0, 0, 0, 1, 1])
    """
    counts = weight > 0
    order = torch.where(counts, domain, n_domains).argsort(stable=True)
    position = torch.zeros_like(order).scatter(0, order, torch.arange(len(order), device=order.device))
    rows = domain_sum(counts.long(), domain, n_domains)
    first = rows.cumsum(0) - rows - sum_over_earlier_ranks(rows, group)
    return torch.where(counts, position - first[domain], 0)


def mean_over_domains(values: Tensor, size: Tensor) -> Tensor:
    r"""Average values over the domains that have any weight.

    `size` holds Σ_{i ∈ e} w_i, and `values` is zero elsewhere.

    >>> mean_over_domains(torch.tensor([1.0, 3.0, 0.0]), torch.tensor([5.0, 5.0, 0.0]))
    tensor(2.)
    """
    return values.sum() / (size > 0).sum().clamp_min(1)


def sum_over_ranks(values: Tensor, group: "ProcessGroup | None") -> Tensor:
    r"""Sum values over the processes of a group; without a group, return them unchanged.

    The derivative of Σ_r L_r with respect to the v of one process is Σ_r dL_r/d(sum): the same sum, of gradients.

    >>> sum_over_ranks(torch.tensor([1.0, 2.0]), None)
    tensor([1., 2.])
    """
    if group is None:
        return values
    summed: Tensor = _Sum.apply(values, group)  # type: ignore[no-untyped-call]
    return summed


def largest_over_ranks(value: Tensor, group: "ProcessGroup | None") -> Tensor:
    r"""Return the maximum over the processes of a group, without derivative; without a group, the value.

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
    r"""Sum values over the earlier processes of a group, without derivative; without a group, zero.

        Σ_{s < r} v_s on process r

    >>> sum_over_earlier_ranks(torch.tensor([3, 4]), None)
    tensor([0, 0])
    """
    if group is None:
        return torch.zeros_like(values)
    from torch import distributed

    values_by_rank = [torch.empty_like(values) for _ in range(distributed.get_world_size(group))]
    distributed.all_gather(values_by_rank, values.detach().contiguous(), group=group)
    return torch.stack([torch.zeros_like(values), *values_by_rank[: distributed.get_rank(group)]]).sum(0)


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
