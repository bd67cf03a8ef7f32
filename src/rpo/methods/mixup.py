"""Mixup: rows of one domain mixed with rows of another."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_sum
from rpo.functional.losses import sample_loss
from rpo.methods.terms import mean_by_domain


def draw(rng: np.random.Generator, rows: int, n_domains: int, numbers: Mapping[str, float]) -> dict[str, NDArray[Any]]:
    """A ring over the domains, a share for each, and a number by which each row finds its partner."""
    ring = rng.permutation(n_domains)
    follower = np.empty(n_domains, dtype=np.int64)
    follower[ring] = np.roll(ring, -1)
    alpha = numbers["alpha"]
    share = rng.beta(alpha, alpha, n_domains) if alpha > 0 else np.ones(n_domains)
    return {"follower": follower, "share": share, "place": rng.random(rows)}


@method(
    "mixup",
    tasks=BOTH,
    space={
        "alpha": log_uniform(
            0.2, 0.1, 10.0, "Shape α of Beta(α, α), from which shares are drawn: larger blends more evenly."
        )
    },
    draw=draw,
    cite="Yan et al. 2020",
    reference="Yan, Song, Li, Zou & Ren. Improve Unsupervised Domain Adaptation with Mixup Training. "
    "arXiv:2001.00677, 2020.",
)
def mixup(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e mean_i [s l(f(x̃), y_i) + (1 − s) l(f(x̃), y_j)],  x̃ = s x_i + (1 − s) x_j,  s ~ Beta(α, α)"""
    other, there = partner(batch)
    share = torch.where(there, batch.draw["share"][batch.domain], 1)
    wide = share.reshape(-1, *(1,) * (batch.x.dim() - 1))
    output = net(params, wide * batch.x + (1 - wide) * batch.x[other])
    if hp.task == "regression":
        loss = sample_loss(output, share * batch.y + (1 - share) * batch.y[other], hp.task)
    else:
        loss = share * sample_loss(output, batch.y, hp.task)
        loss = loss + (1 - share) * sample_loss(output, batch.y[other], hp.task)
    return {"risk": mean_by_domain(loss, batch)}


def partner(batch: Batch) -> tuple[Tensor, Tensor]:
    """For each row a random row of the domain that follows its own in the ring, and whether that domain has any."""
    counts = batch.weight > 0
    order = torch.where(counts, batch.domain, len(batch.size)).argsort(stable=True)
    rows = domain_sum(counts.long(), batch.domain, len(batch.size))
    follower = batch.draw["follower"][batch.domain]
    place = (rows.cumsum(0) - rows)[follower] + (batch.draw["place"] * rows[follower]).long()
    return order[place.clamp_max(len(order) - 1)], rows[follower] > 0
