"""Which domains, strata, features, columns and rows of a table are poor: `rpo.quality`, and how it finds out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rpo.exceptions import InputError
from rpo.frames.preparing import FEWEST_ROWS, Prepared
from rpo.functional.ridge import Array
from rpo.grouping.strata import NamedStrata, check_grouping
from rpo.io import AskedTask, Grouping, Show, one_thread
from rpo.judging.columns import judge_columns
from rpo.judging.features import Suspicion, features_table, suspicious, varies, with_trust
from rpo.judging.inputs import given_predictions, prepared, row_weights, unit_codes
from rpo.judging.levels import Levels, noise_and_levels, noise_of
from rpo.judging.noise import Noise
from rpo.judging.residuals import Expected, Problem, out_of_domain, out_of_row, sample_by_domain
from rpo.judging.result import Quality
from rpo.judging.strata import strata_of, strata_table
from rpo.judging.tables import (
    cells_table,
    copied,
    domains_table,
    errors_by_domain,
    mean_weight,
    missed,
    named_strata_table,
    novelty_of,
    overall,
    rows_table,
    slopes_table,
    sources,
)

__all__ = ["Quality", "judge", "quality"]


def quality(
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike | None = None,
    *,
    domains: ArrayLike | None = None,
    target: str | None = None,
    domain: str | None = None,
    strata: Sequence[str] | ArrayLike = (),
    task: AskedTask = "auto",
    grouping: Grouping = "auto",
    estimator: Any = "auto",
    predictions: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    unit: str | ArrayLike | None = None,
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    random_state: int = 0,
    verbose: Show = "auto",
) -> Quality:
    """Judge a table: which domains, groups, features and rows are of poor quality, and how much a row should count.

    Call either `quality(X, y, domains=…)` or `quality(frame, target="name", domain="name")`.

    Parameters
    ----------
    X : array or DataFrame
        The features; a DataFrame may have text, dates and missing values. With `target=`, the whole table.
    y, domains : array of shape (n,)
        The target and the domain of each row.
    target, domain : str
        The columns of `X` with the target and the domain, if `X` is the whole table.
    strata : sequence of str, or array of shape (n,)
        The columns that define strata (groups of rows), or the stratum of each row.
    task : "auto", "regression" or "classification"
        The task; "auto" recognises it from the target.
    grouping : "auto", "search", "class" or "none"
        How strata are found without `strata`: a search among the features ("auto", "search"), the classes, or none.
    estimator : str or scikit-learn estimator
        The learner that residuals come from: "auto" (a linear model, splines and boosted trees, stacked), "linear",
        "trees", "network", the name of a method, or any estimator.
    predictions : array of shape (n,) or (n, n_classes)
        Your own predictions by models that have not seen the row: numbers, or the probability of each class in sorted
        order. Nothing is trained then, and features and held-out errors are not judged.
    sample_weight : array of shape (n,)
        Counts rows: a weight of two is the same as repeating the row.
    unit : str or array of shape (n,)
        Identifies what was measured repeatedly (a patient, a pupil); rows of one unit stay in one fold.
    drop, category : sequence of str
        Columns to ignore; numeric columns to treat as categorical.
    random_state : int
        The random seed.
    verbose : bool or "auto"
        Whether to show progress; "auto" does on a terminal.

    Returns
    -------
    Quality
        `summary` in sentences, data frames with the evidence (`domains`, `strata`, `cells`, `features`, `rows`), and
        `weight` for any `fit(…, sample_weight=…)`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, rpo
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"x": rng.normal(size=300), "site": ["a", "b", "c"] * 100})
    >>> table["y"] = table["x"] + rng.normal(size=300) * np.where(table["site"] == "c", 2.0, 0.2)
    >>> found = rpo.quality(table, target="y", domain="site")
    >>> print(*found.domains[["domain", "n", "noisy"]].iloc[0])
    c 100 True
    """
    ready, kept, total = prepared(X, y, domains, target, domain, strata, task, unit, drop, category)
    weight = np.ones(total) if sample_weight is None else row_weights(sample_weight, total)
    if (counted := int((weight[kept] > 0).sum())) < FEWEST_ROWS:
        raise InputError(f"only {counted} rows have a target and a positive weight: at least {FEWEST_ROWS} are needed")
    units = None if unit is None else unit_codes(X, unit, total, "unit")[kept]
    found = judge(
        ready,
        grouping=grouping,
        estimator=estimator,
        predictions=None if predictions is None else np.asarray(predictions)[kept],
        weight=weight[kept],
        unit=units,
        random_state=random_state,
        progress=verbose,
    )
    whole = np.zeros(total)
    whole[kept] = found.weight
    return replace(found, weight=whole)


@one_thread()
def judge(
    ready: Prepared,
    *,
    grouping: Grouping = "auto",
    estimator: Any = "auto",
    predictions: NDArray[Any] | None = None,
    weight: Array | None = None,
    unit: NDArray[np.intp] | None = None,
    random_state: int = 0,
    progress: Show = "auto",
) -> Quality:
    """The quality of a table that was prepared before; `weight` has one number per prepared row."""
    seen = look(
        ready,
        grouping=grouping,
        estimator=estimator,
        predictions=predictions,
        weight=weight,
        unit=unit,
        random_state=random_state,
        progress=progress,
    )
    return told(ready, seen, random_state)


def look(
    ready: Prepared,
    *,
    grouping: Grouping = "auto",
    estimator: Any = "auto",
    predictions: NDArray[Any] | None = None,
    weight: Array | None = None,
    unit: NDArray[np.intp] | None = None,
    random_state: int = 0,
    progress: Show = "auto",
) -> "Seen":
    """All that needs models: residuals, their noise, strata, features."""
    check_grouping(grouping, classes=ready.task == "classification", given=ready.strata is not None)
    names, code = np.unique(ready.domains, return_inverse=True)
    classes, y = np.unique(ready.y, return_inverse=True) if ready.task == "classification" else (None, ready.y)
    counts = np.ones(len(y)) if weight is None else weight
    n_classes = 0 if classes is None else len(classes)
    problem = Problem(ready.X, y, code, len(names), n_classes, counts, estimator, unit)
    if predictions is not None:
        return _given(given_predictions(predictions, problem), ready, problem, grouping, random_state)
    return _looked(ready, problem, grouping, random_state, progress)


def told(ready: Prepared, seen: "Seen", random_state: int = 0) -> Quality:
    """What was seen, as tables."""
    names, code = np.unique(ready.domains, return_inverse=True)
    classes = np.unique(ready.y) if ready.task == "classification" else None
    used, noise, strata = seen.problem, seen.noise, seen.strata
    counts = used.weight
    row_weight = noise.weights(strata.labels, len(strata.names), seen.misfit)[code, strata.labels]
    domains = domains_table(
        noise,
        seen.levels,
        novelty_of(used) if len(names) > 1 else np.zeros(1),
        np.bincount(code, counts > 0, len(names)),
        seen.held_out,
        mean_weight(noise, row_weight),
        names,
    )
    return Quality(
        domains=domains,
        strata=named_strata_table(strata, strata_table(used, noise, strata, random_state)),
        cells=cells_table(noise, strata, names, row_weight),
        rows=rows_table(ready, used, seen.expected, noise, strata, classes),
        features=features_table(ready.names, sources(ready), seen.suspicion, names.tolist()),
        slopes=slopes_table(ready, seen.suspicion, names),
        weight=row_weight * (counts > 0),
        prepared=ready,
        expected=replace(seen.expected, models=None),
        assigned=strata,
        columns=judge_columns(
            ready.frame,
            ready.columns,
            code,
            [str(name) for name in names],
            target=ready.frame[ready.target],
            target_name=ready.target,
            task=ready.task,
            left_out=ready.left_out,
            domain_name=ready.domain or "domain",
        ),
        misfit=seen.misfit,
        copies=copied(replace(used, X=ready.X)),
        noise=overall(domains) if classes is not None else float(noise.table(np.zeros_like(code), 1)["noise"][0]),
    )


@dataclass(frozen=True, eq=False)
class Seen:
    """What a judgement rests on: residuals, their noise and levels, strata, features, errors on domains held out."""

    problem: Problem
    """Without suspicious features."""
    expected: Expected
    noise: Noise
    levels: Levels
    strata: NamedStrata
    suspicion: Suspicion
    held_out: Array
    misfit: float


def _given(expected: Expected, ready: Prepared, problem: Problem, grouping: Grouping, seed: int) -> Seen:
    """Predictions are there: nothing is trained, so nothing is said of features and of domains held out."""
    noise, levels = noise_and_levels(problem, expected)
    strata = strata_of(ready, problem, noise.size, np.arange(len(problem.y)), grouping, seed)
    none = np.zeros(problem.X.shape[1])
    slopes = np.full((problem.n_domains, len(none)), np.nan)
    suspicion = Suspicion(none, none + 1, slopes, slopes, ())
    return Seen(problem, expected, noise, levels, strata, suspicion, np.full(problem.n_domains, np.nan), 0.0)


def _looked(ready: Prepared, problem: Problem, grouping: Grouping, seed: int, progress: Show) -> Seen:
    """Look, weigh, look again: at a sample of many rows, then at all of them once more."""
    rows = np.flatnonzero(sample_by_domain(problem))
    sampled = len(rows) < len(problem.y)
    some = problem.part(rows) if sampled else problem
    expected = out_of_row(some, None, progress)
    noise = noise_of(some, expected)
    strata = strata_of(ready, problem, noise.size, rows, grouping, seed)

    def cells(said: Expected) -> Array:
        return noise_of(some, said).precision(strata.labels[rows], len(strata.names))

    def trust(said: Expected) -> Array:
        return cells(said)[some.domain, strata.labels[rows]]

    fits = with_trust(some, expected, trust, progress)
    suspicion, expected = suspicious(some, fits, trust, progress), fits[-1]
    used = problem
    rest = np.delete(problem.X, suspicion.flagged, 1) if suspicion.flagged else problem.X
    if suspicion.flagged and varies(rest):
        # Noise is what is left without features that mean something else in every domain, if there are others.
        used = replace(problem, X=rest)
    if suspicion.flagged or sampled:
        expected = out_of_row(used, cells(expected)[problem.domain, strata.labels], progress)
    noise, levels = noise_and_levels(used, expected)
    if suspicion.flagged:
        strata = strata_of(ready, problem, noise.size[rows], rows, grouping, seed)
    counted = noise.weights(strata.labels, len(strata.names))[problem.domain, strata.labels]
    some = used.part(rows) if sampled else used
    held_out, misfit = np.full(problem.n_domains, np.nan), 0.0
    if (unseen := out_of_domain(some, counted[rows], progress)) is not None:
        held_out = errors_by_domain(some, unseen)
        misfit = noise.some(rows).misfit(missed(some, unseen))
    return Seen(used, expected, noise, levels, strata, suspicion, held_out, misfit)
