"""Noise of groups of rows, from what is left of them once level and relation of their domain are taken out.

Both kinds of target answer the same questions: how noisy is a group, how sure is that, and what is a row of it worth.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

from rpo._stats.ridge import Array
from rpo._stats.scale import (
    Scales,
    between,
    exceeds,
    expected_variances,
    interval,
    log_variances,
    pooled,
    scales,
    shrunk,
)
from rpo._stats.significance import SURE, holm
from rpo._stats.turned import Rates, rest_of, turned
from rpo.functional.statistics import MIN_ROWS

NOISY = SURE / 2  # the corrected p of a claim: domains and strata are asked, both together may err in 5 % of tables
WORTH_TELLING = 1.2  # times the noise of the rest: less is nothing to act on, however sure it is
MANY_WRONG = 0.02  # more wrong labels than the rest have, likewise
ORDINARY_QUANTILE = 0.3  # from least to most noisy: what is usual, though half of the domains be bad
BOUND = 1.7  # noise up to so many times the usual costs a row nothing
BOUND_CLASSES = 1.12  # the same for classes: 1/(1 − 2ε) at 5 % wrong labels
NATURE = float(np.log(2.0))  # log variance beyond the usual that a stratum may have everywhere
LEAST = 0.002  # what a row counts at the least
LEAST_SHARE = 1e-150  # of the largest residual, the noise of a domain at the least: squares of ratios are numbers
FEWEST = 3  # rows from which on a weight heeds them; claims need more
# Rows that are judged, at least. Of fewer labels, a share of wrong ones is a step function.
FEWEST_JUDGED = {"regression": MIN_ROWS, "classification": 20}
_ROUNDS = 20

Codes = NDArray[np.intp]


class NoiseOfRows(ABC):
    """What is left of rows, and how noisy groups of them are; of numbers or of labels."""

    by_row: ClassVar[tuple[str, ...]]
    weight: Array
    domain: Codes
    n_domains: int
    misfit: float = 0.0
    """The variance by which models miss a domain that they never saw, beyond its noise; labels have none."""

    def some(self, rows: NDArray[np.intp]) -> Self:
        """Return the noise of some of the rows."""
        parts: dict[str, Any] = {name: getattr(self, name)[rows] for name in self.by_row}
        return replace(self, **parts)  # type: ignore[type-var]

    @abstractmethod
    def table(self, group: Codes, n_groups: int) -> pd.DataFrame:
        """Return how noisy each group is, and how much noisier than the rest."""

    def relative_table(self, group: Codes, n_groups: int) -> pd.DataFrame:
        """Return the same with each row compared with what is usual in its domain."""
        return self.table(group, n_groups)

    @abstractmethod
    def weights(self, stratum: Codes, n_strata: int) -> Array:
        """Return what a row of each cell is worth in a fit, `(n_domains, n_strata)`, at most one."""

    @abstractmethod
    def precision(self, stratum: Codes, n_strata: int) -> Array:
        """Return how much a row of each cell tells, `(n_domains, n_strata)`, at most one."""


@dataclass(frozen=True, eq=False)
class NumberNoise(NoiseOfRows):
    """Residuals of numbers, in the target's unit.

    `spent` are the degrees of freedom a row's domain spent on it; `apart` is what is left before the level of a small
    domain is taken off, which would be the row itself if it has but one.
    """

    residual: Array
    apart: Array
    spent: Array
    weight: Array
    domain: Codes
    n_domains: int
    misfit: float = 0.0

    by_row: ClassVar[tuple[str, ...]] = ("residual", "apart", "spent", "weight", "domain")

    @property
    def by_domain(self) -> Scales:
        """The noise of every domain, however few its rows."""
        return self._scales(self.residual, self.domain, self.n_domains, FEWEST)

    @property
    def size(self) -> Array:
        """|r|/σ̃ of the row's domain."""
        return np.abs(self.apart) / self.usual[self.domain]

    @property
    def usual(self) -> Array:
        """σ̃ of every domain, above zero: that of all rows where nothing is known; ratios to it do not overflow."""
        found, size = shrunk(self.by_domain), np.abs(self.residual)
        largest = float(size.max(initial=0.0)) or 1.0
        common = largest * float(np.sqrt(np.mean((size / largest) ** 2))) or 1.0
        return np.maximum(np.where(np.isfinite(found), found, common), LEAST_SHARE * largest)

    def _scales(self, residual: Array, group: Codes, n_groups: int, fewest: int = MIN_ROWS) -> Scales:
        spent = np.bincount(group, self.weight * self.spent, n_groups)
        found = scales(residual, group, n_groups, spent, self.weight)
        few = np.bincount(group, self.weight > 0, n_groups) < fewest
        return Scales(found.noise, np.where(few, 0.0, found.freedom))

    def table(self, group: Codes, n_groups: int) -> pd.DataFrame:
        """Return the noise of each group and its ratio to the rest."""
        plain = self._scales(self.residual, group, n_groups)
        return self._table(group, n_groups, plain, plain)

    def relative_table(self, group: Codes, n_groups: int) -> pd.DataFrame:
        """Return the noise of each group; the ratio to the rest is that of residuals over the usual of their domain."""
        plain = self._scales(self.residual, group, n_groups)
        return self._table(
            group, n_groups, plain, self._scales(self.residual / self.usual[self.domain], group, n_groups)
        )

    def _table(self, group: Codes, n_groups: int, plain: Scales, compared: Scales) -> pd.DataFrame:
        judged = (compared.freedom > 0) & (compared.freedom.sum() - compared.freedom > 0)
        rest, _ = pooled(compared)
        low, high = (np.where(plain.freedom > 0, end, np.nan) for end in interval(plain))
        ratio = np.where(judged & (rest > 0), compared.noise / np.where(rest > 0, rest, 1.0), np.nan)
        noise = np.where(plain.freedom > 0, plain.noise, np.nan)
        p = corrected(exceeds(compared, WORTH_TELLING), judged)
        return noise_table(np.bincount(group, self.weight, n_groups), noise, low, high, ratio, p, judged)

    def _levels(self, own: Array, stratum: Codes, n_strata: int) -> tuple[Array, Array, Array]:
        """log σ̃² of every cell beyond that of its domain, `own`, and its stratum's; that; and the rows of each cell."""
        shape = self.n_domains, n_strata
        place = self.domain * n_strata + stratum
        cell = self._scales(self.residual, place, self.n_domains * n_strata, FEWEST)
        log, variance = (value.reshape(shape) for value in log_variances(cell))
        beyond, nature = _deviations(log - own[:, None], variance, np.isfinite(log))
        return beyond, nature, _sums(place, self.weight, shape)

    def estimate_misfit(self, missed: Array) -> float:
        r"""Estimate τ² = Σ_e n_e p_e (m_e² − σ̃_e²)/Σ_e n_e p_e, p_e = 1/(τ² + σ̃_e²), never negative.

        m_e is the size of `missed`, what models that never saw the domain leave of it: the variance by which they miss
        a domain, whatever its noise.
        """
        m2 = self._scales(missed, self.domain, self.n_domains, 1).noise ** 2
        noise2 = shrunk(self.by_domain) ** 2
        # Of one or two rows nobody knows whether they are noisy or missed.
        known = np.isfinite(m2 + noise2) & (self.by_domain.freedom > 0)
        count = np.where(known, np.bincount(self.domain, self.weight, self.n_domains), 0.0)
        excess = np.where(count > 0, m2 - noise2, 0.0)
        tau2 = _quantile(np.where(count > 0, m2, 0.0), count, ORDINARY_QUANTILE)
        for _ in range(_ROUNDS):
            trusted = count / np.maximum(tau2 + np.where(count > 0, noise2, 1.0), 1e-300)
            tau2 = max(float(trusted @ excess) / max(float(trusted.sum()), 1e-300), 0.0)
        return tau2

    def weights(self, stratum: Codes, n_strata: int) -> Array:
        r"""(σ²_k + τ²)/(σ̃²_ek + τ²) where that is below 1/1.7², else 1; τ² is the `misfit`.

        Noise matters for a new domain as far as it exceeds what any model misses there. σ²_k is the usual of all rows,
        or up to twice that if the stratum has so much in most domains: that is its nature, and to weigh it down would
        take the stratum from the model.
        """
        found = expected_variances(self.by_domain)
        own = np.log(np.maximum(np.where(found > 0, found, self.usual**2), np.finfo(np.float64).tiny))
        beyond, nature, count = self._levels(own, stratum, n_strata)
        # Of a stratum with few rows hardly anything is sure: its noise is drawn to the others'.
        variance = log_variances(self._scales(self.residual, stratum, n_strata, FEWEST)).freedom
        known, drawn = np.isfinite(variance), np.zeros(n_strata)
        if known.any():
            centre, tau2 = between(nature[known], variance[known])
            drawn[:] = centre
            drawn[known] += tau2 / (tau2 + variance[known]) * (nature[known] - centre)
        level = own[:, None] + beyond + drawn
        usual = _usual(level, count)
        everywhere = [_quantile(level[:, k], count[:, k], ORDINARY_QUANTILE) for k in range(n_strata)]
        allowed = usual + np.clip(np.array(everywhere) - usual, 0.0, NATURE)
        worth = (np.exp(allowed) + self.misfit) / np.maximum(np.exp(level) + self.misfit, 1e-300)
        return np.where(worth < BOUND**-2, np.maximum(worth, LEAST), 1.0)

    def precision(self, stratum: Codes, n_strata: int) -> Array:
        r"""min(1, (σ_usual/σ̃_ek)²)."""
        own = 2 * np.log(self.usual)
        beyond, nature, count = self._levels(own, stratum, n_strata)
        level = own[:, None] + beyond + nature
        return np.asarray(np.exp(np.minimum(_usual(level, count) - level, 0.0)))


@dataclass(frozen=True, eq=False)
class LabelNoise(NoiseOfRows):
    """Labels beside probabilities that know the domain's own prevalence.

    Where columns hardly tell the class (`clear` is false), weaker slopes and wrong labels look alike: nothing is said.
    """

    probability: Array
    label: NDArray[np.intp]
    weight: Array
    domain: Codes
    n_domains: int
    clear: bool

    by_row: ClassVar[tuple[str, ...]] = ("probability", "label", "weight", "domain")

    @property
    def size(self) -> Array:
        """√(−2 log p) of the label given: as deviations of a normal would be."""
        given = self.probability[np.arange(len(self.label)), self.label]
        return np.asarray(np.sqrt(-2 * np.log(np.clip(given, 1e-12, 1.0))))

    def _turned(self, group: Codes, n_groups: int) -> Rates:
        found = turned(self.probability, self.label, group, n_groups, self.weight)
        few = (np.bincount(group, self.weight > 0, n_groups) < FEWEST_JUDGED["classification"]) | (not self.clear)
        return Rates(np.where(few, np.nan, found.rate), np.where(few, np.inf, found.variance))

    def table(self, group: Codes, n_groups: int) -> pd.DataFrame:
        """Return the estimated share of wrong labels of each group, and how much it exceeds that of the rest."""
        found, rest = self._turned(group, n_groups), rest_of(self._turned(group, n_groups))
        judged = np.isfinite(found.rate) & np.isfinite(rest.rate)
        error = np.sqrt(np.where(np.isfinite(found.variance), found.variance, 1.0))
        excess = np.where(judged, found.rate - np.nan_to_num(rest.rate), np.nan)
        spread = np.sqrt(np.where(judged, found.variance + rest.variance, 1.0))
        p = corrected(ndtr(-(np.nan_to_num(excess) - MANY_WRONG) / spread), judged)
        rate, low, high = (np.clip(found.rate + z * error, 0.0, 1.0) for z in (0.0, -1.96, 1.96))
        return noise_table(np.bincount(group, self.weight, n_groups), rate, low, high, excess, p, judged)

    def _worth(self, stratum: Codes, n_strata: int, *, nature: bool) -> Array:
        """(1 − Cε̃_ek/(C − 1)) over that of the usual, with or without what a stratum has everywhere."""
        shape = self.n_domains, n_strata
        whole = self._turned(self.domain, self.n_domains)
        known = np.isfinite(whole.rate)
        own = np.zeros(self.n_domains)
        if known.any():
            centre, tau2 = between(whole.rate[known], whole.variance[known])
            own[:] = centre
            own[known] = centre + tau2 / (tau2 + whole.variance[known]) * (whole.rate[known] - centre)
        place = self.domain * n_strata + stratum
        rate, variance = (value.reshape(shape) for value in self._turned(place, shape[0] * shape[1]))
        beyond, everywhere = _deviations(rate - own[:, None], variance, np.isfinite(rate))
        level = own[:, None] + beyond + (everywhere if nature else 0.0)
        count = _sums(place, self.weight, shape)
        usual = float(np.clip(_quantile(level, count, ORDINARY_QUANTILE), 0.0, 0.4))
        share = self.probability.shape[1] / (self.probability.shape[1] - 1)
        return np.asarray(np.maximum(1 - share * np.maximum(level, 0.0), 0.0) / max(1 - share * usual, 0.1))

    def weights(self, stratum: Codes, n_strata: int) -> Array:
        r"""((1 − Cε̃_ek/(C − 1))/(1 − Cε_usual/(C − 1)))² where that is below 1/1.12², else 1."""
        worth = self._worth(stratum, n_strata, nature=False)
        return np.where(worth < 1 / BOUND_CLASSES, np.maximum(worth**2, LEAST), 1.0)

    def precision(self, stratum: Codes, n_strata: int) -> Array:
        """The same without a bound, at most one."""
        return np.clip(self._worth(stratum, n_strata, nature=True) ** 2, LEAST, 1.0)


Noise = NumberNoise | LabelNoise


def noise_table(
    count: NDArray[Any], noise: Array, low: Array, high: Array, ratio: Array, p: Array, judged: NDArray[np.bool_]
) -> pd.DataFrame:
    """Return one row for each group, noisy where its corrected p is small."""
    noisy = np.nan_to_num(p, nan=1.0) < NOISY
    columns = {"n": count, "noise": noise, "low": low, "high": high, "ratio": ratio}
    return pd.DataFrame({**columns, "p": p, "judged": judged, "noisy": noisy})


def _sums(place: Codes, weight: Array, shape: tuple[int, int]) -> Array:
    """The weight of the rows in each cell."""
    return np.asarray(np.bincount(place, weight, shape[0] * shape[1]), dtype=np.float64).reshape(shape)


def _deviations(gap: Array, variance: Array, known: NDArray[np.bool_]) -> tuple[Array, Array]:
    """What cells have beyond domain and stratum, shrunk, and what strata have; zero where nothing is known."""
    safe = np.where(known, np.where(np.isfinite(variance), variance, 1.0), 1.0)
    precision = np.where(known, 1 / safe, 0.0)
    total = precision.sum(0)
    nature = (precision * np.where(known, gap, 0.0)).sum(0) / np.where(total > 0, total, 1.0)
    beyond = np.where(known, gap - nature, 0.0)
    if known.sum() < 2:
        return np.zeros_like(beyond), nature
    _, tau2 = between(beyond[known], safe[known])
    return np.where(known, tau2 / (tau2 + safe) * beyond, 0.0), nature


def _usual(level: Array, count: Array) -> float:
    """The level that 30 % of the rows do not exceed, or 30 % of the domains if that is less: bad ones may be large."""
    mass = count.sum(1)
    own = (level * count).sum(1)[mass > 0] / mass[mass > 0]
    few = float(
        np.quantile(own, ORDINARY_QUANTILE, method="lower")
    )  # of four domains the best one, though three be bad
    return min(_quantile(level, count, ORDINARY_QUANTILE), few)


def _quantile(level: Array, count: Array, q: float) -> float:
    """The level below which a share q of the rows lies."""
    order = np.argsort(level, axis=None, kind="stable")
    below = np.cumsum(count.ravel()[order])
    return float(level.ravel()[order[np.searchsorted(below, q * below[-1])]])


def corrected(p: Array, judged: NDArray[np.bool_]) -> Array:
    """Holm's correction among those that were judged; NaN for the others."""
    found = holm([float(value) if there else None for value, there in zip(p, judged, strict=True)])
    return np.array([np.nan if value is None else value for value in found])
