"""Terms that several methods share."""

import torch
from torch import Tensor
from torch.nn import functional as F

from rpo.engine.data import Batch
from rpo.engine.method import Terms, Values, log_uniform, uniform
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_mean, domain_share, mean_over_domains
from rpo.functional.lipirm import lipirm_terms, squared_mean
from rpo.functional.losses import Task, sample_loss

# The strength of the IRM penalty, and the share of the training after which it is in force.
ETA = log_uniform(100.0, 0.1, 1e5)
ANNEAL = uniform(0.25, 0.0, 0.9)
L2 = log_uniform(1e-3, 1e-5, 1e-2)
LAM = log_uniform(0.1, 1e-4, 1.0)

# What keeps Adam in step when the penalty jumps: the loss divided by η, or moments that start anew.
RESCALE = ("divide", "reset", "none")
ESTIMATOR = ("square", "split")
REDUCTION = ("mean", "sum")
LIPIRM_OPTIONS = {"reduction": REDUCTION, "estimator": ESTIMATOR, "rescale": RESCALE}

IRM_SPACE = {"eta": ETA, "anneal": ANNEAL}
IRM_OPTIONS = {"estimator": ESTIMATOR, "rescale": RESCALE}


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


def annealed(eta: Tensor, batch: Batch, hp: Values) -> tuple[Tensor, Tensor]:
    r"""η_t = min(η, 1) in the first part of the training, then η; and the divisor of the whole loss, max(mean η_t, 1).

    The divisor is one unless `rescale="divide"`; with `"reset"` the engine starts Adam's moments anew instead.
    """
    eta_now = torch.where(batch.step < hp.anneal * batch.steps, eta.clamp_max(1.0), eta)
    divisor = eta_now.mean().clamp_min(1.0) if hp.rescale == "divide" else torch.ones_like(eta_now.mean())
    return eta_now, divisor


def irm(dummy: Tensor, batch: Batch, hp: Values) -> tuple[Tensor, Tensor]:
    r"""η_t mean_e (d/dw R_e(w f))² from each row's share d/dw l(w f), and the divisor of the whole loss."""
    eta, divisor = annealed(hp.eta, batch, hp)
    square = squared_mean(dummy, batch.domain, batch.weight, len(batch.size), hp.estimator)
    return eta * mean_over_domains(square, batch.size), divisor


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
        estimator=hp.estimator,
        size=batch.size,
        centre=centre,
    )
    if hp.reduction == "mean":
        divisor = divisor * present(batch)
    return {name: term / divisor for name, term in terms.items()}
