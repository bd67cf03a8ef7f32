"""The quality of all rows of a dataset, from a sample that was judged and sums over all rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._judging.column_sums import ColumnRuler
from rpo._judging.evidence import Seen
from rpo._judging.frames import (
    cells_table,
    domains_table,
    mean_weight,
    named_strata_table,
    novelty,
    overall,
    rows_table,
)
from rpo._judging.groups import strata_table
from rpo._judging.judgement import Judgement, Scope
from rpo._judging.noise import LabelNoise
from rpo._judging.noise_sums import label_noise_of, number_noise_of
from rpo._judging.sums import Sums, by_group
from rpo._learners.crossfit import Expected
from rpo._stats.ridge import Array
from rpo._table.table import Table
from rpo.grouping.strata import NamedStrata

__all__ = ["Remarkable", "of_all_rows"]


@dataclass(frozen=True, eq=False)
class Remarkable:
    """The rows that stand out most among all, with what was expected of them."""

    frame: pd.DataFrame
    y: NDArray[Any]
    value: Array
    size: Array
    domain: NDArray[np.intp]
    stratum: NDArray[np.intp]
    row: NDArray[np.intp]
    file: NDArray[Any]


def of_all_rows(
    sample: Judgement, seen: Seen, sums: Sums, ruler: ColumnRuler, top: Remarkable, scope: Scope, seed: int
) -> Judgement:
    """Counts, levels, noise, weights, missing values and shifts of all rows; what needs models stays the sample's."""
    ready = sample.table
    names = np.unique(ready.domains)
    classes = np.unique(ready.y) if ready.task == "classification" else None
    noise: Any
    if classes is None:
        assert seen.levels.lines is not None
        noise, levels, stratum = number_noise_of(sums, seen.levels.lines, seen.levels)
        noise = replace(noise, misfit=seen.noise.misfit)
    else:
        clear = isinstance(seen.noise, LabelNoise) and seen.noise.clear
        own = seen.problem.domain * len(seen.strata.names) + seen.strata.labels
        sampled = by_group(own, None, len(sums["cell_rows"]))
        noise, levels, stratum = label_noise_of(sums, len(classes), clear, seen.levels, sampled)
    strata = NamedStrata(stratum, seen.strata.names, seen.strata.searched)
    weight = noise.weights(stratum, len(strata.names))
    each = weight[noise.domain, stratum]
    novel = novelty(sums["rows"], *ruler.novelty_sums(sums)) if len(names) > 1 else np.zeros(1)
    domains = domains_table(noise, levels, novel, sums["rows"], seen.held_out, mean_weight(noise, each), names)
    every = noise.relative_table(stratum, len(strata.names))
    return replace(
        sample,
        domains=domains,
        strata=named_strata_table(strata, strata_table(seen.problem, seen.noise, seen.strata, seed, every)),
        cells=cells_table(noise, strata, names, each),
        rows=_rows(ready, top, seen, names, classes, scope),
        weight=weight[np.unique(ready.domains, return_inverse=True)[1], seen.strata.labels],
        columns=ruler.told(sums, sample.columns, [str(name) for name in names], classes),
        noise=overall(domains) if classes is not None else float(noise.table(0 * stratum, 1)["noise"][0]),
        scope=replace(scope, explained=_explained(sums) if classes is None else None),
    )


def _explained(sums: Sums) -> float:
    """The share of the target's variance that the models explain."""
    n = float(sums["rows"].sum())
    one, square = sums["target"].sum(0) / n
    return float(1 - sums["missed"].sum() / n / max(square - one**2, 1e-300))


@dataclass(frozen=True, eq=False)
class _Sizes:
    size: Array


def _rows(
    ready: Table, top: Remarkable, seen: Seen, names: NDArray[Any], classes: NDArray[Any] | None, scope: Scope
) -> pd.DataFrame:
    y = top.y if classes is None else classes[top.y.astype(np.intp)]
    few = replace(ready, frame=top.frame, y=y, domains=names[top.domain], row=top.row)
    problem = replace(
        seen.problem,
        X=np.zeros((len(top.y), 0)),
        y=top.y if classes is None else top.y.astype(np.intp),
        domain=top.domain,
        weight=np.ones(len(top.y)),
    )
    strata = NamedStrata(top.stratum, seen.strata.names)
    sizes: Any = _Sizes(top.size)
    table = rows_table(few, problem, Expected(top.value, top.value, np.ones(1)), sizes, strata, classes)
    if scope.files > 1:
        table.insert(0, "file", top.file[np.argsort(-top.size, kind="stable")][: len(table)])
    return table
