"""MMD: features whose whole distribution is the same in every domain."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_share, domain_sum, place_in_domain
from rpo.methods.terms import risk

SCALES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
# The kernel matrix of a step has at most as many rows: its cost grows with their square. Batches of the field have 32
# rows of each domain.
ROWS = 256


def draw(rng: np.random.Generator, rows: int, n_domains: int, numbers: Mapping[str, float]) -> dict[str, NDArray[Any]]:
    """The order in which rows are taken where there are too many."""
    return {"order": rng.random(rows)}


@method(
    "mmd",
    tasks=BOTH,
    space={"gamma": log_uniform(1.0, 0.1, 10.0, "Strength of the penalty on the distance between domains.")},
    draw=draw,
    version=2,
    cite="Li et al. 2018",
    reference="Li, Pan, Wang & Kot. Domain Generalization with Adversarial Feature Learning. CVPR 2018.",
)
def mmd(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + γ mean over pairs [K̄_ii + K̄_jj − 2 K̄_ij],  K̄ means of Σ_s exp(−s ‖φ − φ'‖²), s = 10⁻³ … 10³"""
    features = net.features(params, batch.x)
    rows = some_rows(batch)
    return {
        "risk": risk(net.head(params, features), batch, hp.task),
        "mmd": hp.gamma * distance(features[rows], batch.domain[rows], batch.weight[rows], len(batch.size)),
    }


def some_rows(batch: Batch) -> Tensor:
    """At most `ROWS` rows, in random order: one of every domain, then a second of every domain, and so on."""
    order = batch.draw["order"].argsort()
    domain, weight = batch.domain[order], batch.weight[order]
    place = place_in_domain(domain, weight, len(batch.size))
    last = torch.where(weight > 0, place, len(place))
    return order[last.argsort(stable=True)[:ROWS]]


def distance(features: Tensor, domain: Tensor, weight: Tensor, n_domains: int) -> Tensor:
    r"""mean over pairs of domains of MMD² = 2/(E − 1) Σ_ab s_a s_b k_ab (1[same domain] − 1/E), s a row's share.

    As for any mean over pairs of squared distances, here between the domains' means in the kernel's space: one kernel
    matrix of all rows, whatever the number of domains.
    """
    share = domain_share(weight, domain, n_domains)
    here = (domain_sum(weight, domain, n_domains) > 0).sum().clamp_min(1)
    centred = features - features.mean(0)  # distances stay, digits are gained
    square = centred.square().sum(1)
    apart = (square[:, None] + square - 2 * centred @ centred.T).clamp_min(0)
    kernel = torch.stack([torch.exp(-scale * apart) for scale in SCALES]).sum(0)
    same = (domain[:, None] == domain).to(kernel.dtype)
    return 2 * (share @ (kernel * (same - 1 / here)) @ share) / (here - 1).clamp_min(1)
