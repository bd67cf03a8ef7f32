"""Learners other than networks on the folds of a table: the mean, a line, trees, and Quality with its controls.

Each fold is fitted once, because results hardly differ between seeds.
"""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._comparison.table_folds import Folds, ResultFolder, digest, encode_target
from rpo._io import Bar, Grouping, Show
from rpo._learners.stacking import constant, linear, trees
from rpo._models import QualityClassifier, QualityRegressor
from rpo._table.table import Table
from rpo._workers import shared
from rpo.exceptions import InputError, OneDomainWarning

QUALITY = "quality"
CONTROLS = ("quality-permuted", "quality-uniform")
STOCK = ("linear", "trees")
Errors = dict[str, dict[str, float]]  # by learner and held-out domain


def names_of(ready: Table) -> tuple[str, ...]:
    """Return the learners for a table, the simplest first.

    >>> from rpo._table import prepare
    >>> names_of(prepare(pd.DataFrame({"x": range(20), "y": range(20)}), target="y"))
    ('mean', 'linear', 'trees', 'quality', 'quality-permuted', 'quality-uniform')
    """
    return ("mean" if ready.task == "regression" else "majority", *STOCK, QUALITY, *CONTROLS)


@dataclass(frozen=True, eq=False)
class FoldTask:
    """A fold to fit: the table, the rows of each held-out domain, and the unit of errors."""

    ready: Table
    held: Mapping[str, NDArray[np.bool_]]
    grouping: Grouping
    scale: float


def fit_fold(task: FoldTask) -> Errors:
    """Compute every learner's error on each held-out domain: mean squared over the target's variance, or share wrong.

    A learner that cannot be fitted is left out.
    """
    ready = task.ready
    seen = ~np.logical_or.reduce(list(task.held.values()))
    inside, classes = ready.rows(seen), ready.task == "classification"
    known, y = np.unique(inside.y, return_inverse=True) if classes else (None, inside.y)
    models: dict[str, Any] = {}
    for name, learner in zip(names_of(ready), (constant(classes), linear(classes), trees(classes, 0)), strict=False):
        models[name] = learner.fit(inside.X, y)
    quality = (QualityClassifier if classes else QualityRegressor)(grouping=task.grouping, verbose=False)
    with suppress(InputError), warnings.catch_warnings():
        warnings.simplefilter("ignore", OneDomainWarning)
        models |= dict(zip((QUALITY, *CONTROLS), quality.fit_with_controls(inside).values(), strict=True))
    errors: Errors = {name: {} for name in models}
    for name, model in models.items():
        own = name == QUALITY or name in CONTROLS
        for domain, rows in task.held.items():
            guess = model.predict(ready.frame[rows][list(model.feature_names_in_)] if own else ready.X[rows])
            if known is None:
                errors[name][domain] = float(np.mean((guess - ready.y[rows]) ** 2)) / task.scale**2
            else:
                errors[name][domain] = float(np.mean((guess if own else known[guess]) != ready.y[rows]))
    return errors


def learner_errors(
    ready: Table, folds: Folds, folder: ResultFolder, *, grouping: Grouping, jobs: int, verbose: Show
) -> dict[str, pd.DataFrame]:
    """Return every learner's error by held-out domain, a frame of one row each. Finished folds are read, not fitted."""
    by_fold = [read_fold(ready, folds, folder, fold) for fold in range(len(folds.held_out))]
    missing = [fold for fold, errors in enumerate(by_fold) if errors is None]
    scale = encode_target(ready)[3]
    tasks = [
        FoldTask(ready, {name: ready.domains == name for name in folds.held_out[fold]}, grouping, scale)
        for fold in missing
    ]
    with Bar(len(tasks), "linear, trees and quality by fold", verbose, patience=0.0) as bar:
        for place, errors in shared(fit_fold, tasks, jobs):
            folder.write(_file(folds, missing[place]), errors)
            by_fold[missing[place]] = errors
            bar.advance()
    frames = {}
    for name in names_of(ready):
        by_domain = {domain: e for errors in by_fold if errors for domain, e in errors.get(name, {}).items()}
        frames[name] = pd.DataFrame([by_domain], columns=list(folds.rows)).dropna()
    return frames


def read_fold(ready: Table, folds: Folds, folder: ResultFolder, fold: int) -> Errors | None:
    """Return the errors of a fold that this version has fitted with all learners, or None."""
    errors: Errors | None = folder.read(_file(folds, fold))
    return errors if errors is not None and tuple(errors) == names_of(ready) else None


def _file(folds: Folds, fold: int) -> str:
    return f"learners/{digest([folds.sha256, fold, version('rpo')])[:20]}.json"
