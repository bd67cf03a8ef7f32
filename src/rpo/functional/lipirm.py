"""The LipIRM loss: risks, IRM penalty by domain, Lipschitz penalty by sample (Eq. 1 and Eq. 4)."""

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from rpo.exceptions import InputError
from rpo.functional.domains import (
    domain_mean,
    domain_share,
    domain_sum,
    largest_over_ranks,
    place_in_domain,
    sum_over_ranks,
)
from rpo.functional.losses import Task, check_task, sample_dummy_gradient, sample_loss
from rpo.functional.rows import check_module
from rpo.functional.slope import output_and_slope

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

Reduction = Literal["mean", "sum"]
Estimator = Literal["square", "split"]


def dummy_gradient(output: Tensor, y: Tensor, domain: Tensor, weight: Tensor, n_domains: int, task: Task) -> Tensor:
    r"""Compute the gradient of each domain's risk with respect to a dummy classifier (IRM term of Eq. 1).

    G_e = d/dw R_e(w·f) at w = 1, in closed form.

    Parameters
    ----------
    output : Tensor
        f(x), `(n, 1)` or `(n, classes)`.
    y, domain, weight : Tensor
        Target, domain index and weight of every row.
    n_domains : int
        The number of domains.
    task : "regression", "binary" or "multiclass"
        The task.

    Returns
    -------
    Tensor
        One value per domain.

    Examples
    --------
    >>> import torch
    >>> from rpo.functional import dummy_gradient
    >>> output, y = torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 1.0])
    >>> dummy_gradient(output, y, torch.tensor([0, 0]), torch.ones(2), 1, "regression")
    tensor([7.])
    """
    return domain_mean(sample_dummy_gradient(output, y, task), domain, weight, n_domains)


def squared_mean(
    values: Tensor,
    domain: Tensor,
    weight: Tensor,
    n_domains: int,
    estimator: Estimator = "square",
    group: "ProcessGroup | None" = None,
) -> Tensor:
    r"""Estimate the squared mean of each domain, (E_e v)².

    `"square"` squares the mean, which on a mini-batch is biased upwards: E[v̄²] = (E v)² + Var(v̄). `"split"` multiplies
    the means of two disjoint halves (every other row): unbiased, possibly negative, and zero for a single row.

    >>> squared_mean(torch.tensor([2.0, 12.0]), torch.tensor([0, 0]), torch.ones(2), 1, "split")
    tensor([24.])
    """
    if estimator == "square":
        return domain_mean(values, domain, weight, n_domains, group).square()
    if estimator != "split":
        raise InputError(f"estimator of the IRM penalty must be 'square' or 'split', got {estimator!r}")
    odd = (place_in_domain(domain, weight, n_domains, group) % 2).to(weight.dtype)
    first = domain_mean(values, domain, weight * (1 - odd), n_domains, group)
    return first * domain_mean(values, domain, weight * odd, n_domains, group)


def squared_dummy_gradient(
    output: Tensor,
    y: Tensor,
    domain: Tensor,
    weight: Tensor,
    n_domains: int,
    task: Task,
    estimator: Estimator = "square",
    group: "ProcessGroup | None" = None,
    centre: Tensor | None = None,
) -> Tensor:
    r"""Estimate the squared dummy gradient G_e² of every domain, as `squared_mean` does.

    >>> output, y = torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 1.0])
    >>> squared_dummy_gradient(output, y, torch.tensor([0, 0]), torch.ones(2), 1, "regression")
    tensor([49.])
    """
    return squared_mean(sample_dummy_gradient(output, y, task, centre), domain, weight, n_domains, estimator, group)


def lipirm_terms(
    output: Tensor,
    slope: Tensor | None,
    y: Tensor,
    domain: Tensor,
    weight: Tensor,
    *,
    eta: Tensor | float,
    rho: Tensor | float,
    lam: Tensor | float,
    n_domains: int,
    task: Task,
    reduction: Reduction = "mean",
    estimator: Estimator = "square",
    size: Tensor | None = None,
    group: "ProcessGroup | None" = None,
    centre: Tensor | None = None,
) -> dict[str, Tensor]:
    r"""Compute the three terms of the loss by name, from outputs and squared input gradients.

        mean: Σ_e R_e,  Σ_e η_e G_e²,  λ Σ_e mean_{i ∈ e} ρ_i ‖∇f(x_i)‖²                       (Eq. 1)
        sum:  Σ_e Σ_i l_i,  Σ_e η_e (d/dw Σ_i l_i)²,  λ Σ_e Σ_i ρ_i ‖∇f(x_i)‖²                 (Eq. 4)

    Parameters
    ----------
    output : Tensor
        f(x), `(n, 1)` or `(n, classes)`.
    slope : Tensor or None
        ‖∇f(x_i)‖² of every row; None omits the Lipschitz term.
    y, domain, weight : Tensor
        Target, domain index and weight of every row.
    eta, rho, lam : Tensor or float
        The penalties, as in `lipirm_loss`.
    n_domains : int
        The number of domains; some may have no rows here.
    task, reduction, estimator, group
        As in `lipirm_loss`.
    size : Tensor, optional
        The weight of each domain in the whole data set: sums are means times it, so that a mini-batch estimates the
        same loss.
    centre : Tensor, optional
        The point about which the dummy classifier scales the output; zero by default.

    Returns
    -------
    dict of Tensor
        "risk", "irm" and "lipschitz".

    Examples
    --------
    >>> import torch
    >>> from rpo.functional import lipirm_terms
    >>> terms = lipirm_terms(torch.tensor([[1.0], [3.0]]), torch.ones(2), torch.tensor([0.0, 1.0]),
    ...     torch.tensor([0, 0]), torch.ones(2), eta=1.0, rho=1.0, lam=0.5, n_domains=1, task="regression",
    ...     reduction="sum")
    >>> {name: float(value) for name, value in terms.items()}
    {'risk': 5.0, 'irm': 196.0, 'lipschitz': 1.0}
    """
    if reduction not in ("mean", "sum"):
        raise InputError(f"reduction must be 'mean' (Eq. 1) or 'sum' (Eq. 4), got {reduction!r}")
    row = domain_share(weight, domain, n_domains, group)
    square = squared_dummy_gradient(output, y, domain, weight, n_domains, task, estimator, group, centre)
    if reduction == "sum":
        size = domain_sum(weight, domain, n_domains, group) if size is None else size
        row = row * size[domain]
        square = square * size.square()
    risk = sum_over_ranks((row * sample_loss(output, y, task)).sum(), group)
    terms = {"risk": risk, "irm": (eta * square).sum()}
    if slope is not None:
        terms["lipschitz"] = lam * sum_over_ranks((row * rho * slope).sum(), group)
    return terms


def lipirm_loss(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    domain: Tensor,
    *,
    eta: Tensor | float,
    rho: Tensor | float,
    lam: Tensor | float,
    task: Task,
    reduction: Reduction = "mean",
    estimator: Estimator = "square",
    weight: Tensor | None = None,
    group: "ProcessGroup | None" = None,
) -> Tensor:
    r"""Compute the LipIRM loss of a model: risk, IRM penalty and Lipschitz penalty.

        L(f) = Σ_e R_e(f) + Σ_e η_e (d/dw R_e(w f))² + λ Σ_e mean_{i ∈ e} ρ_i ‖∇f(x_i)‖²  (Eq. 1; Eq. 4 with `"sum"`)

    For your own `nn.Module` and your own training loop.

    Parameters
    ----------
    model : nn.Module
        The model; its output has shape `(n, 1)`, `(n,)` or `(n, classes)`.
    x : Tensor
        The inputs.
    y : Tensor
        Floats for `"regression"`, 0 and 1 for `"binary"`, class indices for `"multiclass"`.
    domain : Tensor
        The index of each row's domain, from zero.
    eta : Tensor or float
        The invariance penalty: one number, or one for each domain.
    rho : Tensor or float
        The smoothness penalty: one number, or one for each *row*.
    lam : Tensor or float
        λ.
    task : "regression", "binary" or "multiclass"
        The task.
    reduction : "mean" or "sum"
        Whether a domain's loss is the mean over its rows (Eq. 1) or the sum (Eq. 4).
    estimator : "square" or "split"
        How the squared mean is estimated: the square, or the product of two half-batch means, which has no bias.
    weight : Tensor, optional
        The weight of each row.
    group : ProcessGroup, optional
        Each process passes its own rows (any number; a domain may be absent) and gets the loss of all rows. The mean of
        the gradients over processes, as computed by `DistributedDataParallel`, is then the gradient for all rows; use
        `DDP(Sloped(model))`.

    Returns
    -------
    Tensor
        The loss; call `backward()` on it.

    Examples
    --------
    >>> import torch
    >>> from rpo.functional import lipirm_loss
    >>> model = torch.nn.Linear(2, 1)
    >>> x, domain = torch.arange(12.0).reshape(6, 2), torch.tensor([0, 0, 0, 1, 1, 1])
    >>> loss = lipirm_loss(model, x, x[:, 0], domain, eta=torch.tensor([1.0, 2.0]), rho=1.0, lam=0.1, task="regression")
    >>> loss.backward()
    """
    check_task(task)
    check_module(model)
    if y.dim() != 1:
        raise InputError(f"y must have one target per row, got shape {tuple(y.shape)}: use y.squeeze(1)")
    if domain.dim() != 1 or domain.is_floating_point() or domain.dtype == torch.bool:
        raise InputError(f"domain must have one integer per row, got {domain.dtype} of shape {tuple(domain.shape)}")
    if not len(x) == len(y) == len(domain):
        raise InputError(f"x, y and domain must have the same length, got {len(x)}, {len(y)} and {len(domain)}")
    if isinstance(eta, Tensor) and eta.dim() == 1:
        n_domains = len(eta)
    else:
        last = domain.max() if len(domain) else domain.new_tensor(-1)  # a process may have no rows at all
        n_domains = int(largest_over_ranks(last, group)) + 1
    if len(domain) and not 0 <= int(domain.min()) <= int(domain.max()) < n_domains:
        raise InputError(
            f"domain has numbers from {int(domain.min())} to {int(domain.max())}, and there are {n_domains} domains: "
            "number them from zero, torch.unique(domain, return_inverse=True)[1]"
        )
    output, slope = output_and_slope(model, x)
    weight = torch.ones_like(output[:, 0]) if weight is None else weight
    terms = lipirm_terms(
        output,
        slope,
        y,
        domain,
        weight,
        eta=eta,
        rho=rho,
        lam=lam,
        n_domains=n_domains,
        task=task,
        reduction=reduction,
        estimator=estimator,
        group=group,
    )
    return torch.stack(list(terms.values())).sum()
