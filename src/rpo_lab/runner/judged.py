r"""Training rows weighted by `rpo.quality`; all rows without the features that it flags.

w_i = max(q_i, max_{j ∈ e} q_j / 5), of mean one in every domain e; q is `rpo.quality(…).weight`.
"""

import hashlib
import warnings
from collections import OrderedDict
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rpo._io import AskedTask
from rpo._quality import quality
from rpo._stats.ridge import Array
from rpo.engine import Data
from rpo.exceptions import OneDomainWarning
from rpo_lab.runner.problems import Problem
from rpo_lab.runner.specification import Judged

RATIO = 5.0  # most of what exact weights gain, and a bound on what a rare row in a noisy cell can cost
KEPT = 2_000  # judgements: runs of one table and seed differ in what they make of the same one


class Judgement(NamedTuple):
    """What each row counts, and which features stay."""

    weight: Array
    stays: NDArray[np.bool_]


_kept: "OrderedDict[bytes, Judgement]" = OrderedDict()


def judged(problem: Problem, how: Judged, seed: int) -> Problem:
    """Weight the training rows of a problem by their judgement, and remove the features that were flagged.

    Rows count by "weights", by the same dealt to other cells of their domain ("permuted"), or alike ("uniform").

    What rows weigh already stays a factor, and the judgement does not get to know it.
    """
    train = problem.train
    result = judgement(train)
    domain, cell = train.domain.numpy(), (train.domain * train.n_strata + train.stratum).numpy()
    weight = np.ones(train.n_rows)
    if how != "uniform":
        raw = result.weight if how == "weights" else permuted(result.weight, domain, cell, seed)
        weight = bounded(raw, domain)
    stays = torch.from_numpy(result.stays)

    def without(data: Data) -> Data:
        return data if bool(stays.all()) else replace(data, x=data.tensor * stays.reshape(data.row_shape))

    counted = train.weight * torch.from_numpy(weight).to(train.weight.dtype)
    return Problem(
        without(train.with_weight(counted)),
        without(problem.validation),
        {name: without(data) for name, data in problem.tests.items()},
    )


def judgement(data: Data) -> Judgement:
    """Judge training rows by `rpo.quality`, their strata given."""
    X, y, domain, stratum = (
        np.ascontiguousarray(column.numpy()) for column in (data.tensor.flatten(1), data.y, data.domain, data.stratum)
    )
    key = hashlib.sha256(b"".join(column.tobytes() for column in (X, y, domain, stratum))).digest()
    if key not in _kept:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OneDomainWarning)
            task: AskedTask = "regression" if data.task == "regression" else "classification"
            result = quality(X, y, domains=domain, strata=stratum, task=task, verbose=False)
        flagged = set(result.features.loc[result.features["suspicious"], "column"])
        _kept[key] = Judgement(result.weight, np.array([f"x{j}" not in flagged for j in range(X.shape[1])]))
    _kept.move_to_end(key)
    while len(_kept) > KEPT:
        _kept.popitem(last=False)
    return _kept[key]


def bounded(weight: Array, domain: NDArray[np.int64], ratio: float = RATIO) -> Array:
    r"""Bound the ratio of weights within each domain, and scale them to mean one, so that domains count as before.

    They become max(w_i, max_{j ∈ e} w_j / ratio).

    >>> bounded(np.array([1.0, 0.5, 0.01, 0.3]), np.array([0, 0, 0, 1])).round(2)
    array([1.76, 0.88, 0.35, 1.  ])
    """
    top = np.zeros(domain.max() + 1)
    np.maximum.at(top, domain, weight)
    raised = np.maximum(weight, top[domain] / ratio)
    mean = np.bincount(domain, raised) / np.maximum(np.bincount(domain), 1)
    return np.asarray(raised / mean[domain])


def permuted(weight: Array, domain: NDArray[np.int64], cell: NDArray[np.int64], seed: int) -> Array:
    """Permute the weights of cells within each domain, in an order drawn from the seed.

    >>> permuted(np.array([1.0, 0.2, 0.2, 0.5, 0.3]), np.array([0, 0, 0, 0, 1]), np.array([0, 1, 1, 2, 3]), 0).tolist()
    [0.5, 0.2, 0.2, 1.0, 0.3]
    """
    rng = np.random.default_rng([seed, 3])
    _, first, place = np.unique(cell, return_index=True, return_inverse=True)
    dealt = weight[first]
    for e in np.unique(domain):
        own = np.flatnonzero(domain[first] == e)
        dealt[own] = dealt[rng.permutation(own)]
    return np.asarray(dealt[place])
