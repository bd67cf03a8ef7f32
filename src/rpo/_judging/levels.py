"""A domain's level and relation, taken out of what is left of its rows, so that a shift is no noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from rpo._judging.noise import LabelNoise, Noise, NumberNoise, corrected
from rpo._learners.crossfit import Expected, Problem, one_hot, sample_by_domain
from rpo._stats.ridge import Array, gcv_ridge
from rpo._stats.scale import CLIP, scales
from rpo._stats.turned import Recalibration, recalibrated, recalibration

TELLING = (
    0.1  # of the classes' variance within domains, explained: below it wrong labels cannot be told from weak slopes
)
ADDED = 20.0  # rows of the common spread beside a domain's own, for how sure its level is
FEWEST_OWN = 12  # rows from which on a domain may have slopes of its own
MOST_OWN = (
    0.5  # of its rows, the freedom of these slopes at the most: with more columns than rows nothing would be left
)


@dataclass(frozen=True, eq=False)
class OwnLines:
    """Of each domain of a regression, what was taken off its residuals, so that it can be taken off other rows too."""

    bounds: Array
    """`(E, 2)`: residuals beyond are drawn in to these."""
    plain_bounds: Array
    """The same of residuals before the domain's level."""
    centre: Array
    """The mean of the residuals, drawn in."""
    coef: Array
    intercept: Array
    straight: NDArray[np.bool_]
    """Whether it has slopes of its own, and not a level alone."""
    used: Array
    """Degrees of freedom."""
    rows: Array
    """How many rows told it."""

    @classmethod
    def empty(cls, domains: int, columns: int) -> "OwnLines":
        """None taken off yet."""
        zero = np.zeros(domains)
        wide = np.tile([-np.inf, np.inf], (domains, 1))
        coef, none = np.zeros((domains, columns)), np.zeros(domains, dtype=bool)
        return cls(wide, wide.copy(), zero, coef, zero.copy(), none, zero.copy(), zero.copy())


@dataclass(frozen=True, eq=False)
class Levels:
    """Of each domain: how far its level, and its relation, differ from what the columns say."""

    offset: Array
    error: Array
    relation: Array
    relation_p: Array
    slack: Array
    """Half a row's part of the offset, where it goes in steps of one row."""
    freedom: Array
    """How many rows tell the error."""
    sampled: Array
    """How many rows the models saw."""
    lines: OwnLines | None = None
    """Of a regression."""
    recalibration: tuple[Recalibration, Recalibration] | None = None
    """Of classes: with log odds of every domain's own, and with common ones."""


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
    residual, apart, spent = first.copy(), first.copy(), np.zeros(len(y))
    relation, chance = np.zeros(problem.n_domains), np.ones(problem.n_domains)
    offset, centred = np.zeros(problem.n_domains), first.copy()
    lines = OwnLines.empty(problem.n_domains, problem.X.shape[1])
    for d, rows in enumerate(_rows_by_domain(problem)):
        n = float(w[rows].sum())
        if len(rows) == 0:
            continue
        lines.bounds[d], lines.plain_bounds[d], lines.rows[d] = _reach(first[rows]), _reach(plain[rows]), n
        drawn = np.clip(first[rows], *lines.bounds[d])
        offset[d] = np.average(np.clip(plain[rows], *lines.plain_bounds[d]), weights=w[rows])
        middle = lines.centre[d] = lines.intercept[d] = np.average(drawn, weights=w[rows])
        centred[rows] = first[rows] - middle
        if len(rows) < FEWEST_OWN or problem.n_domains == 1:
            residual[rows] -= middle
            used = 1.0
        else:
            line = gcv_ridge(problem.X[rows], drawn, w[rows], most=MOST_OWN)
            lines.coef[d], lines.intercept[d], lines.straight[d] = line.coef, line.intercept, True
            value = line(problem.X[rows])
            residual[rows] -= value
            apart[rows] = residual[rows]
            used = min(line.freedom, n / 2)
            total, left = n * float(np.var(drawn)), float(w[rows] @ (drawn - value) ** 2)
            if used > 1.01 and total > 0:
                relation[d] = max(0.0, 1 - (left / max(n - used, 1.0)) / (total / max(n - 1, 1.0)))
                ratio = max(total - left, 0.0) / (used - 1) / max(left / max(n - used, 1.0), 1e-300)
                chance[d] = float(fdtrc(used - 1, max(n - used, 1.0), ratio))
        spent[rows], lines.used[d] = used / max(n, 1.0), used
    error, freedom = level_errors(centred, e, problem.n_domains, w)
    sampled = _sampled(problem)
    error = error * np.sqrt(unsure(np.bincount(e, w, problem.n_domains), sampled))
    levels = Levels(offset, error, relation, chance, np.zeros(problem.n_domains), freedom, sampled, lines)
    return NumberNoise(residual, apart, spent, w, e, problem.n_domains), levels


def unsure(rows: NDArray[Any], sampled: Array) -> Array:
    """n/m: how much larger the variance of a mean over n rows is if it is known as m rows of a sample tell it.

    A sample's models are a little off, and a domain in which they are would look shifted, and its labels wrong, ever
    more surely the more rows are looked at. How far off they are, the sample's rows alone can tell.

    >>> unsure(np.array([100.0, 50.0]), np.array([10.0, 50.0])).tolist()
    [10.0, 1.0]
    """
    return np.asarray(np.maximum(rows / np.maximum(sampled, 1.0), 1.0))


def _sampled(problem: Problem) -> Array:
    """How much the rows of each domain count that models see."""
    seen = problem.weight * sample_by_domain(problem)
    return np.asarray(np.bincount(problem.domain, seen, problem.n_domains), dtype=np.float64)


def level_errors(centred: Array, domain: NDArray[np.intp], n_domains: int, weight: Array) -> tuple[Array, Array]:
    """How sure the level of each domain is, from residuals about it, and how many rows tell that.

    >>> level_errors(np.tile([-1.0, 1.0], 50), np.zeros(100, np.intp), 1, np.ones(100))[0].round(2)
    array([0.1])
    """
    count = np.bincount(domain, weight, n_domains)
    # The spread of a few rows is no measure of how sure their mean is: twenty rows of all domains are added.
    one = np.ones(n_domains)
    own = np.nan_to_num(scales(centred, domain, n_domains, one, weight).noise) ** 2
    every = float(scales(centred, np.zeros_like(domain), 1, [float((count > 0).sum())], weight).noise[0]) ** 2
    spread = np.sqrt((np.maximum(count - 1, 0) * own + ADDED * every) / (np.maximum(count - 1, 0) + ADDED))
    error = np.where(count > 0, spread / np.sqrt(np.maximum(count, 1e-300)), np.inf)
    return error, np.maximum(count - 1, 0) + ADDED


def noise_of(problem: Problem, expected: Expected) -> Noise:
    """The noise of rows once the level and the relation of their domain are taken out."""
    return label_noise(problem, expected) if problem.n_classes else number_noise(problem, expected)[0]


def noise_and_levels(problem: Problem, expected: Expected) -> tuple[Noise, Levels]:
    """The noise of rows, and level and relation of every domain."""
    if not problem.n_classes:
        return number_noise(problem, expected)
    noise = label_noise(problem, expected)
    return noise, _levels_of_labels(problem, expected, noise.probability)


def label_noise(problem: Problem, expected: Expected) -> LabelNoise:
    """Probabilities recalibrated with log odds of every domain's own, so that prevalence is an offset and no noise."""
    y, e, w = problem.y.astype(np.intp), problem.domain, problem.weight
    p, _ = recalibrated(expected.value, y, e, problem.n_domains, w)
    count = np.bincount(e, w, problem.n_domains)
    mass = np.where(count > 0, count, 1.0)
    middle = np.stack([np.bincount(e, w * q, problem.n_domains) for q in p.T], 1) / mass[:, None]
    told = float(w @ ((p - middle[e]) ** 2).sum(1)) / max(float(w @ (middle * (1 - middle)).sum(1)[e]), 1e-300)
    return LabelNoise(p, y, w, e, problem.n_domains, told >= TELLING)


def _levels_of_labels(problem: Problem, expected: Expected, p: Array) -> Levels:
    """The offset of a domain is the mean of label less probability of the class for which that is largest.

    `p` are the probabilities with log odds of every domain's own.
    """
    y, e, w = problem.y.astype(np.intp), problem.domain, problem.weight
    truth = one_hot(y, p.shape[1])
    own_odds = recalibration(expected.value, y, e, problem.n_domains, w)
    # Without the domains' own log odds, for what a domain's level is beyond its columns.
    common_odds = recalibration(expected.value, y, np.zeros_like(e), 1, w)
    plain = common_odds(expected.value, np.zeros_like(e))
    gap = np.stack([np.bincount(e, w * column, problem.n_domains) for column in (truth - plain).T], 1)
    spread = np.stack([np.bincount(e, w * q * (1 - q), problem.n_domains) for q in plain.T], 1)
    relation = _other_relation(problem, p, truth)
    count = np.bincount(e, w, problem.n_domains)
    return label_levels(count, gap, spread, *relation, _sampled(problem), (own_odds, common_odds))


def label_levels(
    count: NDArray[Any],
    gap: NDArray[Any],
    spread: NDArray[Any],
    relation: Array,
    relation_p: Array,
    sampled: Array,
    recalibration: tuple[Recalibration, Recalibration] | None = None,
) -> Levels:
    """Levels of domains from sums over their rows: of label less probability, and of p(1 − p), `(E, C)` each."""
    mass = np.where(count > 0, count, 1.0)
    gap, spread = gap / mass[:, None], spread * unsure(count, sampled)[:, None] / mass[:, None] ** 2
    most = np.ones(len(mass), np.intp) if gap.shape[1] == 2 else np.abs(gap / np.sqrt(spread + 1e-12)).argmax(1)
    every = np.arange(len(mass))
    return Levels(
        gap[every, most],
        np.where(count > 0, np.sqrt(np.maximum(spread[every, most], 1e-12)), np.inf),
        relation,
        relation_p,
        0.5 / mass,
        np.full(len(mass), 1e9),
        sampled,
        recalibration=recalibration,
    )


def _other_relation(problem: Problem, p: Array, truth: Array) -> tuple[Array, Array]:
    """Of each domain the share of its residual variance that slopes of its own explain, and its p.

    Wrong labels bend all slopes by one factor, another prevalence shifts them: residuals along 1 − Cp_c and p_c p_k.
    Only what slopes explain beyond that says that the columns mean something else there.
    """
    share, chance = np.zeros(problem.n_domains), np.ones(problem.n_domains)
    if problem.n_domains == 1:
        return share, chance
    classes = p.shape[1]
    for d, rows in enumerate(_rows_by_domain(problem)):
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
    return share, corrected(chance, np.ones(problem.n_domains, dtype=bool))


def _rows_by_domain(problem: Problem) -> list[NDArray[np.intp]]:
    """Return the places of the rows of each domain that count."""
    order = np.argsort(problem.domain, kind="stable")
    order = order[problem.weight[order] > 0]
    ends = np.cumsum(np.bincount(problem.domain[order], minlength=problem.n_domains))
    return np.split(order, ends[:-1])


def _reach(values: Array) -> tuple[float, float]:
    """2.5 deviations (by the median) from the median, where wild values are drawn in to."""
    centre = float(np.median(values))
    scale = float(np.median(np.abs(values - centre))) / 0.6745
    if scale == 0:
        scale = float(np.std(values))
    return centre - CLIP * scale, centre + CLIP * scale
