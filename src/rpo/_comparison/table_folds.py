"""A table whose domains are held out in folds: rows and strata of each fold, and the files of finished work."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rpo._io import Bar, Grouping, Show, read_regular, write_whole
from rpo._judging.levels import noise_of
from rpo._learners import crossfit
from rpo._networks.array_inputs import weighted_moments
from rpo._networks.targets import class_codes
from rpo._table.table import Table
from rpo.engine import Data, make_data
from rpo.exceptions import InputError
from rpo.functional.losses import Task
from rpo.functional.statistics import MIN_ROWS
from rpo.grouping import find_strata
from rpo.grouping.strata import choose_grouping

MOST_FOLDS = 10
VALIDATION = 0.2  # of the rows of every training domain that has five or more
MOST_BYTES = 1 << 24  # of a file of results


def digest(value: Any) -> str:
    """Compute the SHA-256 of a value's JSON, with sorted keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class ResultFolder:
    """Results of finished work, each a JSON file with a checksum; damaged ones are computed again."""

    path: Path

    def read(self, name: str) -> Any:
        """Return the result of this name, or None if there is none, or not as it was written."""
        try:
            saved = json.loads(read_regular(self.path / name, MOST_BYTES))
            return saved["result"] if saved["sha256"] == digest([name, saved["result"]]) else None
        except (ValueError, KeyError, TypeError, InputError):
            return None

    def write(self, name: str, result: Any) -> None:
        """Write a result, whole or not at all."""
        write_whole(self.path / name, json.dumps({"result": result, "sha256": digest([name, result])}))


@dataclass(frozen=True, eq=False)
class Folds:
    """A table as input of the engine, and the domains that each fold holds out."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    domain: NDArray[np.int64]
    """The domain of each row, by number."""
    fold: NDArray[np.int64]
    """The fold of each domain."""
    task: Task
    n_classes: int
    grouping: Grouping
    held_out: tuple[tuple[str, ...], ...]
    rows: Mapping[str, int]
    """Rows of each domain."""
    sha256: str
    """Hash of all that decides the rows of a fold."""

    def held(self, fold: int) -> NDArray[np.bool_]:
        """Return which rows a fold holds out."""
        return np.asarray(self.fold[self.domain] == fold)


class FoldData(NamedTuple):
    """Training rows, validation rows of the same domains, and the rows of the domains held out."""

    train: Data
    validation: Data
    held: Data


def encode_target(ready: Table) -> tuple[NDArray[Any], Task, int, float]:
    """Return the target as the engine takes it, the task, the number of classes, and the target's deviation.

    >>> import pandas as pd
    >>> from rpo._table import prepare
    >>> table = pd.DataFrame({"x": range(12), "y": ["a", "b", "c"] * 4})
    >>> encode_target(prepare(table, target="y"))[1:]
    ('multiclass', 3, 1.0)
    """
    if ready.task == "regression":
        mean, scale = weighted_moments(ready.y[:, None].astype(np.float64), np.ones(len(ready.y)))
        return (ready.y - mean[0]) / scale[0], "regression", 0, float(scale[0])
    classes, code, task = class_codes(ready.y)
    return code, task, len(classes), 1.0


def make_folds(ready: Table, grouping: Grouping = "auto") -> Folds:
    """Divide the domains into at most ten folds by size: every domain is held out once, alone if there are at most ten.

    >>> import pandas as pd
    >>> from rpo._table import prepare
    >>> table = pd.DataFrame({"x": range(30), "y": range(30), "d": list("abc") * 10})
    >>> make_folds(prepare(table, target="y", domain="d")).held_out
    (('a',), ('b',), ('c',))
    """
    labels, domain, count = np.unique(ready.domains, return_inverse=True, return_counts=True)
    if len(labels) < 3:
        raise InputError(
            f"the table has {len(labels)} domain{'s' * (len(labels) > 1)}: at least three are needed to hold one out"
        )
    fold = np.empty(len(labels), dtype=np.int64)
    number = min(len(labels), MOST_FOLDS)
    fold[np.lexsort((labels, -count))] = np.arange(len(labels)) % number
    y, task, n_classes, _ = encode_target(ready)
    source = choose_grouping(grouping, classes=task != "regression", given=ready.strata is not None)
    named = ready.strata.labels if ready.strata else np.zeros(0)
    held = tuple(tuple(str(name) for name in labels[fold == f]) for f in range(number))
    rows = dict(zip(map(str, labels), map(int, count), strict=True))
    sha256 = _hash(ready.X, y, domain.astype(np.int64), named.astype(np.int64), task, n_classes, source, held)
    return Folds(ready.X, y, domain.astype(np.int64), fold, task, n_classes, source, held, rows, sha256)


def _hash(*values: Any) -> str:
    total = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            total.update(f"{value.dtype.str} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
        else:
            total.update(repr(value).encode())
    return total.hexdigest()[:20]


def strata_by_fold(ready: Table, folds: Folds, folder: ResultFolder, verbose: Show) -> NDArray[np.int64]:
    """Return the stratum of every row in each fold, `(folds, n)`: those of finished folds are read from the folder."""
    names = [f"tables/{folds.sha256}-{f}.strata" for f in range(len(folds.held_out))]
    labels = [folder.read(name) for name in names]
    missing = [f for f, known in enumerate(labels) if known is None]
    with Bar(len(missing), "strata of each fold", verbose, patience=0.0) as bar:
        for f in missing:
            labels[f] = strata_of(ready, ~folds.held(f), folds.grouping).tolist()
            folder.write(names[f], labels[f])
            bar.advance()
    return np.array(labels, dtype=np.int64)


def strata_of(ready: Table, inside: NDArray[np.bool_], grouping: Grouping, seed: int = 0) -> NDArray[np.int64]:
    """Return the stratum of each row. A search for strata sees the rows `inside` only, not the domains held out."""
    if ready.strata is not None:
        return ready.strata.labels.astype(np.int64)
    if grouping == "none":
        return np.zeros(len(ready.y), dtype=np.int64)
    if grouping == "class":
        return np.unique(ready.y, return_inverse=True)[1].astype(np.int64)
    y, n_classes = ready.y[inside], 0
    if ready.task == "classification":
        y = np.unique(y, return_inverse=True)[1]
        n_classes = int(y.max()) + 1
    names, domain = np.unique(ready.domains[inside], return_inverse=True)
    rows = crossfit.Problem(ready.X[inside], y, domain, len(names), n_classes, np.ones(len(y)))
    noise = noise_of(rows, crossfit.out_of_row(rows))
    return find_strata(rows.X, noise.size**2, domain, random_state=seed).assign(ready.X).astype(np.int64)


def fold_data(folds: Folds, strata: NDArray[np.int64], fold: int, seed: int) -> FoldData:
    """Return the rows of a fold, scaled by its training rows; the seed draws a fifth of each domain for validation."""
    held, training = folds.held(fold), folds.fold != fold
    validation = np.zeros(len(held), dtype=bool)
    rng = np.random.default_rng([seed, fold])
    for e in np.flatnonzero(training):
        rows = np.flatnonzero(folds.domain == e)
        if len(rows) >= MIN_ROWS:
            validation[rng.permutation(rows)[: round(VALIDATION * len(rows))]] = True
    train = ~held & ~validation
    mean, scale = weighted_moments(folds.X[train], np.ones(int(train.sum())))

    def data(rows: NDArray[np.bool_], domains: NDArray[np.bool_]) -> Data:
        number = np.cumsum(domains) - 1  # domains of the fold, numbered from zero
        return make_data(
            torch.from_numpy((folds.X[rows] - mean) / scale),
            torch.from_numpy(folds.y[rows]),
            torch.from_numpy(number[folds.domain[rows]]),
            task=folds.task,
            stratum=torch.from_numpy(strata[fold][rows]),
            n_classes=folds.n_classes,
        )

    return FoldData(data(train, training), data(validation, training), data(held, ~training))
