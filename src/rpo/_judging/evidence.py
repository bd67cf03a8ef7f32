"""What a judgement rests on: residuals, their noise and levels, groups and suspicious features; and its tables."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._io import Grouping, Show
from rpo._judging.arguments import given_predictions
from rpo._judging.columns import judge_columns
from rpo._judging.features import Suspicion, features_table, suspicious, varies, with_trust
from rpo._judging.frames import (
    beside,
    cells_table,
    copied,
    domains_table,
    errors_by_domain,
    least_likely,
    mean_weight,
    named_strata_table,
    novelty_of,
    overall,
    rows_table,
    slopes_table,
    sources,
)
from rpo._judging.groups import strata_of, strata_table
from rpo._judging.judgement import Judgement
from rpo._judging.levels import Levels, noise_and_levels, noise_of
from rpo._judging.noise import Noise, NumberNoise
from rpo._learners.crossfit import Expected, Problem, out_of_domain, out_of_row, sample_by_domain
from rpo._stats.ridge import Array
from rpo._table.table import Table
from rpo.grouping.strata import NamedStrata, check_grouping, codes


def estimate(
    ready: Table,
    *,
    grouping: Grouping = "auto",
    estimator: Any = "auto",
    predictions: NDArray[Any] | None = None,
    random_state: int = 0,
    progress: Show = "auto",
) -> "Evidence":
    """Estimate all that needs models: residuals, their noise, strata, suspicious features."""
    check_grouping(grouping, classes=ready.task == "classification", given=ready.strata is not None)
    names, code = np.unique(ready.domains, return_inverse=True)
    classes, y = np.unique(ready.y, return_inverse=True) if ready.task == "classification" else (None, ready.y)
    counts = np.ones(len(y)) if ready.weight is None else ready.weight
    unit = None if ready.unit is None else codes(ready.unit, "unit")[0]
    n_classes = 0 if classes is None else len(classes)
    problem = Problem(ready.X, y, code, len(names), n_classes, counts, estimator, unit)
    if predictions is not None:
        return _estimate_from_predictions(
            given_predictions(predictions, problem), ready, problem, grouping, random_state
        )
    return _estimate_from_models(ready, problem, grouping, random_state, progress)


def to_tables(ready: Table, evidence: "Evidence", random_state: int = 0) -> Judgement:
    """Return the evidence as data frames."""
    names, code = np.unique(ready.domains, return_inverse=True)
    classes = np.unique(ready.y) if ready.task == "classification" else None
    used, noise, strata = evidence.problem, evidence.noise, evidence.strata
    counts = used.weight
    row_weight = noise.weights(strata.labels, len(strata.names))[code, strata.labels]
    domains = domains_table(
        noise,
        evidence.levels,
        novelty_of(used) if len(names) > 1 else np.zeros(1),
        np.bincount(code, counts > 0, len(names)),
        evidence.held_out,
        mean_weight(noise, row_weight),
        names,
    )
    return Judgement(
        domains=domains,
        strata=named_strata_table(strata, strata_table(used, noise, strata, random_state)),
        cells=cells_table(noise, strata, names, row_weight),
        rows=rows_table(_first_rows(ready, evidence), names, strata.names, classes),
        features=features_table(ready.names, sources(ready), evidence.suspicion, names.tolist()),
        slopes=slopes_table(ready, evidence.suspicion, names),
        weight=row_weight * (counts > 0),
        table=ready,
        expected=replace(evidence.expected, models=None),
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
        misfit=noise.misfit,
        copies=copied(replace(used, X=ready.X)),
        noise=overall(domains) if classes is not None else float(noise.table(np.zeros_like(code), 1)["noise"][0]),
    )


def _first_rows(ready: Table, evidence: "Evidence") -> pd.DataFrame:
    """Return the least likely rows: what they say, what the other rows say about them, and their own columns."""
    size = np.where(evidence.problem.weight > 0, evidence.noise.size, -1.0)
    first = least_likely(size)
    told = {
        "row": ready.row[first],
        "domain": evidence.problem.domain[first],
        "stratum": evidence.strata.labels[first],
        **beside(evidence.problem.y[first], evidence.expected.value[first]),
        "times": size[first],
    }
    columns = ready.frame.iloc[first][[column.name for column in ready.columns]].reset_index(drop=True)
    return pd.concat([pd.DataFrame(told), columns.add_prefix("column ")], axis=1)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a judgement rests on: residuals, their noise and levels, strata, features, errors on domains held out."""

    problem: Problem
    """Without suspicious features."""
    expected: Expected
    noise: Noise
    levels: Levels
    strata: NamedStrata
    suspicion: Suspicion
    held_out: Array


def _estimate_from_predictions(
    expected: Expected, ready: Table, problem: Problem, grouping: Grouping, seed: int
) -> Evidence:
    """Estimate from given predictions: nothing is trained, so features and held-out errors are not judged."""
    noise, levels = noise_and_levels(problem, expected)
    strata = strata_of(ready, problem, noise.size, np.arange(len(problem.y)), grouping, seed)
    none = np.zeros(problem.X.shape[1])
    slopes = np.full((problem.n_domains, len(none)), np.nan)
    suspicion = Suspicion(none, none + 1, slopes, slopes, ())
    return Evidence(problem, expected, noise, levels, strata, suspicion, np.full(problem.n_domains, np.nan))


def _estimate_from_models(ready: Table, problem: Problem, grouping: Grouping, seed: int, progress: Show) -> Evidence:
    """Estimate, weigh, and estimate again: on a sample if there are many rows, then once on all of them."""
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
    held_out = np.full(problem.n_domains, np.nan)
    if (unseen := out_of_domain(some, counted[rows], progress)) is not None:
        held_out = errors_by_domain(some, unseen)
        if isinstance(noise, NumberNoise):
            noise = replace(noise, misfit=noise.some(rows).estimate_misfit(some.y - unseen.value))
    return Evidence(used, expected, noise, levels, strata, suspicion, held_out)
