"""Features that mean something else in other domains: how much, where, and how sure."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rpo.functional.heterogeneity import Heterogeneity, heterogeneity
from rpo.functional.ridge import Array
from rpo.functional.turned import recalibrated
from rpo.judging.residuals import Expected, Problem, out_of_row
from rpo.progress import Show

SHARE = 0.06  # of the residuals' variance: curves, products and real tables stay below .04, confounders are above .1
FURTHER = 0.03  # the same once a feature was found: what one confounder explains, a second of its kind hardly adds to
CHANCE = 0.001
NOTHING = 1e-4  # of the target's deviation: what is left below it is rounding and shrinkage, and has any slope
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
    problem: Problem, expected: Expected, trust: Callable[[Expected], Array], progress: Show = False
) -> Suspicion:
    """The feature whose slopes of the residual differ most goes first; the rest is looked at again without it.

    A feature is flagged if slopes of the domains' own explain more than 6 % of the residuals' variance (3 % once there
    is a first), with p < .001 divided by the number of features. `trust` says how much each row tells, so that noise
    does not hide a difference.
    """
    d = problem.X.shape[1]
    share, p = np.zeros(d), np.ones(d)
    slope, error = np.full((problem.n_domains, d), np.nan), np.full((problem.n_domains, d), np.nan)
    left, flagged, weight = np.arange(d), list[int](), trust(expected)
    while problem.n_domains > 1 and not _explained(problem, expected):
        found = _heterogeneity(replace(problem, X=problem.X[:, left]), expected, weight)
        share[left], p[left] = found.share, found.p
        slope[:, left], error[:, left] = found.slope, np.sqrt(found.variance)
        sure = np.where(found.p < CHANCE / d, found.share, 0.0)
        worst = int(sure.argmax())
        if sure[worst] <= (FURTHER if flagged else SHARE) or len(flagged) == MOST:
            break
        flagged.append(int(left[worst]))
        left = np.delete(left, worst)
        if len(left) == 0:
            break
        expected = out_of_row(replace(problem, X=problem.X[:, left]), weight, progress)
        weight = trust(expected)
    return Suspicion(share, p, slope, error, tuple(flagged))


def _explained(problem: Problem, expected: Expected) -> bool:
    """Whether the columns explain a number but for rounding: then there is nothing left for a slope to explain."""
    if problem.n_classes:
        return False
    w = problem.weight

    def variance(of: Array) -> float:
        return float(np.average((of - np.average(of, weights=w)) ** 2, weights=w))

    return variance(problem.y - expected.value) <= NOTHING**2 * variance(problem.y)


def _heterogeneity(problem: Problem, expected: Expected, weight: Array) -> Heterogeneity:
    """The largest share of each feature: over classes, and by weights as they are and relative to the domain's best.

    A confounder makes whole domains look noisy, those that it follows less; weights of domains would hide it.
    """
    best = np.zeros(problem.n_domains)
    np.maximum.at(best, problem.domain, weight)
    relative = weight / np.maximum(best, 1e-300)[problem.domain]
    if problem.n_classes:
        label = problem.y.astype(np.intp)
        # With log odds of every domain's own: another prevalence bends all slopes, and makes no feature suspicious.
        p, _ = recalibrated(expected.value, label, problem.domain, problem.n_domains, problem.weight)
        residuals = list((np.eye(problem.n_classes)[label] - p).T[1 if problem.n_classes == 2 else 0 :])
    else:
        residuals = [problem.y - expected.value]
    every = [
        # Squared: rows that count half as much in a fit say a quarter here, for it is their noise that hides slopes.
        heterogeneity(one, problem.X, problem.domain, problem.n_domains, problem.weight, trust**2)
        for one in residuals
        for trust in ((weight, relative) if (relative != weight).any() else (weight,))
    ]
    most = np.stack([one.share for one in every]).argmax(0)
    column = np.arange(problem.X.shape[1])
    return Heterogeneity(
        np.stack([one.share for one in every])[most, column],
        np.minimum(1.0, len(every) * np.stack([one.p for one in every])[most, column]),
        np.stack([one.slope for one in every])[most, :, column].T,
        np.stack([one.variance for one in every])[most, :, column].T,
    )


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
