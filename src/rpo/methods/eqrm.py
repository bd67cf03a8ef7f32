"""EQRM: a quantile of the domains' risks instead of their mean."""

import math

import torch
from torch import Tensor
from torch.special import ndtr, ndtri

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, Choice, State, Terms, Values, method, uniform
from rpo.engine.nets import Net, Params
from rpo.methods.terms import ANNEAL, mean_over_present, present, risks

HALVINGS = 60  # of an interval some bandwidths wide: to the last bit
SMALL = 1e-12  # keeps the bandwidth of equal risks above zero


@method(
    "eqrm",
    tasks=BOTH,
    space={
        "alpha": uniform(0.75, 0.5, 0.99, "The quantile of the domains' risks that is minimised."),
        "anneal": ANNEAL,
    },
    options={"rescale": Choice("reset", "none", words="Whether Adam is reset when the quantile replaces the mean.")},
    cite="Eastwood et al. 2022",
    reference="Eastwood, Robey, Singh, von Kügelgen, Hassani, Pappas & Schölkopf. Probable Domain Generalization via "
    "Quantile Risk Minimization. NeurIPS 2022.",
)
def eqrm(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""F⁻¹(α), F a kernel estimate of the distribution of the R_e; mean_e R_e in the first part of the training"""
    value = risks(net(params, batch.x), batch, hp.task)
    early = batch.step < hp.anneal * batch.steps
    return {"risk": torch.where(early, mean_over_present(value, batch), quantile(value, hp.alpha, batch))}


def quantile(value: Tensor, alpha: Tensor, batch: Batch) -> Tensor:
    r"""q with mean_e Φ((q − R_e)/h) = α, h = 1.06 s E^(−1/5); of two domains the Gaussian's, mean R + s Φ⁻¹(α)."""
    here, domains = batch.size > 0, present(batch).to(value.dtype)
    mean = mean_over_present(value, batch)
    deviation = torch.where(here, value - mean, 0)
    # Over E − 1; one domain has no deviation.
    s = (deviation.square().sum() / (domains - 1).clamp_min(1)).clamp_min(SMALL).sqrt()
    width = 1.06 * s * domains ** (-1 / 5)

    def exceeded(q: Tensor, value: Tensor, width: Tensor) -> Tensor:
        return torch.where(here, ndtr((q - value) / width), 0).sum() / domains - alpha

    # Solved by halving, without a gradient; one step of Newton's then has the gradient of the solution itself.
    fixed, h = value.detach(), width.detach()
    low = torch.where(here, fixed, torch.inf).min() + h * ndtri(alpha)
    high = torch.where(here, fixed, -torch.inf).max() + h * ndtri(alpha)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = exceeded(middle, fixed, h) > 0
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    q = (low + high) / 2
    bell = torch.exp(-((q - fixed) / h).square() / 2) / (h * math.sqrt(2 * math.pi))
    density = torch.where(here, bell, 0).sum() / domains
    kernel = q - exceeded(q, value, width) / density
    return torch.where(domains > 2, kernel, mean + s * ndtri(alpha))
