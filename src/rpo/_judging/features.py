"""Features that mean something else in other domains: how much, where, and how sure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from rpo._io import Show
from rpo._judging.noise import ORDINARY_QUANTILE
from rpo._learners.crossfit import Expected, Problem, cross_predict, out_of_row
from rpo._mapped import blocks
from rpo._stats.heterogeneity import Heterogeneity, heterogeneity
from rpo._stats.ridge import Array
from rpo._stats.turned import recalibrated
from rpo.grouping.folds import content

SHARE = 0.06  # of the residuals' variance: curves, products and real tables stay below .04, confounders are above .1
FURTHER = 0.02  # the same once a feature was found: what one confounder explains, a second of its kind hardly adds to
CHANCE, CHANCE_FURTHER = 0.001, 0.01
AGREES = 0.01  # the p that a fit which knows the noise must have, too
NOTHING = 1e-4  # of the target's deviation: what is left below it is rounding and shrinkage, and has any slope
CLEARER = 0.5  # where some rows say less than half of others, a fit that knows it sees more clearly
TREES, LEAF, ROWS = 30, 5, 1_000  # trees of the residuals' size, and the rows that each sees at most
FAR = 2.5  # times the usual size: what differs by less may be the very difference that is looked for
MOST = 10  # looked for one after another, each with a new fit


@dataclass(frozen=True, eq=False)
class Suspicion:
    """Each feature's share and p at the moment it was flagged, or at the end; the flagged ones in the order found."""

    share: Array
    p: Array
    slope: Array
    error: Array
    flagged: tuple[int, ...]


def suspicious(
    problem: Problem, fits: list[Expected], trust: Callable[[Expected], Array], progress: Show = False
) -> Suspicion:
    """The feature whose slopes of the residual differ most goes first; the rest is looked at again without it.

    A feature is flagged if slopes of the domains' own explain more than 6 % of the residuals' variance (2 % once there
    is a first), with p < .001 (then .01) divided by the number of features. `trust` says how much each row tells, so
    that noise does not hide a difference. Of the `fits` some know it and some do not (`with_trust`): of a confounder
    the former show more where nothing is noisy, and less where much is, for then they follow the clean rows closely.
    But they must show it with p < .01: a fit that noisy rows have pulled off course misses whole domains along a
    feature.
    """
    d = problem.X.shape[1]
    share, p = np.zeros(d), np.ones(d)
    slope, error = np.full((problem.n_domains, d), np.nan), np.full((problem.n_domains, d), np.nan)
    left, flagged = np.arange(d), list[int]()
    while problem.n_domains > 1 and not _explained(problem, fits[-1]):
        chance = (CHANCE_FURTHER if flagged else CHANCE) / d
        found = _heterogeneity(replace(problem, X=problem.X[:, left]), fits, trust(fits[-1]), chance)
        share[left], p[left] = found.share, found.p
        slope[:, left], error[:, left] = found.slope, np.sqrt(found.variance)
        sure = np.where(found.p < chance, found.share, 0.0)
        worst = int(sure.argmax())
        if sure[worst] <= (FURTHER if flagged else SHARE) or len(flagged) == MOST:
            break
        flagged.append(int(left[worst]))
        left = np.delete(left, worst)
        if not varies(problem.X[:, left]):
            break
        rest = replace(problem, X=problem.X[:, left])
        fits = with_trust(rest, out_of_row(rest, None, progress), trust, progress)
    return Suspicion(share, p, slope, error, tuple(flagged))


def varies(columns: Array) -> bool:
    """Whether any two rows differ.

    >>> varies(np.array([[1.0, 2.0], [1.0, 2.0]])), varies(np.array([[1.0, 2.0], [1.0, 3.0]])), varies(np.empty((2, 0)))
    (False, True, False)
    """
    return bool((columns != columns[:1]).any())


def with_trust(
    problem: Problem, expected: Expected, trust: Callable[[Expected], Array], progress: Show = False
) -> list[Expected]:
    """A fit, and one that knows how much its rows tell where that is uneven."""
    weight = trust(expected)
    return [expected, out_of_row(problem, weight, progress)] if weight.min() < CLEARER else [expected]


def _explained(problem: Problem, expected: Expected) -> bool:
    """Whether the columns explain a number but for rounding: then there is nothing left for a slope to explain."""
    if problem.n_classes:
        return False
    w = problem.weight

    def variance(of: Array) -> float:
        return float(np.average((of - np.average(of, weights=w)) ** 2, weights=w))

    return variance(problem.y - expected.value) <= NOTHING**2 * variance(problem.y)


def _heterogeneity(problem: Problem, fits: list[Expected], weight: Array, chance: float) -> Heterogeneity:
    """The largest share of each feature, of those that are sure if any is: over fits, classes, and how far rows are
    trusted: by weights as they are, relative to the domain's best, and by the noise where the row lies.

    A confounder makes whole domains look noisy, those that it follows less; weights of domains would hide it. And noise
    need not keep to the strata that were found.
    """
    best = np.zeros(problem.n_domains)
    np.maximum.at(best, problem.domain, weight)
    relative = weight / np.maximum(best, 1e-300)[problem.domain]
    known = [weight, relative] if (relative != weight).any() else [weight]
    asked = [
        (residual, trust, fit is fits[-1]) for fit in fits for residual in _residuals(problem, fit) for trust in known
    ]
    if not problem.n_classes and len(fits) > 1:
        plain = problem.y - fits[0].value
        asked.append((plain, _trust_by_place(problem, np.abs(plain)), False))
    every = [
        # Squared: rows that count half as much in a fit say a quarter here, for it is their noise that hides slopes.
        heterogeneity(residual, problem.X, problem.domain, problem.n_domains, problem.weight, trust**2)
        for residual, trust, _ in asked
    ]
    share = np.stack([one.share for one in every])
    p_value = np.minimum(1.0, len(every) * np.stack([one.p for one in every]))
    knowing = np.min([one.p for one, (_, _, last) in zip(every, asked, strict=True) if last], axis=0)
    p_value = np.where(knowing < AGREES, p_value, np.maximum(p_value, knowing))
    most = (share + (p_value < chance)).argmax(0)  # a share is below one
    column = np.arange(problem.X.shape[1])
    return Heterogeneity(
        share[most, column],
        p_value[most, column],
        np.stack([one.slope for one in every])[most, :, column].T,
        np.stack([one.variance for one in every])[most, :, column].T,
    )


def _residuals(problem: Problem, expected: Expected) -> list[Array]:
    """What a fit leaves; of classes, with log odds of every domain's own, one for each class but the first of two.

    Another prevalence bends all slopes, and makes no feature suspicious.
    """
    if not problem.n_classes:
        return [problem.y - expected.value]
    label = problem.y.astype(np.intp)
    p, _ = recalibrated(expected.value, label, problem.domain, problem.n_domains, problem.weight)
    return list((np.eye(problem.n_classes)[label] - p).T[1 if problem.n_classes == 2 else 0 :])


def _trust_by_place(problem: Problem, size: Array) -> Array:
    r"""(s/ŝ(x, e))² where ŝ > 2.5 s, else 1: ŝ what trees that did not see the row say of the residual's size, s its
    usual value."""
    where = np.column_stack([problem.X, problem.domain])
    order = np.argsort(content((where[some] for some in blocks(len(where))), salt=2), kind="stable")

    def fit(seen: NDArray[np.intp], _: int) -> Any:
        seen = seen[:ROWS]
        trees = ExtraTreesRegressor(TREES, min_samples_leaf=LEAF, max_features=1.0, random_state=0)
        return trees.fit(where[seen], size[seen], problem.weight[seen])

    rows = order[problem.weight[order] > 0]
    expected = cross_predict(fit, lambda trees, held: trees.predict(where[held]), problem.folds(), rows)
    usual = np.quantile(expected, ORDINARY_QUANTILE)
    return np.asarray(np.where(expected > FAR * usual, (usual / np.maximum(expected, 1e-300)) ** 2, 1.0))


def features_table(names: list[str], columns: list[str], found: Suspicion, domains: list[str]) -> pd.DataFrame:
    """One row per feature, suspicious ones first: its column, share, p, and the domains of the extreme slopes."""
    known = np.isfinite(found.slope)
    some = known.any(0)
    low = np.where(known, found.slope, np.inf).argmin(0)
    high = np.where(known, found.slope, -np.inf).argmax(0)
    column = np.arange(len(names))
    label = np.asarray(domains, dtype=object)
    table = pd.DataFrame(
        {
            "feature": names,
            "column": columns,
            "share": found.share,
            "p": found.p,
            "suspicious": np.isin(column, found.flagged),
            "lowest": np.where(some, found.slope[low, column], np.nan),
            "lowest_domain": np.where(some, label[low], None),
            "highest": np.where(some, found.slope[high, column], np.nan),
            "highest_domain": np.where(some, label[high], None),
        }
    )
    return table.sort_values(["suspicious", "share"], ascending=False, kind="stable", ignore_index=True)
