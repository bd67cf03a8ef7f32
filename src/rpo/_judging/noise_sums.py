"""Noise of domains, strata and cells from sums over all rows, by the same formulas as from rows in memory.

What stands for rows here are bins of cells (numbers) or cells (labels), each counted as often as it has rows.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rpo._judging.levels import Levels, OwnLines, label_levels, level_errors, unsure
from rpo._judging.noise import FEWEST_JUDGED, Codes, LabelNoise, NumberNoise
from rpo._judging.sums import Sums, by_group
from rpo._stats.ridge import Array
from rpo._stats.scale import Scales, scales
from rpo._stats.turned import Rates, turned_of
from rpo.functional.statistics import MIN_ROWS


@dataclass(frozen=True, eq=False)
class BinnedNoise(NumberNoise):
    """`NumberNoise` whose rows are bins: `weight` says how many rows are in each."""

    def _scales(self, residual: Array, group: Codes, n_groups: int, fewest: int = MIN_ROWS) -> Scales:
        spent = np.bincount(group, self.weight * self.spent, n_groups)
        found = scales(residual, group, n_groups, spent, self.weight)
        rows = np.bincount(group, self.weight, n_groups)
        # A line that few rows of the sample told leaves more than its noise of the others, which makes nothing surer.
        return Scales(found.noise, np.where(rows < fewest, 0.0, np.minimum(found.freedom, rows)))


@dataclass(frozen=True, eq=False)
class CountedLabels(LabelNoise):
    """`LabelNoise` whose rows are cells: `weight` says how many rows are in each, `terms` holds their sums `(3, R)`.

    Rates are those of all rows, and as sure as the sample's rows make them (`unsure`).
    """

    terms: Array
    sampled: Array
    """Rows of each cell in the sample."""

    def _turned(self, group: Codes, n_groups: int) -> Rates:
        found = turned_of(*(np.bincount(group, term, n_groups) for term in self.terms))
        rows, told = by_group(group, self.weight, n_groups), by_group(group, self.sampled, n_groups)
        few = (rows < FEWEST_JUDGED["classification"]) | (not self.clear)
        variance = found.variance * unsure(rows, told)
        return Rates(np.where(few, np.nan, found.rate), np.where(few, np.inf, variance))


def spent_on(lines: OwnLines, rows: Array) -> Array:
    r"""k_e(2 − n_e/m_e)/n_e: the degrees of freedom that a line of m_e rows and k_e freedom spent on each of n_e rows.

    It leaves σ²(m − k) of the rows that told it and σ²(1 + k/m) of each other one.

    >>> lines = OwnLines.empty(2, 1)
    >>> lines.used[:], lines.rows[:] = 2.0, 10.0
    >>> spent_on(lines, np.array([10.0, 1000.0])).round(3).tolist()
    [0.2, -0.196]
    """
    sampled = np.maximum(lines.rows, 1.0)
    return np.asarray(lines.used * (2 - rows / sampled) / np.maximum(rows, 1.0))


def number_noise_of(sums: Sums, lines: OwnLines, sample: Levels) -> tuple[BinnedNoise, Levels, NDArray[np.intp]]:
    """Return noise and levels of a regression, and the stratum of each bin; relations stay those of the sample."""
    rows = sums["rows"]
    n, n_strata = len(rows), len(sums["cell_count"]) // len(rows)
    cell, place = np.nonzero(sums["cell_count"])
    count = sums["cell_count"][cell, place]
    residual = np.sqrt(sums["cell_square"][cell, place] / count)
    domain = cell // n_strata
    noise = BinnedNoise(residual, residual, spent_on(lines, rows)[domain], count, domain, n)
    where, place = np.nonzero(sums["domain_count"])
    weight = sums["domain_count"][where, place]
    centred = np.sqrt(sums["domain_square"][where, place] / weight)
    error, freedom = level_errors(centred, where, n, weight)
    error = error * np.sqrt(unsure(rows, sample.sampled))
    levels = replace(sample, offset=sums["level"] / np.maximum(rows, 1.0), error=error, freedom=freedom)
    return noise, levels, cell % n_strata


def label_noise_of(
    sums: Sums, classes: int, clear: bool, sample: Levels, sampled: Array
) -> tuple[CountedLabels, Levels, NDArray[np.intp]]:
    """Return the same of classes; `sampled` counts the sample's rows of every cell."""
    rows = sums["rows"]
    n_strata = len(sums["cell_rows"]) // len(rows)
    cell = np.flatnonzero(sums["cell_rows"])
    terms = np.stack([sums[name][cell] for name in ("cell_score", "cell_spread", "cell_length")])
    domain, none = cell // n_strata, np.zeros(len(cell), dtype=np.intp)
    weight = sums["cell_rows"][cell]
    noise = CountedLabels(np.zeros((len(cell), classes)), none, weight, domain, len(rows), clear, terms, sampled[cell])
    levels = label_levels(rows, sums["gap"], sums["odds"], sample.relation, sample.relation_p, sample.sampled)
    return noise, levels, cell % n_strata
