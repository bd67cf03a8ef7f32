"""CORAL: the same means and covariances of the features in all domains."""

import torch
from torch import Tensor

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_mean, domain_sum, place_in_domain
from rpo.methods.terms import gap, risk


@method(
    "coral",
    tasks=BOTH,
    space={"gamma": log_uniform(1.0, 0.1, 10.0, "Strength of the penalty on differences in means and covariances.")},
    cite="Sun & Saenko 2016",
    reference="Sun & Saenko. Deep CORAL: Correlation Alignment for Deep Domain Adaptation. ECCV Workshops 2016.",
)
def coral(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + γ mean over pairs [mean (μ_i − μ_j)² + mean (C_i − C_j)²]"""
    features = net.features(params, batch.x)
    mean, covariance = moments(features, batch)
    return {
        "risk": risk(net.head(params, features), batch, hp.task),
        "coral": hp.gamma * (gap(mean, batch) + gap(covariance, batch)),
    }


def moments(features: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    r"""μ_e `(E, F)` and C_e = Σ_i (φ_i − μ_e)(φ_i − μ_e)ᵀ/(n_e − 1), `(E, F, F)`; zero for a domain of one row."""
    domains = len(batch.size)
    mean = domain_mean(features, batch.domain, batch.weight, domains)
    rows = domain_sum(batch.weight, batch.domain, domains)
    share = torch.where(rows > 1, 1 / (rows - 1).clamp_min(1e-12), 0)[batch.domain] * batch.weight
    return mean, second_moments(share.sqrt()[:, None] * (features - mean[batch.domain]), batch)


def second_moments(rows: Tensor, batch: Batch) -> Tensor:
    r"""Σ_{i ∈ e} x_i x_iᵀ for every domain, `(E, F, F)`, at the cost of one pass over the rows, whatever E.

    The rows are put into blocks of one size, none with rows of two domains. A domain fills all its blocks but the
    last, so n rows in blocks of b need at most n/b + E of them: a number that does not depend on how the rows are
    spread, as shapes must not.
    """
    (n, width), domains = rows.shape, len(batch.size)
    length = -(-n // domains)
    blocks = n // length + domains
    place = place_in_domain(batch.domain, batch.weight, domains)
    taken = -(-domain_sum((batch.weight > 0).long(), batch.domain, domains) // length)
    end = taken.cumsum(0)
    slot = (end - taken)[batch.domain] * length + place
    filled = rows.new_zeros(blocks * length, width).index_add(0, slot, rows).reshape(blocks, length, width)
    # A block belongs to the domain before which as many others have ended; blocks left over are empty.
    owner = domain_sum(torch.ones_like(end), end, blocks + 1).cumsum(0)[:blocks].clamp_max(domains - 1)
    return domain_sum(filled.transpose(1, 2) @ filled, owner, domains)
