"""The quality of all rows of a dataset, from a sample that was judged and sums over all rows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rpo._judging.column_sums import ColumnRuler
from rpo._judging.evidence import Evidence
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
from rpo.grouping.strata import NamedStrata


def of_all_rows(
    sample: Judgement, evidence: Evidence, sums: Sums, ruler: ColumnRuler, top: pd.DataFrame, scope: Scope, seed: int
) -> Judgement:
    """Return counts, levels, noise, weights, missing values and shifts of all rows; the rest stays the sample's."""
    ready = sample.table
    names = np.unique(ready.domains)
    classes = np.unique(ready.y) if ready.task == "classification" else None
    noise: Any
    if classes is None:
        assert evidence.levels.lines is not None
        noise, levels, stratum = number_noise_of(sums, evidence.levels.lines, evidence.levels)
        noise = replace(noise, misfit=evidence.noise.misfit)
    else:
        clear = isinstance(evidence.noise, LabelNoise) and evidence.noise.clear
        own = evidence.problem.domain * len(evidence.strata.names) + evidence.strata.labels
        sampled = by_group(own, None, len(sums["cell_rows"]))
        noise, levels, stratum = label_noise_of(sums, len(classes), clear, evidence.levels, sampled)
    strata = NamedStrata(stratum, evidence.strata.names, evidence.strata.searched)
    weight = noise.weights(stratum, len(strata.names))
    each = weight[noise.domain, stratum]
    total, squares = sums["features"], sums["feature_squares"]
    variance = squares.sum(0) / sums["rows"].sum() - (total.sum(0) / sums["rows"].sum()) ** 2
    novel = novelty(sums["rows"], total, squares, variance) if len(names) > 1 else np.zeros(1)
    domains = domains_table(noise, levels, novel, sums["rows"], evidence.held_out, mean_weight(noise, each), names)
    every = noise.relative_table(stratum, len(strata.names))
    return replace(
        sample,
        domains=domains,
        strata=named_strata_table(strata, strata_table(evidence.problem, evidence.noise, evidence.strata, seed, every)),
        cells=cells_table(noise, strata, names, each),
        rows=rows_table(top if scope.files > 1 else top.drop(columns="file"), names, evidence.strata.names, classes),
        weight=weight[np.unique(ready.domains, return_inverse=True)[1], evidence.strata.labels],
        columns=ruler.told(sums, sample.columns, [str(name) for name in names], classes),
        noise=overall(domains) if classes is not None else float(noise.table(0 * stratum, 1)["noise"][0]),
        scope=replace(scope, explained=_explained(sums) if classes is None else None),
    )


def _explained(sums: Sums) -> float:
    """Return the share of the target's variance that the models explain."""
    n = float(sums["rows"].sum())
    one, square = sums["target"].sum(0) / n
    return float(1 - sums["missed"].sum() / n / max(square - one**2, 1e-300))
