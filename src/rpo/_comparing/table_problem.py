"""A user's table as a data set of the experiments: each fold trains on some domains and is tested on the others."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rpo._io import Bar, Grouping, Show, read_regular, write_whole
from rpo._judging.levels import noise_of
from rpo._learners import crossfit as residuals
from rpo._networks.array_inputs import weighted_moments
from rpo._networks.targets import class_codes
from rpo._table.table import Table
from rpo.engine import Data
from rpo.engine.data import make_data
from rpo.exceptions import InputError
from rpo.functional.losses import Task
from rpo.functional.statistics import MIN_ROWS
from rpo.grouping import find_strata
from rpo.grouping.strata import GROUPINGS, choose_grouping
from rpo_lab.runner.problems import Problem, problem

NAME = "table"
MOST_FOLDS = 10
VALIDATION = 0.2  # of the rows of every training domain that has five or more
CHECKSUM = "sha256"
MOST_BYTES = 1 << 40
TASKS: tuple[Task, ...] = ("regression", "binary", "multiclass")

_folder: Path | None = None


@dataclass(frozen=True)
class Folds:
    """A table ready for a study: its name (the hash of what was given), and the domains that each fold holds out."""

    sha256: str
    held_out: tuple[tuple[str, ...], ...]
    rows: Mapping[str, int]


def use_folder(folder: Path) -> None:
    """Where this process, or a worker of it, finds the tables of a study."""
    global _folder
    _folder = folder


def table_file(sha256: str) -> Path:
    """The name of a table's file in the folder of a study.

    >>> table_file("1f").as_posix()
    'tables/1f.safetensors'
    """
    return Path("tables", f"{sha256}.safetensors")


def dealt(ready: Table, grouping: Grouping = "auto", seed: int = 0) -> tuple[Folds, dict[str, NDArray[Any]]]:
    """The domains dealt into folds, and all that decides the data of a fold, as arrays.

    Every domain is held out once: alone if there are at most ten, else together with others, dealt by size.
    """
    from safetensors.numpy import save

    labels, domain, count = np.unique(ready.domains, return_inverse=True, return_counts=True)
    if len(labels) < 3:
        raise InputError(
            f"the table has {len(labels)} domain{'s' * (len(labels) > 1)}: at least three are needed to hold one out"
        )
    fold = np.empty(len(labels), dtype=np.int64)
    number = min(len(labels), MOST_FOLDS)
    fold[np.lexsort((labels, -count))] = np.arange(len(labels)) % number
    y, task, classes, _ = encoded(ready)
    source = choose_grouping(grouping, classes=task != "regression", given=ready.strata is not None)
    named = ready.strata.labels if ready.strata else np.zeros(0)
    given: dict[str, NDArray[Any]] = {
        "X": ready.X,
        "y": np.asarray(y),
        "domain": domain.astype(np.int64),
        "fold": fold,
        "named": named.astype(np.int64),
        "task": np.array([TASKS.index(task), classes, seed, GROUPINGS.index(source)]),
    }
    given = {name: np.ascontiguousarray(array) for name, array in given.items()}
    held = tuple(tuple(str(name) for name in labels[fold == f]) for f in range(number))
    sha = hashlib.sha256(save(given)).hexdigest()[:20]
    return Folds(sha, held, dict(zip(map(str, labels), map(int, count), strict=True))), given


def write_folds(
    ready: Table,
    folder: Path,
    *,
    grouping: Grouping = "auto",
    seed: int = 0,
    progress: Show = "auto",
) -> Folds:
    """Deal the domains into folds, find the strata of each fold in its training domains, and write all that down."""
    folds, given = dealt(ready, grouping, seed)
    file = folder / table_file(folds.sha256)
    number, source = len(folds.held_out), GROUPINGS[given["task"][3]]
    parts = [file.with_suffix(f".{f}.strata") for f in range(number)]
    if read_arrays(file) is None:  # a comparison that goes on has its strata already
        strata = np.zeros((number, len(ready.y)), dtype=np.int64)
        with Bar(number, "strata of each fold", progress, patience=0.0) as bar:
            for f, part in enumerate(parts):
                kept = read_arrays(part)
                if kept is None or kept["strata"].shape != strata[f].shape:
                    inside = given["fold"][given["domain"]] != f
                    kept = {"strata": found_strata(ready, inside, source, seed)}
                    write_arrays(part, kept)
                strata[f] = kept["strata"]
                bar.advance()
        write_arrays(file, given | {"strata": strata})
    for part in parts:
        part.unlink(missing_ok=True)
    return folds


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Arrays in a file, written whole, with their checksum among them."""
    from safetensors.numpy import save

    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_whole(path, save({**whole, CHECKSUM: _checksum(whole)}))


def read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """The arrays in a file; None if there is none, or one that is not what was written.

    >>> read_arrays(Path("nowhere")) is None
    True
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        found: dict[str, NDArray[Any]] = load(read_regular(path, MOST_BYTES))
        noted = found.pop(CHECKSUM)
        return found if np.array_equal(noted, _checksum(found)) else None
    except (SafetensorError, InputError, KeyError, ValueError, TypeError):
        return None


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    total = hashlib.sha256()
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        total.update(arrays[name].tobytes())
    return np.frombuffer(total.digest(), dtype=np.uint8)


def found_strata(ready: Table, inside: NDArray[np.bool_], grouping: Grouping, seed: int) -> NDArray[np.int64]:
    """The stratum of each row; strata that are looked for are found without a look at the domains held out."""
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
    part = residuals.Problem(ready.X[inside], y, domain, len(names), n_classes, np.ones(len(y)))
    noise = noise_of(part, residuals.out_of_row(part))
    found = find_strata(part.X, noise.size**2, domain, random_state=seed)
    return found.assign(ready.X).astype(np.int64)


def encoded(ready: Table) -> tuple[NDArray[np.float64] | NDArray[np.int64], Task, int, float]:
    """The target as the engine wants it, the engine's task, the number of classes, and the target's deviation.

    >>> import pandas as pd
    >>> from rpo._table import prepare
    >>> table = pd.DataFrame({"x": range(12), "y": ["a", "b", "c"] * 4})
    >>> encoded(prepare(table, target="y"))[1:]
    ('multiclass', 3, 1.0)
    """
    if ready.task == "regression":
        mean, scale = weighted_moments(ready.y[:, None].astype(np.float64), np.ones(len(ready.y)))
        return (ready.y - mean[0]) / scale[0], "regression", 0, float(scale[0])
    classes, code, task = class_codes(ready.y)
    return code, task, len(classes), 1.0


@lru_cache(maxsize=4)
def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    found = read_arrays(path)
    if found is None:
        raise InputError(f"{path} is missing or has changed: run the comparison again")
    return found


@problem(NAME)
def table(*, sha256: str = "", fold: int = 0, seed: int = 0) -> Problem:
    """One fold of a table: the training domains' rows, a fifth of them for validation, and the domains held out."""
    if _folder is None:
        raise InputError("no table is loaded: start the comparison with `rpo compare`")
    a = _arrays(_folder / table_file(sha256))
    task, classes = TASKS[int(a["task"][0])], int(a["task"][1])
    held = a["fold"][a["domain"]] == fold
    inside = np.flatnonzero(~held)
    renumbered = np.cumsum(a["fold"] != fold) - 1
    rng = np.random.default_rng([seed, fold])
    validation = np.zeros(len(held), dtype=bool)
    for e in np.flatnonzero(a["fold"] != fold):
        rows = np.flatnonzero(a["domain"] == e)
        if len(rows) >= MIN_ROWS:
            validation[rng.permutation(rows)[: round(VALIDATION * len(rows))]] = True
    train = inside[~validation[inside]]
    mean, scale = weighted_moments(a["X"][train], np.ones(len(train)))

    def part(rows: NDArray[np.intp], domain: NDArray[np.int64]) -> Data:
        return make_data(
            torch.from_numpy((a["X"][rows] - mean) / scale),
            torch.from_numpy(a["y"][rows]),
            torch.from_numpy(domain),
            task=task,
            stratum=torch.from_numpy(a["strata"][fold][rows]),
            n_classes=classes,
        )

    def inner(rows: NDArray[np.intp]) -> Data:
        return part(rows, renumbered[a["domain"][rows]])

    tests = {}
    for place, e in enumerate(np.flatnonzero(a["fold"] == fold)):  # by place: runs of one stack share these names
        rows = np.flatnonzero(a["domain"] == e)
        tests[str(place)] = part(rows, np.zeros(len(rows), dtype=np.int64))
    return Problem(inner(train), inner(np.flatnonzero(validation)), tests)
