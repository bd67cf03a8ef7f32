"""Learners that are no networks on the folds of a table: the mean, a line, trees, and Quality with its controls.

Each fold is fitted once and kept in a file of its own; they hardly differ between seeds.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._comparing.table_problem import Folds
from rpo._io import Bar, Grouping, Show, make_folder, read_regular, write_whole
from rpo._learners.stack import constant, linear, trees
from rpo._models import QualityClassifier, QualityRegressor
from rpo._table.table import Table
from rpo._workers import shared
from rpo.exceptions import InputError, OneDomainWarning
from rpo_lab.runner.specification import sha256

QUALITY = "quality"
CONTROLS = ("quality-permuted", "quality-uniform")
STOCK = ("linear", "trees")
MOST_BYTES = 1 << 20


def names_of(ready: Table) -> tuple[str, ...]:
    """The learners of a table, the simplest first.

    >>> from rpo._table import prepare
    >>> names_of(prepare(pd.DataFrame({"x": range(20), "y": range(20)}), target="y"))
    ('mean', 'linear', 'trees', 'quality', 'quality-permuted', 'quality-uniform')
    """
    return ("mean" if ready.task == "regression" else "majority", *STOCK, QUALITY, *CONTROLS)


@dataclass(frozen=True, eq=False)
class FoldTask:
    """One fold to be fitted: rows to learn from, rows of each held-out domain, and the unit of errors."""

    fold: int
    ready: Table
    held: Mapping[str, NDArray[np.bool_]]
    grouping: Grouping
    scale: float


def fit_fold(task: FoldTask) -> dict[str, dict[str, float]]:
    """The error of every learner on each held-out domain: squared, over the target's variance, or share wrong.

    What cannot be fitted is left out.
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
    found: dict[str, dict[str, float]] = {}
    for name, model in models.items():
        found[name] = {}
        for domain, rows in task.held.items():
            ours = name == QUALITY or name in CONTROLS
            said = model.predict(ready.frame[rows][list(model.feature_names_in_)] if ours else ready.X[rows])
            if known is None:
                found[name][domain] = float(np.mean((said - ready.y[rows]) ** 2)) / task.scale**2
            else:
                found[name][domain] = float(np.mean((said if ours else known[said]) != ready.y[rows]))
    return found


def learner_errors(
    ready: Table,
    folds: Folds,
    folder: Path,
    scale: float,
    *,
    grouping: Grouping,
    jobs: int,
    verbose: Show,
) -> dict[str, pd.DataFrame]:
    """The errors of every learner by held-out domain, a frame of one row each; what is kept is not done again."""
    make_folder(folder / "learners")
    found: dict[int, dict[str, dict[str, float]]] = {}
    todo = []
    for fold, held in enumerate(folds.held_out):
        kept = _read(_place(folder, folds, fold), ready, held)
        if kept is not None:
            found[fold] = kept
            continue
        rows = {name: ready.domains == name for name in held}
        todo.append(FoldTask(fold, ready, rows, grouping, scale))
    with Bar(len(todo), "linear, trees and quality by fold", verbose, patience=0.0) as bar:
        for place, errors in shared(fit_fold, todo, jobs):
            fold = todo[place].fold
            content = {"errors": errors, "version": version("rpo")}
            write_whole(_place(folder, folds, fold), json.dumps({**content, "sha256": sha256(content)}, indent=1))
            found[fold] = errors
            bar.advance()
    made = {}
    for name in names_of(ready):
        by_domain = {domain: e for errors in found.values() for domain, e in errors.get(name, {}).items()}
        made[name] = pd.DataFrame([by_domain], columns=list(folds.rows)).dropna()
    return made


def missing(ready: Table, folds: Folds, folder: Path) -> int:
    """How many folds are to be fitted."""
    return sum(_read(_place(folder, folds, f), ready, held) is None for f, held in enumerate(folds.held_out))


def _place(folder: Path, folds: Folds, fold: int) -> Path:
    return folder / "learners" / f"{folds.sha256}-{fold}.json"


def _read(path: Path, ready: Table, held: Sequence[str]) -> dict[str, dict[str, float]] | None:
    """The errors of a fold that was fitted before by this version; None if there are none that are whole."""
    if not path.exists():
        return None
    try:
        saved = json.loads(read_regular(path, MOST_BYTES))
        errors: dict[str, dict[str, float]] = saved["errors"]
        whole = saved.pop("sha256") == sha256(saved) and saved["version"] == version("rpo")
        whole = whole and tuple(errors) == names_of(ready)
        whole = whole and all(sorted(one) == sorted(held) for one in errors.values())
        return errors if whole and np.isfinite([e for one in errors.values() for e in one.values()]).all() else None
    except (ValueError, KeyError, TypeError, AttributeError, InputError):
        return None
