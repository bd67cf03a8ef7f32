"""Noise of groups of rows, a domain's level and relation taken out first, so that a shift is no noise.

Both kinds of target answer the same questions: how noisy is a group, how sure is that, and what is a row of it worth.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import fdtrc, ndtr

from rpo.functional.ridge import Array, gcv_ridge
from rpo.functional.scale import CLIP, Scales, between, exceeds, interval, log_variances, pooled, scales, shrunk
from rpo.functional.significance import SURE, holm
from rpo.functional.statistics import MIN_ROWS
from rpo.functional.turned import Rates, recalibrated, rest_of, turned
from rpo.judging.residuals import Expected, Problem

NOISY = SURE / 2  # the corrected p of a claim: domains and strata are asked, both together may err in 5 % of tables
WORTH_TELLING = 1.2  # times the noise of the rest: less is nothing to act on, however sure it is
MANY_WRONG = 0.02  # more wrong labels than the rest have, likewise
ORDINARY_QUANTILE = 0.3  # from least to most noisy: what is usual, though half of the domains be bad
BOUND = 1.4  # noise up to so many times the usual costs a row nothing
BOUND_CLASSES = 1.12  # the same for classes: 1/(1 − 2ε) at 5 % wrong labels
NATURE = float(np.log(2.0))  # log variance beyond the usual that a stratum may have everywhere
LEAST = 0.002  # what a row counts at the least
TELLING = (
    0.1  # of the classes' variance within domains, explained: below it wrong labels cannot be told from weak slopes
)
FEWEST = 3  # rows from which on a weight heeds them; claims need more
# Rows that are judged, at least. Of fewer labels, a share of wrong ones is a step function.
FEWEST_JUDGED = {"regression": MIN_ROWS, "classification": 20}
_ROUNDS = 20
FEWEST_OWN = 12  # rows from which on a domain may have slopes of its own
MOST_OWN = (
    0.5  # of its rows, the freedom of these slopes at the most: with more columns than rows nothing would be left
)

Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Levels:
    """Of each domain: how far its level, and its relation, differ from what the columns say."""

    offset: Array
    error: Array
    relation: Array
    relation_p: Array
    slack: Array
    """Half a row's part of the offset, where it goes in steps of one row."""


@dataclass(frozen=True, eq=False)
class NumberNoise:
    """Residuals of numbers, in the target's unit; `spent` are the degrees of freedom a row's domain spent on it."""

    residual: Array
    spent: Array
    weight: Array
    domain: Codes
    n_domains: int

    @property
    def by_domain(self) -> Scales:
        """The noise of every domain, however few its rows."""
        return self._scales(self.residual, self.domain, self.n_domains, FEWEST)

    @property
    def size(self) -> Array:
        """|r|/σ̃ of the row's domain."""
        usual = shrunk(self.by_domain)[self.domain]
        return np.abs(self.residual) / np.maximum(usual, 1e-300)

    def some(self, rows: NDArray[np.intp]) -> "NumberNoise":
        """Of some of the rows."""
        return NumberNoise(self.residual[rows], self.spent[rows], self.weight[rows], self.domain[rows], self.n_domains)

    def _scales(self, residual: Array, group: Codes, n_groups: int, fewest: int = MIN_ROWS) -> Scales:
        spent = np.bincount(group, self.weight * self.spent, n_groups)
        found = scales(residual, group, n_groups, spent, self.weight)
        few = np.bincount(group, self.weight > 0, n_groups) < fewest
        return Scales(found.noise, np.where(few, 0.0, found.freedom))

    def table(self, group: Codes, n_groups: int, *, relative: bool = False) -> pd.DataFrame:
        """Noise of each group and its ratio to the rest; `relative`, of residuals over the usual of their domain."""
        plain = self._scales(self.residual, group, n_groups)
        compared = plain
        if relative:
            usual = np.maximum(shrunk(self.by_domain)[self.domain], 1e-300)
            compared = self._scales(self.residual / usual, group, n_groups)
        count = np.bincount(group, self.weight, n_groups)
        judged = (compared.freedom > 0) & (compared.freedom.sum() - compared.freedom > 0)
        rest, _ = pooled(compared)
        low, high = interval(plain)
        ratio = np.where(judged & (rest > 0), compared.noise / np.where(rest > 0, rest, 1.0), np.nan)
        p = _corrected(exceeds(compared, WORTH_TELLING), judged)
        seen = plain.freedom > 0
        return pd.DataFrame(
            {
                "n": count,
                "noise": np.where(seen, plain.noise, np.nan),
                "low": np.where(seen, low, np.nan),
                "high": np.where(seen, high, np.nan),
                "ratio": ratio,
                "p": p,
                "judged": judged,
                "noisy": np.nan_to_num(p, nan=1.0) < NOISY,
            }
        )

    def _levels(self, stratum: Codes, n_strata: int) -> tuple[Array, Array, Array]:
        """log σ̃² of every cell less what its stratum has everywhere; that; and the rows of each cell."""
        shape = self.n_domains, n_strata
        own = 2 * np.log(np.maximum(shrunk(self.by_domain), 1e-300))
        place = self.domain * n_strata + stratum
        cell = self._scales(self.residual, place, self.n_domains * n_strata, FEWEST)
        log, variance = (value.reshape(shape) for value in log_variances(cell))
        beyond, nature = _deviations(log - own[:, None], variance, np.isfinite(log))
        return own[:, None] + beyond, nature, _sums(place, self.weight, shape)

    def misfit(self, missed: Array) -> float:
        r"""τ² = Σ_e n_e p_e (m_e² − σ̃_e²)/Σ_e n_e p_e, p_e = 1/(τ² + σ̃_e²), never negative.

        m_e is the size of `missed`, what models that never saw the domain leave of it: the variance by which they miss
        a domain, whatever its noise.
        """
        m2 = self._scales(missed, self.domain, self.n_domains, 1).noise ** 2
        noise2 = shrunk(self.by_domain) ** 2
        count = np.where(np.isfinite(m2 + noise2), np.bincount(self.domain, self.weight, self.n_domains), 0.0)
        excess = np.where(count > 0, m2 - noise2, 0.0)
        tau2 = _quantile(np.where(count > 0, m2, 0.0), count, ORDINARY_QUANTILE)
        for _ in range(_ROUNDS):
            trusted = count / np.maximum(tau2 + np.where(count > 0, noise2, 1.0), 1e-300)
            tau2 = max(float(trusted @ excess) / max(float(trusted.sum()), 1e-300), 0.0)
        return tau2

    def weights(self, stratum: Codes, n_strata: int, misfit: float = 0.0) -> Array:
        r"""(σ²_usual + τ²)/(σ̃²_ek + τ²) where that is below 1/1.4², else 1; τ² is the `misfit`.

        Noise matters for a new domain as far as it exceeds what any model misses there. What a stratum has in every
        domain is its nature, up to twice the usual variance: to weigh it down would take the stratum from the model.
        """
        level, nature, count = self._levels(stratum, n_strata)
        level = level + np.maximum(nature - _quantile(nature, count.sum(0), ORDINARY_QUANTILE) - NATURE, 0.0)
        usual = np.exp(_usual(level, count))
        worth = (usual + misfit) / np.maximum(np.exp(level) + misfit, 1e-300)
        return np.where(worth < BOUND**-2, np.maximum(worth, LEAST), 1.0)

    def precision(self, stratum: Codes, n_strata: int) -> Array:
        r"""min(1, (σ_usual/σ̃_ek)²)."""
        level, nature, count = self._levels(stratum, n_strata)
        level = level + nature
        return np.asarray(np.exp(np.minimum(_usual(level, count) - level, 0.0)))


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """Labels beside probabilities that know the domain's own prevalence.

    Where columns hardly tell the class (`clear` is false), weaker slopes and wrong labels look alike: nothing is said.
    """

    probability: Array
    label: NDArray[np.intp]
    weight: Array
    domain: Codes
    n_domains: int
    clear: bool

    @property
    def size(self) -> Array:
        """√(−2 log p) of the label given: as deviations of a normal would be."""
        given = self.probability[np.arange(len(self.label)), self.label]
        return np.asarray(np.sqrt(-2 * np.log(np.clip(given, 1e-12, 1.0))))

    def some(self, rows: NDArray[np.intp]) -> "LabelNoise":
        """Of some of the rows."""
        return replace(
            self,
            probability=self.probability[rows],
            label=self.label[rows],
            weight=self.weight[rows],
            domain=self.domain[rows],
        )

    def _turned(self, group: Codes, n_groups: int) -> Rates:
        found = turned(self.probability, self.label, group, n_groups, self.weight)
        few = (np.bincount(group, self.weight > 0, n_groups) < FEWEST_JUDGED["classification"]) | (not self.clear)
        return Rates(np.where(few, np.nan, found.rate), np.where(few, np.inf, found.variance))

    def table(self, group: Codes, n_groups: int, *, relative: bool = False) -> pd.DataFrame:  # noqa: ARG002 (as numbers)
        """The estimated share of wrong labels of each group, and how much it exceeds that of the rest."""
        found, rest = self._turned(group, n_groups), rest_of(self._turned(group, n_groups))
        judged = np.isfinite(found.rate) & np.isfinite(rest.rate)
        error = np.sqrt(np.where(np.isfinite(found.variance), found.variance, 1.0))
        excess = np.where(judged, found.rate - np.nan_to_num(rest.rate), np.nan)
        spread = np.sqrt(np.where(judged, found.variance + rest.variance, 1.0))
        p = _corrected(ndtr(-(np.nan_to_num(excess) - MANY_WRONG) / spread), judged)
        return pd.DataFrame(
            {
                "n": np.bincount(group, self.weight, n_groups),
                "noise": np.clip(found.rate, 0.0, 1.0),
                "low": np.clip(found.rate - 1.96 * error, 0.0, 1.0),
                "high": np.clip(found.rate + 1.96 * error, 0.0, 1.0),
                "ratio": excess,
                "p": p,
                "judged": judged,
                "noisy": np.nan_to_num(p, nan=1.0) < NOISY,
            }
        )

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

    def misfit(self, missed: Array) -> float:  # noqa: ARG002 (as numbers)
        """Nothing: what is wrong with labels does not depend on how well they are told."""
        return 0.0

    def weights(self, stratum: Codes, n_strata: int, misfit: float = 0.0) -> Array:  # noqa: ARG002 (as numbers)
        r"""((1 − Cε̃_ek/(C − 1))/(1 − Cε_usual/(C − 1)))² where that is below 1/1.12², else 1."""
        worth = self._worth(stratum, n_strata, nature=False)
        return np.where(worth < 1 / BOUND_CLASSES, np.maximum(worth**2, LEAST), 1.0)

    def precision(self, stratum: Codes, n_strata: int) -> Array:
        """The same without a bound, at most one."""
        return np.clip(self._worth(stratum, n_strata, nature=True) ** 2, LEAST, 1.0)


def _sums(place: Codes, weight: Array, shape: tuple[int, int]) -> Array:
    """The weight of the rows in each cell."""
    return np.asarray(np.bincount(place, weight, shape[0] * shape[1]), dtype=np.float64).reshape(shape)


Noise = NumberNoise | LabelNoise


def number_noise(problem: Problem, expected: Expected) -> tuple[NumberNoise, Levels]:
    r"""Residuals less a level and a line of every domain's own, shrunk by cross-validation; wild ones drawn in before.

    The offset is the mean of y − f(x), f fitted to all domains with an intercept each: a level that its columns do not
    explain. The relation is the share of the variance that the line takes away.

    >>> x = np.tile(np.linspace(0, 1, 100), 2)[:, None]
    >>> domain = np.repeat([0, 1], 100)
    >>> some = Problem(x, x[:, 0] + 5 * domain, domain, 2, 0, np.ones(200))
    >>> number_noise(some, Expected(x[:, 0], x[:, 0], np.ones(1)))[1].offset.tolist()
    [0.0, 5.0]
    """
    y, e, w = problem.y, problem.domain, problem.weight
    first = y - expected.value
    plain = y - expected.plain
    residual, spent = first.copy(), np.zeros(len(y))
    relation, chance = np.zeros(problem.n_domains), np.ones(problem.n_domains)
    offset, centred = np.zeros(problem.n_domains), first.copy()
    order = np.argsort(e, kind="stable")
    ends = np.cumsum(np.bincount(e, minlength=problem.n_domains))
    for d, rows in enumerate(np.split(order, ends[:-1])):
        rows = rows[w[rows] > 0]
        n = float(w[rows].sum())
        if len(rows) == 0:
            continue
        drawn = _drawn_in(first[rows])
        offset[d] = np.average(_drawn_in(plain[rows]), weights=w[rows])
        centred[rows] = first[rows] - np.average(drawn, weights=w[rows])
        if len(rows) < FEWEST_OWN or problem.n_domains == 1:
            middle = np.average(drawn, weights=w[rows])
            residual[rows] -= middle
            used = 1.0
        else:
            line = gcv_ridge(problem.X[rows], drawn, w[rows], most=MOST_OWN)
            value = line(problem.X[rows])
            residual[rows] -= value
            used = min(line.freedom, n / 2)
            total, left = n * float(np.var(drawn)), float(w[rows] @ (drawn - value) ** 2)
            if used > 1.01 and total > 0:
                relation[d] = max(0.0, 1 - (left / max(n - used, 1.0)) / (total / max(n - 1, 1.0)))
                ratio = max(total - left, 0.0) / (used - 1) / max(left / max(n - used, 1.0), 1e-300)
                chance[d] = float(fdtrc(used - 1, max(n - used, 1.0), ratio))
        spent[rows] = used / max(n, 1.0)
    count = np.bincount(e, w, problem.n_domains)
    # The spread of a few rows is no measure of how sure their mean is: drawn towards that of all domains.
    spread = shrunk(scales(centred, e, problem.n_domains, np.ones(problem.n_domains), w))
    error = np.where(count > 0, spread / np.sqrt(np.maximum(count, 1e-300)), np.inf)
    levels = Levels(offset, error, relation, chance, np.zeros(problem.n_domains))
    return NumberNoise(residual, spent, w, e, problem.n_domains), levels


def label_noise(problem: Problem, expected: Expected) -> tuple[LabelNoise, Levels]:
    """Probabilities recalibrated with log odds of every domain's own, so that prevalence is an offset and no noise.

    The offset of a domain is the mean of label less probability of the class for which that is largest.
    """
    y, e, w = problem.y.astype(np.intp), problem.domain, problem.weight
    p, _ = recalibrated(expected.value, y, e, problem.n_domains, w)
    truth = np.zeros_like(p)
    truth[np.arange(len(y)), y] = 1.0
    # Without the domains' own log odds, for what a domain's level is beyond its columns.
    plain, _ = recalibrated(expected.value, y, np.zeros_like(e), 1, w)
    count = np.bincount(e, w, problem.n_domains)
    mass = np.where(count > 0, count, 1.0)
    gap = np.stack([np.bincount(e, w * column, problem.n_domains) for column in (truth - plain).T], 1) / mass[:, None]
    spread = np.stack([np.bincount(e, w * q * (1 - q), problem.n_domains) for q in plain.T], 1) / mass[:, None] ** 2
    most = (
        np.zeros(problem.n_domains, np.intp) + 1 if p.shape[1] == 2 else np.abs(gap / np.sqrt(spread + 1e-12)).argmax(1)
    )
    every = np.arange(problem.n_domains)
    levels = Levels(
        gap[every, most],
        np.where(count > 0, np.sqrt(np.maximum(spread[every, most], 1e-12)), np.inf),
        *_other_relation(problem, p, truth),
        0.5 / mass,
    )
    middle = np.stack([np.bincount(e, w * q, problem.n_domains) for q in p.T], 1) / mass[:, None]
    told = float(w @ ((p - middle[e]) ** 2).sum(1)) / max(float(w @ (middle * (1 - middle)).sum(1)[e]), 1e-300)
    return LabelNoise(p, y, w, e, problem.n_domains, told >= TELLING), levels


def _other_relation(problem: Problem, p: Array, truth: Array) -> tuple[Array, Array]:
    """Of each domain the share of its residual variance that slopes of its own explain, and its p.

    Wrong labels bend all slopes by one factor, another prevalence shifts them: residuals along 1 − Cp_c and p_c p_k.
    Only what slopes explain beyond that says that the columns mean something else there.
    """
    share, chance = np.zeros(problem.n_domains), np.ones(problem.n_domains)
    if problem.n_domains == 1:
        return share, chance
    classes = p.shape[1]
    order = np.argsort(problem.domain, kind="stable")
    ends = np.cumsum(np.bincount(problem.domain, minlength=problem.n_domains))
    for d, rows in enumerate(np.split(order, ends[:-1])):
        rows = rows[problem.weight[rows] > 0]
        if len(rows) < 2 * FEWEST_OWN:
            continue
        ps = []
        for c in range(1 if classes == 2 else 0, classes):
            q = p[rows, c]
            spread = np.sqrt(np.maximum(q * (1 - q), 1e-4))
            bent = np.column_stack([np.ones(len(rows)), 1 - classes * q, q[:, None] * p[rows]]) / spread[:, None]
            x = (problem.X[rows] - problem.X[rows].mean(0)) / spread[:, None]
            basis, _ = np.linalg.qr(bent)
            left = (truth[rows, c] - q) / spread
            left = left - basis @ (basis.T @ left)
            x = x - basis @ (basis.T @ x)
            line = gcv_ridge(x, left, problem.weight[rows], most=MOST_OWN)
            used, n = line.freedom - 1, len(rows)
            total, rest = float(left @ left), float(((left - line(x)) ** 2).sum())
            if used < 0.01 or total <= 0:
                continue
            ratio = max(total - rest, 0.0) / used / max(rest / max(n - len(bent.T) - used, 1.0), 1e-300)
            ps.append(float(fdtrc(used, max(n - len(bent.T) - used, 1.0), ratio)))
            share[d] = max(
                share[d], 1 - (rest / max(n - len(bent.T) - used, 1.0)) / (total / max(n - len(bent.T), 1.0))
            )
        chance[d] = min([1.0, *(len(ps) * one for one in ps)])
    return share, _corrected(chance, np.ones(problem.n_domains, dtype=bool))


def _drawn_in(values: Array) -> Array:
    """Values with the wild ones at 2.5 deviations (by the median)."""
    centre = float(np.median(values))
    scale = float(np.median(np.abs(values - centre))) / 0.6745
    if scale == 0:
        scale = float(np.std(values))
    return np.clip(values, centre - CLIP * scale, centre + CLIP * scale)


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
    return min(_quantile(level, count, ORDINARY_QUANTILE), _quantile(own, np.ones_like(own), ORDINARY_QUANTILE))


def _quantile(level: Array, count: Array, q: float) -> float:
    """The level below which a share q of the rows lies."""
    order = np.argsort(level, axis=None, kind="stable")
    below = np.cumsum(count.ravel()[order])
    return float(level.ravel()[order[np.searchsorted(below, q * below[-1])]])


def _corrected(p: Array, judged: NDArray[np.bool_]) -> Array:
    """Holm's correction among those that were judged; NaN for the others."""
    found = holm([float(value) if there else None for value, there in zip(p, judged, strict=True)])
    return np.array([np.nan if value is None else value for value in found])
