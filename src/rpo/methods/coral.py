"""CORAL: match the means and covariances of the features across domains."""

import torch
from torch import Tensor

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_mean, domain_share, domain_sum
from rpo.methods.terms import gap, risk


@method("coral", tasks=BOTH, space={"gamma": log_uniform(1.0, 0.1, 10.0)}, cite="Sun & Saenko 2016")
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
    centred = features - mean[batch.domain]
    share = domain_share(batch.weight, batch.domain, domains)
    if domains <= features.shape[1]:
        member = torch.arange(domains, device=features.device)[:, None] == batch.domain
        covariance = (torch.where(member, share, 0)[:, :, None] * centred).transpose(1, 2) @ centred
    else:  # many domains: a product a row costs less than a pass over all rows for every domain
        outer = (share[:, None] * centred)[:, :, None] * centred[:, None, :]
        covariance = domain_sum(outer, batch.domain, domains)
    rows = domain_sum(batch.weight, batch.domain, domains)
    unbiased = torch.where(rows > 1, rows / (rows - 1).clamp_min(1e-12), 0)
    return mean, unbiased[:, None, None] * covariance
