"""Terms that several methods share."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from rpo.engine.data import Batch, Data
from rpo.engine.method import Choice, Terms, Values, log_uniform, uniform
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_mean, domain_share, domain_sum, mean_over_domains
from rpo.functional.lipirm import lipirm_terms, squared_mean
from rpo.functional.losses import Task, sample_loss
from rpo.functional.statistics import Array

ETA = log_uniform(100.0, 0.1, 1e5, "Strength η of the IRM penalty after annealing.")
ANNEAL = uniform(0.25, 0.0, 0.9, "Share of the training before the penalty has its full strength.")
L2 = log_uniform(1e-3, 1e-5, 1e-2, "Strength of the penalty on the squared weights.")
LAM = log_uniform(0.1, 1e-4, 1.0, "Strength λ of the penalty on the squared input gradient: larger is smoother.")
BOTTLENECK = log_uniform(1.0, 0.1, 1e5, "Strength of the penalty on the variance of the features within a domain.")

RESCALE = Choice(
    "divide",
    "reset",
    "none",
    words="How Adam adapts when the penalty jumps: the loss is divided by it, or the moments are reset.",
)
IRM_ESTIMATOR = Choice(
    "square",
    "split",
    words="How a squared mean is estimated: the square of the mean, or the product of two half-batch means (unbiased).",
)
REDUCTION = Choice("mean", "sum", words="Whether a domain's loss is the mean over its rows (Eq. 1) or the sum (Eq. 4).")
LIPIRM_OPTIONS = {"reduction": REDUCTION, "irm_estimator": IRM_ESTIMATOR, "rescale": RESCALE}

IRM_SPACE = {"eta": ETA, "anneal": ANNEAL}
IRM_OPTIONS = {"irm_estimator": IRM_ESTIMATOR, "rescale": RESCALE}


def risks(output: Tensor, batch: Batch, task: Task) -> Tensor:
    r"""R_e: the mean loss of each domain, `(E,)`."""
    return domain_mean(sample_loss(output, batch.y, task), batch.domain, batch.weight, len(batch.size))


def risk(output: Tensor, batch: Batch, task: Task) -> Tensor:
    r"""mean_e R_e, over the domains that are there."""
    return mean_by_domain(sample_loss(output, batch.y, task), batch)


def present(batch: Batch) -> Tensor:
    """How many domains have any row."""
    return (batch.size > 0).sum().clamp_min(1)


def shares(batch: Batch) -> Tensor:
    """What each row counts in the mean of its domain: to be found once where several means are taken."""
    return domain_share(batch.weight, batch.domain, len(batch.size))


def mean_by_domain(values: Tensor, batch: Batch, share: Tensor | None = None) -> Tensor:
    r"""mean_e mean_{i ∈ e} v_i: every domain counts the same, whatever its size."""
    return ((shares(batch) if share is None else share) * values).sum() / present(batch)


def mean_over_present(values: Tensor, batch: Batch) -> Tensor:
    r"""mean_e v_e over the domains that are there; `values` is `(E,)`, zero for the others."""
    return mean_over_domains(values, batch.size)


def spread(values: Tensor, batch: Batch) -> Tensor:
    r"""mean_e mean (v_e − v̄)²; `values` is `(E, ...)`, zero for domains that are not there."""
    here = present(batch)
    return gap(values, batch) * (here - 1) / (2 * here)


def bottleneck(features: Tensor, batch: Batch) -> Tensor:
    r"""mean_e mean_j Σ_{i ∈ e} (φ_ij − φ̄_ej)²/(n_e − 1); a domain of one row has no variance and counts zero."""
    domains = len(batch.size)
    mean = domain_mean(features, batch.domain, batch.weight, domains)
    rows = domain_sum(batch.weight, batch.domain, domains)
    share = torch.where(rows > 1, 1 / (rows - 1).clamp_min(1e-12), 0)[batch.domain] * batch.weight
    return (share * (features - mean[batch.domain]).square().mean(1)).sum() / present(batch)


def squared_norm(params: Params) -> Tensor:
    r"""‖θ‖² over all weights and biases."""
    return torch.stack([p.square().sum() for p in params.values()]).sum()


def gap(values: Tensor, batch: Batch) -> Tensor:
    r"""mean over pairs of domains of mean (v_i − v_j)² = 2/(E − 1) Σ_e mean (v_e − v̄)².

    `values` is `(E, ...)`, zero for domains that are not there.
    """
    here = present(batch)
    # Σ_e (v_e − v̄) is zero, so that no gradient flows through the centre.
    centre = values.detach().sum(0) / here
    # A domain that is not there adds v̄², which is cheaper to take away than to mask: values may be matrices.
    spread = F.mse_loss(values, centre.expand_as(values), reduction="sum")
    spread = spread - (len(values) - here) * centre.square().sum()
    return 2 * spread / (centre.numel() * (here - 1).clamp_min(1))


def shuffled(uniform: Tensor, weight: Tensor) -> Tensor:
    """A partner for each row: rows that count are shuffled among themselves, in the order of their random numbers."""
    counts = weight > 0
    order = (uniform + torch.where(counts, 0, 2)).argsort(stable=True)
    return order[(counts.long().cumsum(0) - 1).clamp_min(0)]


def annealed(eta: Tensor, batch: Batch, hp: Values, before: float = 1.0) -> tuple[Tensor, Tensor]:
    r"""η_t = min(η, 1) in the first part of the training, then η; and the divisor of the whole loss, max(mean η_t, 1).

    `before` is the most that η is in the first part.

    The divisor is one unless `rescale="divide"`; with `"reset"` the engine starts Adam's moments anew instead.
    """
    eta_now = torch.where(batch.step < hp.anneal * batch.steps, eta.clamp_max(before), eta)
    divisor = eta_now.mean().clamp_min(1.0) if hp.rescale == "divide" else torch.ones_like(eta_now.mean())
    return eta_now, divisor


def irm(dummy: Tensor, batch: Batch, hp: Values) -> tuple[Tensor, Tensor]:
    r"""η_t mean_e (d/dw R_e(w f))² from each row's share d/dw l(w f), and the divisor of the whole loss."""
    eta, divisor = annealed(hp.eta, batch, hp)
    square = squared_mean(dummy, batch.domain, batch.weight, len(batch.size), hp.irm_estimator)
    return eta * mean_over_domains(square, batch.size), divisor


def collapse_strength(data: Data, eta: Array, reduction: str, model: int = 0) -> float:
    r"""Σ_e η_e m_e² / Σ_e m_e, m_e = E_e[y²]: above 2 the loss has a second minimum near zero.

    Along f = t·y the loss is (1 − t)² (Σ_e m_e + 4t² Σ_e η_e m_e²). In the sum form m_e is Σ_i y_i².
    """
    domain, y = (value[model] if data.stacked else value for value in (data.domain, data.y))
    weight = data.weight[model] if data.weight.dim() == 2 else data.weight
    size, square = (
        np.bincount(domain.cpu().numpy(), value.cpu().numpy(), minlength=data.n_domains)
        for value in (weight, weight * y.square())
    )
    power = square if reduction == "sum" else square / np.maximum(size, 1e-300)
    return float((eta * power**2).sum() / max(float(power.sum()), 1e-300))


def lipirm(
    net: Net,
    params: Params,
    batch: Batch,
    hp: Values,
    *,
    eta: Tensor,
    rho: Tensor | float,
    lam: Tensor,
    centre: Tensor | None = None,
) -> Terms:
    r"""The LipIRM loss with given penalties; `reduction="mean"` is Eq. 1 over the number of domains, `"sum"` Eq. 4.

    Every method of the LipIRM family is this with its own η, ρ and λ.
    """
    eta_now, divisor = annealed(eta, batch, hp)
    output, slope = net.slope(params, batch.x)
    terms = lipirm_terms(
        output,
        slope,
        batch.y,
        batch.domain,
        batch.weight,
        eta=eta_now,
        rho=rho,
        lam=lam,
        n_domains=len(batch.size),
        task=hp.task,
        reduction=hp.reduction,
        estimator=hp.irm_estimator,
        size=batch.size,
        centre=centre,
    )
    if hp.reduction == "mean":
        divisor = divisor * present(batch)
    return {name: term / divisor for name, term in terms.items()}
