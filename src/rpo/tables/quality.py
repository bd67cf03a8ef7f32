"""Which domains, strata and rows of a table are poor: `rpo.quality` and what it returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo.exceptions import InputError
from rpo.frames.columns import Array
from rpo.frames.naming import strata_names
from rpo.frames.preparing import AskedTask, Prepared, prepare
from rpo.functional.noise import differ, kurtosis
from rpo.functional.penalties import optimal_penalties
from rpo.functional.significance import holm
from rpo.functional.statistics import MIN_ROWS, borrow, cell_weight, r_hat, shrink, sigma
from rpo.grouping import find_strata
from rpo.grouping.cells import codes
from rpo.grouping.choice import Grouping, chosen_grouping
from rpo.progress import Show
from rpo.tables.grouped import SURE, judge
from rpo.tables.residuals import STEPS, Residuals, residuals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCARCE = 0.5  # of an even share: below it, a domain or a stratum is scarce
MOST_ROWS = 100  # rows to look at first


@dataclass(frozen=True, eq=False)
class Quality:
    """What is known about a table's quality.

    `domains`, `strata` and `cells` are ranked worst first, those too small to judge last; `rows` are those to look at
    first. `p_domains` and `p_strata` are the chances of such differences in noise if there were none, corrected for
    asking two questions (Holm).
    """

    domains: pd.DataFrame
    strata: pd.DataFrame
    cells: pd.DataFrame
    rows: pd.DataFrame
    prepared: Prepared = field(repr=False)
    residuals: Residuals = field(repr=False)
    stratum: NDArray[np.intp] = field(repr=False)
    """The stratum of each row, a place in `stratum_names`."""
    stratum_names: tuple[str, ...]
    noise: float
    kurtosis: float
    p_domains: float
    p_strata: float
    searched: bool
    """Whether the strata were looked for, not given: where they differ by chance only, they mean nothing."""

    @property
    def summary(self) -> tuple[str, str]:
        """Two sentences: what is noisy, and what is scarce."""
        from rpo.tables.words import noisy_words, scarce_words

        return noisy_words(self), scarce_words(self)

    def figure(self) -> "Figure":
        """The noise of strata by domains as a heat map."""
        from rpo.tables.heat_map import heat_map

        return heat_map(self)


def quality(
    frame: pd.DataFrame,
    *,
    target: str,
    domain: str | None = None,
    groups: Sequence[str] = (),
    task: AskedTask = "auto",
    grouping: Grouping = "auto",
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    steps: int = STEPS,
    random_state: int = 0,
    progress: Show = "auto",
) -> Quality:
    """Which domains and strata of a table are noisy or scarce, how sure that is, and which rows to look at first.

    Strata are the combinations of the `groups` columns if some are named; else they are found where the noise differs
    most (`grouping="search"`, the default for a regression), or all rows are one (`"none"`, for a classification), or
    they are the classes (`"class"`, by which the rarer class looks noisy on clean data, too).

    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"x": rng.normal(size=300), "site": ["a", "b", "c"] * 100})
    >>> table["y"] = table["x"] + rng.normal(size=300) * np.where(table["site"] == "c", 2.0, 0.2)
    >>> found = quality(table, target="y", domain="site", steps=100)
    >>> print(*found.domains[["domain", "n", "noisy"]].iloc[0])
    c 100 True
    """
    ready = prepare(frame, target=target, domain=domain, groups=groups, task=task, drop=drop, category=category)
    return assess(ready, grouping=grouping, steps=steps, random_state=random_state, progress=progress)


def assess(
    ready: Prepared,
    *,
    grouping: Grouping = "auto",
    steps: int = STEPS,
    random_state: int = 0,
    progress: Show = "auto",
) -> Quality:
    """The quality of a table that was prepared before.

    >>> table = pd.DataFrame({"x": range(30), "y": range(30), "d": [0, 1, 2] * 10})
    >>> assess(prepare(table, target="y", domain="d"), grouping="none", steps=20).stratum_names
    ('all rows',)
    """
    if ready.groups is not None and grouping != "auto":
        raise InputError(f"grouping={grouping!r} is ignored when columns for strata are named: leave out one of them")
    grouping = chosen_grouping(grouping, classes=ready.task == "classification")
    found = residuals(ready, seed=random_state, steps=steps, progress=progress)
    shape = {"n_domains": len(found.domains)}
    by_domain = sigma(found.squared, found.domain, np.zeros_like(found.domain), n_strata=1, **shape)
    size = np.bincount(found.domain)[:, None]
    # Against what is usual in its domain: a noisy domain must not make a stratum look noisy that it happens to fill.
    usual = shrink(borrow(by_domain, size), size)[found.domain, 0] ** 2
    relative = found.squared / np.maximum(usual, 1e-300)
    searched = grouping == "search" and ready.groups is None
    stratum, names, p_strata = _strata(ready, found, relative, grouping, random_state)
    cell = np.unique(found.domain * len(names) + stratum, return_inverse=True)[1]
    tail = kurtosis(found.squared, cell)
    domains = judge(found.squared, found.domain, found.domains.tolist(), "domain", tail, found.squared)
    strata = judge(found.squared, stratum, names, "stratum", tail, relative)
    domains["scarce"] = domains["n"] < SCARCE * domains["n"].mean()
    strata["share"] = strata["n"] / strata["n"].sum()
    strata["scarce"] = strata["share"] < SCARCE / len(names)
    p_domains = differ(found.squared, found.domain, kurtosis(found.squared, found.domain))
    # Two questions are asked of a table in which nothing differs: both together may err once in twenty.
    p_domains, p_strata = (float(p or 0.0) for p in holm([p_domains, p_strata]))
    # One that stands out where the whole shows no difference stands out by chance.
    domains["noisy"] &= p_domains < SURE
    strata["noisy"] &= p_strata < SURE
    cells, eta = _cells(found, stratum, names, tail)
    cells["noisy"] &= min(p_domains, p_strata) < SURE
    domains["eta"] = eta
    return Quality(
        domains=_ranked(domains, "eta", ascending=True),
        strata=_ranked(strata, "ratio", ascending=False),
        cells=_ranked(cells, "rho", ascending=False),
        rows=_rows(ready, found, stratum, names),
        prepared=ready,
        residuals=found,
        stratum=stratum,
        stratum_names=tuple(names),
        noise=float(np.sqrt(found.squared.mean())),
        kurtosis=tail,
        p_domains=p_domains,
        p_strata=p_strata,
        searched=searched,
    )


def _strata(
    ready: Prepared, found: Residuals, relative: Array, grouping: Grouping, seed: int
) -> tuple[NDArray[np.intp], list[str], float]:
    """Strata, their names, and the chance of such differences in noise between them."""
    if ready.groups is not None:
        label, names = ready.groups.labels, list(ready.groups.names)
        used, label = np.unique(label, return_inverse=True)
        names = [names[k] for k in used]
    elif grouping == "class":
        label, classes = codes(ready.y, "classes")
        names = [f"{ready.target} {name}" for name in classes]
    elif grouping == "none":
        label, names = np.zeros(len(ready.y), np.intp), ["all rows"]
    else:
        search = {"random_state": seed, "feature_names": ready.names}
        whole = find_strata(ready.X, found.squared, found.domain, **search)  # type: ignore[arg-type]
        # Strata that were looked for differ in the rows they were found in: each half is tested by those of the other.
        half = np.random.default_rng(seed).permutation(len(ready.y)) % 2 == 0
        chances = []
        for seen in (half, ~half):
            weight = seen.astype(np.float64)
            part = find_strata(ready.X, found.squared, found.domain, sample_weight=weight, **search)  # type: ignore[arg-type]
            other, label = relative[~seen], part.labels[~seen]
            chances.append(differ(other, label, kurtosis(other, label)))
        p = min(1.0, 2 * min(chances))
        return whole.labels, strata_names(ready.frame, ready.columns, whole.features, whole.labels), p
    return label, names, differ(relative, label, kurtosis(relative, label))


def _cells(found: Residuals, stratum: NDArray[np.intp], names: list[str], tail: float) -> tuple[pd.DataFrame, Array]:
    """Every cell that has a row, with the penalties that RPO would give it; η by domain."""
    shape = {"n_domains": len(found.domains), "n_strata": len(names)}
    count = cell_weight(found.domain, stratum, **shape)
    density = r_hat(found.domain, stratum, **shape)
    plain = sigma(found.squared / found.scale**2, found.domain, stratum, **shape)
    penalties = optimal_penalties(
        shrink(borrow(plain, count), count), density, count.sum(1), scheme="calibrated", split=True
    )
    e, k = np.nonzero(count)
    cell = np.unique(found.domain * len(names) + stratum, return_inverse=True)[1]
    table = judge(found.squared, cell, [""] * len(e), "domain", tail, found.squared)
    table["domain"] = found.domains[e]
    table.insert(1, "stratum", np.asarray(names, dtype=object)[k])
    table["density"] = density[e, k]
    table["scarce"] = table["density"] < SCARCE / (count > 0).sum(1)[e]
    table["rho"] = penalties.rho[e, k]
    return table, penalties.eta


def _ranked(table: pd.DataFrame, by: str, *, ascending: bool) -> pd.DataFrame:
    """Worst first; what could not be judged comes last, largest first, and has no rank."""
    judged = table[table["judged"]].sort_values(by, ascending=ascending, kind="stable")
    others = table[~table["judged"]].sort_values("n", ascending=False, kind="stable")
    ranked = pd.concat([judged, others], ignore_index=True)
    ranked.insert(0, "rank", pd.Series([*range(1, len(judged) + 1), *[None] * len(others)], dtype="Int64"))
    return ranked


def _rows(ready: Prepared, found: Residuals, stratum: NDArray[np.intp], names: list[str]) -> pd.DataFrame:
    """The rows with the largest residuals: what they say, and what the other rows say about them."""
    first = np.argsort(-found.squared, kind="stable")[:MOST_ROWS]
    target, expected = ready.y[first], found.expected[first]
    if ready.task == "regression":
        said = {"target": target, "expected": expected, "difference": target - expected}
    else:
        classes = np.unique(ready.y)
        given = expected[np.arange(len(first)), np.searchsorted(classes, target)]
        said = {"target": target, "expected": classes[expected.argmax(1)], "probability": given}
    typical = float(np.sqrt(np.median(found.squared)))
    return pd.DataFrame(
        {
            "row": ready.row[first],
            "domain": ready.domains[first],
            "stratum": np.asarray(names, dtype=object)[stratum[first]],
            **said,
            "times": np.sqrt(found.squared[first]) / max(typical, 1e-300),
        }
    )


__all__ = ["MIN_ROWS", "SURE", "Quality", "assess", "quality"]
