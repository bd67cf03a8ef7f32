"""The judgement as data frames: domains, strata, cells, rows to look at first, slopes of suspicious features.

And how many rows repeat others: they make everything look surer than it is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from rpo._judging.features import Suspicion
from rpo._judging.levels import Levels
from rpo._judging.noise import LabelNoise, Noise, corrected
from rpo._learners.crossfit import Expected, Problem, squared_errors
from rpo._mapped import blocks
from rpo._stats.ridge import Array
from rpo._stats.significance import SURE
from rpo._table.columns import names_of
from rpo._table.table import Table
from rpo.functional.statistics import MIN_ROWS
from rpo.grouping.folds import content
from rpo.grouping.strata import NamedStrata

SCARCE = 0.5  # of an even share: below it, a domain or a stratum is scarce
OTHER_RELATION = 0.1  # of a domain's residual variance, explained by slopes of its own
MOST_ROWS = 100  # rows to look at first
FEWEST_COPIES, SHARE_OF_COPIES = 10, 0.01  # rows, and their share, from which on copies are told
_NEARLY = 0.9  # of the rows that share their columns with another share the target, too
_TELLING = 0.5  # of the different rows, the different values of one column: chance does not repeat such rows


def overall(domains: pd.DataFrame) -> float:
    """The share of wrong labels in all domains that were judged; NaN if none was."""
    known = domains[domains["judged"]]
    return float(np.average(known["noise"], weights=known["n"])) if len(known) else float("nan")


def domains_table(
    noise: Noise,
    levels: Levels,
    novelty: Array,
    rows: NDArray[Any],
    held_out: Array,
    weight: Array,
    names: NDArray[Any],
) -> pd.DataFrame:
    """One row per domain: level, relation, novelty, noise, the error of models that never saw it, mean weight.

    `rows` says how many rows of each domain count.
    """
    n = len(names)
    table = noise.table(noise.domain, n)
    several = n > 1
    enough = rows >= MIN_ROWS
    offset = np.where(several & np.isfinite(levels.error), levels.offset, np.nan)
    known = np.isfinite(offset) & (levels.error > 0) & enough
    beyond = np.maximum(np.abs(np.where(known, offset, 0.0)) - levels.slack, 0.0)
    p_offset = np.where(known, 2 * stdtr(levels.freedom, -beyond / np.where(known, levels.error, 1.0)), np.nan)
    p_offset = corrected(p_offset, known)
    p_relation = corrected(levels.relation_p, table["judged"].to_numpy())
    made = pd.DataFrame(
        {
            "domain": names,
            "n": _whole(table["n"].to_numpy()),
            "offset": offset,
            "offset_low": offset - 1.96 * levels.error,
            "offset_high": offset + 1.96 * levels.error,
            "offset_p": p_offset,
            "shifted": np.nan_to_num(p_offset, nan=1.0) < SURE,
            "relation": np.where(table["judged"], levels.relation, np.nan),
            "relation_p": p_relation,
            "differs": (np.nan_to_num(p_relation, nan=1.0) < SURE)
            & (levels.relation > OTHER_RELATION)
            & ~(table["noisy"].to_numpy() & isinstance(noise, LabelNoise)),
            "novelty": novelty if several else np.nan,
            **{name: table[name] for name in ("noise", "low", "high", "ratio", "p", "judged", "noisy")},
            "scarce": table["n"] < SCARCE * table["n"].mean(),
            "held_out": held_out,
            "weight": weight,
        }
    )
    return _ranked(made)


def mean_weight(noise: Noise, weight: Array) -> Array:
    """The mean weight of the rows of each domain."""
    mass = np.maximum(np.bincount(noise.domain, noise.weight, noise.n_domains), 1e-300)
    return np.asarray(np.bincount(noise.domain, noise.weight * weight, noise.n_domains) / mass)


def novelty_of(problem: Problem) -> Array:
    """How many deviations a domain's columns lie from the others'."""
    e, n, w = problem.domain, problem.n_domains, problem.weight
    sums = np.stack([np.bincount(e, w * column, n) for column in problem.X.T], 1)
    squares = np.stack([np.bincount(e, w * column**2, n) for column in problem.X.T], 1)
    return novelty(np.bincount(e, w, n), sums, squares, problem.X.var(0))


def novelty(count: NDArray[Any], sums: NDArray[Any], squares: NDArray[Any], variance: Array) -> Array:
    r"""√mean_j max(0, d_ej² − 1/n_e − 1/n_rest), from sums of columns and of their squares by domain, `(E, d)`.

    >>> novelty(np.array([50.0, 50.0]), np.array([[0.0], [50.0]]), np.array([[50.0], [100.0]]), np.ones(1)).round(2)
    array([0.98, 0.98])
    """
    rest = np.maximum(count.sum() - count, 1e-300)
    total = np.zeros(len(count))
    for one, square, spread in zip(sums.T, squares.T, variance, strict=True):
        mean = one / np.maximum(count, 1e-300)
        other = (one.sum() - one) / rest
        beside = np.maximum((square.sum() - square) / rest - other**2, 0.0)
        scale = np.maximum(beside, 1e-12 * max(float(spread), 1e-300))
        total += np.clip((mean - other) ** 2 / scale - 1 / np.maximum(count, 1e-300) - 1 / rest, 0.0, 100.0)
    return np.asarray(np.sqrt(total / max(sums.shape[1], 1)))


def errors_by_domain(problem: Problem, expected: Expected) -> Array:
    """The root mean squared error of each domain; NaN without rows."""
    e, n, w = problem.domain, problem.n_domains, problem.weight
    mass = np.bincount(e, w, n)
    square = np.bincount(e, w * squared_errors(problem.y, expected.value), n)
    return np.sqrt(np.where(mass > 0, square / np.where(mass > 0, mass, 1.0), np.nan))


def named_strata_table(strata: NamedStrata, table: pd.DataFrame) -> pd.DataFrame:
    """One row per stratum, with its name and share."""
    table.insert(0, "stratum", np.asarray(strata.names, dtype=object))
    table["n"] = _whole(table["n"].to_numpy())
    table["share"] = table["n"] / max(float(table["n"].sum()), 1e-300)
    table["scarce"] = table["share"] < SCARCE / len(strata.names)
    return _ranked(table)


def cells_table(noise: Noise, strata: NamedStrata, names: NDArray[Any], weight: Array) -> pd.DataFrame:
    """One row per stratum of each domain that has rows."""
    n_strata = len(strata.names)
    occupied, cell = np.unique(noise.domain * n_strata + strata.labels, return_inverse=True)
    table = noise.table(cell, len(occupied))
    table.insert(0, "domain", names[occupied // n_strata])
    table.insert(1, "stratum", np.asarray(strata.names, dtype=object)[occupied % n_strata])
    table["n"] = _whole(table["n"].to_numpy())
    of_domain = table.groupby("domain")["n"].transform("sum")
    table["density"] = table["n"] / np.maximum(of_domain, 1e-300)
    table["scarce"] = table["density"] < SCARCE / table.groupby("domain")["n"].transform("size")
    mass = np.maximum(np.bincount(cell, noise.weight), 1e-300)
    table["weight"] = np.bincount(cell, noise.weight * weight) / mass
    return _ranked(table)


def _ranked(table: pd.DataFrame) -> pd.DataFrame:
    """Noisy ones first, then by ratio; what could not be judged comes last, largest first, and has no rank."""
    judged = table[table["judged"]].sort_values(["noisy", "ratio"], ascending=False, kind="stable")
    others = table[~table["judged"]].sort_values("n", ascending=False, kind="stable")
    ranked = pd.concat([judged, others], ignore_index=True)
    ranked.insert(0, "rank", pd.Series([*range(1, len(judged) + 1), *[None] * len(others)], dtype="Int64"))
    return ranked


def least_likely(size: Array) -> NDArray[np.intp]:
    """Return the places of the rows that stand out most, the first of equals first; never one below zero.

    >>> least_likely(np.array([1.0, -1.0, 2.0])).tolist()
    [2, 0]
    """
    return np.argsort(-size, kind="stable")[: min(MOST_ROWS, int((size >= 0).sum()))]


def beside(y: NDArray[Any], value: Array) -> dict[str, NDArray[Any]]:
    """Return targets beside what is expected of them: numbers and their difference, or classes and a probability."""
    if value.ndim == 1:
        return {"target": y, "expected": value, "difference": y - value}
    return {"target": y, "expected": value.argmax(1), "probability": value[np.arange(len(y)), y.astype(np.intp)]}


def rows_table(
    rows: pd.DataFrame, domains: NDArray[Any], strata: Sequence[str], classes: NDArray[Any] | None
) -> pd.DataFrame:
    """Return rows with the names of their domains, strata and classes in place of their numbers."""
    named = {"domain": domains, "stratum": np.asarray(strata, dtype=object)}
    named |= {} if classes is None else {"target": classes, "expected": classes}
    return rows.assign(**{name: labels[rows[name].to_numpy(np.intp)] for name, labels in named.items()})


def slopes_table(ready: Table, found: Suspicion, names: NDArray[Any]) -> pd.DataFrame:
    """The slope of what is left of the target on each flagged feature, domain by domain."""
    parts = [
        pd.DataFrame(
            {"feature": ready.names[j], "domain": names, "slope": found.slope[:, j], "error": found.error[:, j]}
        )
        for j in found.flagged
    ]
    empty = pd.DataFrame({"feature": [], "domain": [], "slope": np.zeros(0), "error": np.zeros(0)})
    table = pd.concat(parts, ignore_index=True) if parts else empty
    reach = 1.96 * table["error"]
    return table.assign(low=table["slope"] - reach, high=table["slope"] + reach)


def sources(ready: Table) -> list[str]:
    """The column that each feature was made of."""
    return [ready.columns[place].name for place in names_of(ready.columns)[1]]


def _whole(count: Array) -> NDArray[Any]:
    return count.astype(int) if (count % 1 == 0).all() else count


def copied(problem: Problem) -> int:
    """How many rows repeat an earlier one in columns, target and domain; 0 where equal rows are ordinary.

    Rows of a few categories are equal by chance. They are copies if a column that hardly repeats by itself repeats, and
    if the target repeats with it.

    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> y, zero = x[:, 0], np.zeros(100, np.intp)
    >>> copied(Problem(x, y, zero, 1, 0, np.ones(100)))
    0
    >>> twice = np.arange(200) % 100
    >>> copied(Problem(x[twice], y[twice], zero[twice], 1, 0, np.ones(200)))
    100
    """
    there = problem.weight > 0
    X, y = problem.X[there], np.column_stack([problem.y[there], problem.domain[there]])
    n = len(X)
    if n == 0:
        return 0
    rows, whole = content(X[some] for some in blocks(n)), content(y[some] for some in blocks(n))
    distinct = len(np.unique(rows))
    again, equal = n - distinct, n - len(np.unique(rows * np.uint64(0x9E3779B97F4A7C15) ^ whole))
    if equal < max(FEWEST_COPIES, SHARE_OF_COPIES * n) or equal < _NEARLY * again:
        return 0
    most = max(len(np.unique(column)) for column in X.T)
    return equal if most >= _TELLING * distinct else 0
