"""A fold of a real table as a data set of the engine: what networks are trained and tested on."""

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rpo._comparison.table_folds import strata_of
from rpo._networks.array_inputs import weighted_moments
from rpo._table.table import Table
from rpo.engine.data import Data, make_data
from rpo.functional.losses import Task
from rpo.grouping.strata import choose_grouping
from rpo_lab.real.folds import make_fold
from rpo_lab.real.learners import codes
from rpo_lab.runner.problems import Problem, problem

KEPT = 4_000  # strata of folds: ten kilobytes each, and several methods ask for the same


@problem("real")
def real(
    *,
    table: str = "exam",
    setting: str = "as-they-are",
    fold: int = 0,
    rows: int = 1_500,
    strata: bool = False,
    seed: int = 0,
) -> Problem:
    """One fold: nothing is chosen by networks here, so all training rows are trained on, and are the validation's."""
    made = make_fold(table, setting, fold, rows, seed)
    mean, scale = weighted_moments(made.train.X, np.ones(len(made.train.y)))
    task: Task = "regression"
    targets: tuple[NDArray[Any], NDArray[Any]]
    n_classes = 0
    if made.classes:
        inside, outside, n_classes = codes(made)
        task = "binary" if n_classes == 2 else "multiclass"
        kind = np.float64 if n_classes == 2 else np.int64
        targets, unit = (inside.astype(kind), outside.astype(kind)), 1.0
    else:
        y = made.train.y.astype(np.float64)
        level, size = float(y.mean()), float(y.std())
        targets = ((y - level) / size, (made.held.y.astype(np.float64) - level) / size)
        unit = size / made.unit
    stratum = _strata(table, setting, fold, rows, seed) if strata else np.zeros(len(made.train.y), dtype=np.int64)
    domain = np.unique(made.train.domains, return_inverse=True)[1].astype(np.int64)

    def data(ready: Table, y: NDArray[Any], where: NDArray[np.int64], which: NDArray[np.int64]) -> Data:
        x = torch.from_numpy((ready.X - mean) / scale)
        return make_data(
            x,
            torch.from_numpy(y),
            torch.from_numpy(where),
            task=task,
            stratum=torch.from_numpy(which),
            n_classes=n_classes,
        )

    train = data(made.train, targets[0], domain, stratum)
    nowhere = np.zeros(len(made.held.y), dtype=np.int64)
    return Problem(train, train, {"test": data(made.held, targets[1], nowhere, nowhere)}, unit)


@lru_cache(maxsize=KEPT)
def _strata(table: str, setting: str, fold: int, rows: int, seed: int) -> NDArray[np.int64]:
    """The stratum of each training row, as RPO's estimators choose it."""
    ready = make_fold(table, setting, fold, rows, seed).train
    everything = np.ones(len(ready.y), dtype=bool)
    return strata_of(ready, everything, choose_grouping("auto", classes=ready.task == "classification"), seed)
