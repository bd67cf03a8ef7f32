"""A fold of a real table: training domains with planted problems, and the domains held out.

Learners get it as tables; networks as a data set of the engine.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rpo._comparison.table_folds import strata_of
from rpo._networks.array_inputs import weighted_moments
from rpo._table import prepare
from rpo._table.columns import Column
from rpo._table.table import Table
from rpo.engine.data import Data, make_data
from rpo.functional.losses import Task
from rpo.grouping.strata import choose_grouping
from rpo_lab.data.real import load_real
from rpo_lab.real.planting import CONFOUNDER, SETTINGS, plant
from rpo_lab.runner.problems import Problem, problem

Array = NDArray[np.float64]
FOLDS, MOST_ALONE = 5, 8  # up to eight domains are held out one at a time
MANY = 40  # domains that a sample keeps, if there are so many: fewer rows of each, not fewer of them
DOMAIN = "(domain)"
KEPT = 4_000  # strata of folds: ten kilobytes each, and several methods ask for the same


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows, and the held-out rows with the target that they truly have.

    `unit` is the deviation of the clean table's target (1 for classes): errors are measured in it. `clean` is the
    target of the training rows before anything was planted; `noise` and `bad` are as in `Planted`.
    """

    train: Table
    held: Table
    clean: NDArray[Any]
    noise: Array
    bad: NDArray[np.bool_]
    unit: float

    @property
    def classes(self) -> bool:
        """Whether it is a classification."""
        return self.train.task == "classification"


@lru_cache(maxsize=64)
def real_table(name: str, rows: int) -> Table:
    """Load a real table as numbers, of a larger one a sample of about so many rows."""
    table = load_real(name)
    frame = table.X.assign(**{table.target: np.asarray(table.y), DOMAIN: np.asarray(table.domains)})
    if len(frame) > rows:
        frame = frame[sampled(frame[DOMAIN].to_numpy(), rows)]
    return prepare(frame, target=table.target, domain=DOMAIN, task=table.task)


def sampled(domains: NDArray[Any], rows: int) -> NDArray[np.bool_]:
    """Draw the rows of a larger table that are kept, always the same.

    Whole domains are drawn until there are so many rows, but no fewer than forty; then of each of these its share, at
    least one row.

    >>> kept = sampled(np.repeat(["a", "b"], [90, 10]), 50)
    >>> int(kept[:90].sum()), int(kept[90:].sum())
    (45, 5)
    >>> kept = sampled(np.repeat(np.arange(100), 20), 1000)
    >>> len(np.unique(np.repeat(np.arange(100), 20)[kept])), int(kept.sum())
    (50, 1000)
    """
    rng = np.random.default_rng(0)
    _, code, count = np.unique(domains, return_inverse=True, return_counts=True)
    drawn = rng.permutation(len(count))
    enough = int(np.searchsorted(np.cumsum(count[drawn]), rows)) + 1
    mask = np.isin(code, drawn[: max(MANY, enough)])
    share = min(1.0, rows / mask.sum())
    for e in drawn[: max(MANY, enough)]:
        own = rng.permutation(np.flatnonzero(code == e))
        mask[own[max(1, round(share * len(own))) :]] = False
    return mask


def fold_count(domains: int) -> int:
    """Return the number of folds of a table of so many domains.

    >>> fold_count(3), fold_count(60)
    (3, 5)
    """
    return domains if domains <= MOST_ALONE else FOLDS


def held_out(ready: Table, fold: int, seed: int) -> NDArray[np.bool_]:
    """Return which rows a fold holds out; the seed deals the domains, as many to each fold."""
    names, code = np.unique(ready.domains, return_inverse=True)
    place = np.random.default_rng(seed).permutation(len(names)) % fold_count(len(names))
    return np.asarray(place[code] == fold)


@lru_cache(maxsize=4)
def make_fold(table: str, setting: str, fold: int, rows: int, seed: int) -> Fold:
    """Make a fold, planted anew for every seed and fold."""
    ready = real_table(table, rows)
    held = held_out(ready, fold, seed)
    inside, outside = ready.rows(~held), ready.rows(held)
    rng = np.random.default_rng([seed, fold, list(SETTINGS).index(setting)])
    planted = plant(setting, inside, len(outside.y), rng)
    mask = np.zeros(len(inside.y), dtype=bool)
    mask[planted.kept] = True
    train = inside.rows(mask)
    train = replace(train, y=planted.y, frame=train.frame.assign(**{train.target: planted.y}))
    if planted.column is not None and planted.elsewhere is not None:
        train, outside = wider(train, planted.column), wider(outside, planted.elsewhere)
    unit = float(ready.y.std()) if ready.task == "regression" else 1.0
    return Fold(train, outside, inside.y[planted.kept], planted.noise, planted.bad, unit)


def wider(ready: Table, column: Array) -> Table:
    """Add a column to the rows."""
    return replace(
        ready,
        frame=ready.frame.assign(**{CONFOUNDER: column}),
        X=np.column_stack([ready.X, column]),
        columns=(*ready.columns, Column(name=CONFOUNDER, kind="number")),
    )


def codes(fold: Fold) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Return the numbers of classes of training and held-out rows, and the count of classes."""
    classes, code = np.unique(np.concatenate([fold.train.y, fold.held.y]), return_inverse=True)
    return code[: len(fold.train.y)], code[len(fold.train.y) :], len(classes)


def domain_codes(fold: Fold) -> NDArray[np.int64]:
    """Return the number of the training domain of each row."""
    return np.unique(fold.train.domains, return_inverse=True)[1].astype(np.int64)


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
    """Load one fold: networks choose nothing here, so all training rows are trained on, and are the validation's."""
    parts = make_fold(table, setting, fold, rows, seed)
    mean, scale = weighted_moments(parts.train.X, np.ones(len(parts.train.y)))
    task: Task = "regression"
    targets: tuple[NDArray[Any], NDArray[Any]]
    n_classes = 0
    if parts.classes:
        inside, outside, n_classes = codes(parts)
        task = "binary" if n_classes == 2 else "multiclass"
        kind = np.float64 if n_classes == 2 else np.int64
        targets, unit = (inside.astype(kind), outside.astype(kind)), 1.0
    else:
        y = parts.train.y.astype(np.float64)
        level, size = float(y.mean()), float(y.std())
        targets = ((y - level) / size, (parts.held.y.astype(np.float64) - level) / size)
        unit = size / parts.unit
    stratum = _strata(table, setting, fold, rows, seed) if strata else np.zeros(len(parts.train.y), dtype=np.int64)

    def data(ready: Table, *columns: NDArray[Any]) -> Data:
        x, y, where, which = map(torch.from_numpy, ((ready.X - mean) / scale, *columns))
        return make_data(x, y, where, task=task, stratum=which, n_classes=n_classes)

    train = data(parts.train, targets[0], domain_codes(parts), stratum)
    nowhere = np.zeros(len(parts.held.y), dtype=np.int64)
    return Problem(train, train, {"test": data(parts.held, targets[1], nowhere, nowhere)}, unit)


@lru_cache(maxsize=KEPT)
def _strata(table: str, setting: str, fold: int, rows: int, seed: int) -> NDArray[np.int64]:
    """Choose the stratum of each training row as RPO's estimators do."""
    ready = make_fold(table, setting, fold, rows, seed).train
    everything = np.ones(len(ready.y), dtype=bool)
    return strata_of(ready, everything, choose_grouping("auto", classes=ready.task == "classification"), seed)
