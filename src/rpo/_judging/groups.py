"""Strata: rows that share their noise, given or found among the features; how sure their noise is, and their names."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._io import Grouping
from rpo._judging.noise import Noise, NumberNoise
from rpo._learners.crossfit import Problem, cross_predict, sample_by_domain, stacked
from rpo._learners.learners import MANY_CLASSES, boosted, forest
from rpo._learners.stacking import fit_learner, outputs
from rpo._stats.ridge import Array
from rpo._stats.significance import SURE
from rpo._stats.turned import recalibrated
from rpo._table.columns import Column, as_text, names_of
from rpo._table.table import Table
from rpo.grouping import NamedStrata, find_strata
from rpo.grouping.strata import codes, value_range

MOST_TREES = 300  # of the second learner of classes, which needs one for each class and step
LARGE = 1e150  # a residual whose square is near the largest number
SEARCHED = 4_000  # rows that the search for strata looks at
MOST_NAMED = 3  # categories named one by one


def strata_of(
    ready: Table, problem: Problem, size: Array, rows: NDArray[np.intp], grouping: Grouping, seed: int
) -> NamedStrata:
    """Those given; else those found by the `size` of what is left of some rows, among features, never the target."""
    if ready.strata is not None:
        used, label = np.unique(ready.strata.labels, return_inverse=True)
        return NamedStrata(label.astype(np.intp), tuple(ready.strata.names[k] for k in used))
    if grouping == "class":
        label, classes = codes(ready.y, "classes")
        return NamedStrata(label, tuple(f"{ready.target} {name}" for name in classes))
    if grouping == "none":
        return NamedStrata(np.zeros(len(problem.y), np.intp), ("all rows",))
    squared, counts = np.zeros(len(problem.y)), np.zeros(len(problem.y))
    largest = float(size.max(initial=0.0))
    unit = largest if largest > LARGE else 1.0  # the search asks for ratios, and their squares must be numbers
    squared[rows], counts[rows] = (size / unit) ** 2, problem.weight[rows]
    found = find_strata(
        problem.X,
        squared,
        problem.domain,
        sample_weight=counts,
        random_state=seed,
        feature_names=ready.names,
        max_rows=SEARCHED,
    )
    names = strata_names(ready.frame, ready.columns, found.features, found.labels)
    return NamedStrata(found.labels, tuple(names), searched=True, found=found)


def strata_table(
    problem: Problem, noise: Noise, strata: NamedStrata, seed: int, table: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Noise of strata, each against the rest, relative to what is usual in its domain.

    Strata that were searched for differ in the rows they were found in: they count as noisier only if strata found in
    one half of the rows are so in the other. And misfit is no noise: a stratum must stay noisier under a second, more
    flexible learner of what the first left. These two look at the rows given; `table` may hold the noise of more.
    """
    table = noise.relative_table(strata.labels, len(strata.names)) if table is None else table
    if strata.searched and table["noisy"].any() and not _holds_in_halves(problem, noise, seed):
        table["noisy"] = False
    if table["noisy"].any():
        again = second_learner(problem, noise).relative_table(strata.labels, len(strata.names))
        table["noisy"] &= again["noisy"]
    return table


def _holds_in_halves(problem: Problem, noise: Noise, seed: int) -> bool:
    half = np.random.default_rng(seed).permutation(len(problem.y)) % 2 == 0
    chances = []
    for seen in (half, ~half):
        part = find_strata(
            problem.X,
            noise.size**2,
            problem.domain,
            sample_weight=np.where(seen, problem.weight, 0.0),
            random_state=seed,
            max_rows=SEARCHED,
        )
        other = only(noise, ~seen)
        table = other.relative_table(part.labels, int(part.labels.max()) + 1)
        chances.append(float(np.nanmin(table["p"])) if table["judged"].any() else 1.0)
    return 2 * min(chances) < SURE


def only(noise: Noise, rows: NDArray[np.bool_]) -> Noise:
    """The same with no other rows counting."""
    return replace(noise, weight=np.where(rows, noise.weight, 0.0))


def second_learner(problem: Problem, noise: Noise) -> Noise:
    """What larger trees leave, out of row: of the residuals of numbers; of labels beside what was expected.

    For labels the two are mixed as they predict best, and the domains' own log odds found anew.
    """
    rows = np.flatnonzero(sample_by_domain(problem) & (noise.weight > 0))
    if isinstance(noise, NumberNoise):
        return replace(noise, residual=noise.residual - _left_by_trees(problem, noise.residual, rows))
    said = _told_by_trees(problem, noise.label, noise.probability.shape[1], rows)
    both = np.stack([noise.probability, said])
    mixed = np.tensordot(stacked(both, noise.label, noise.weight), both, 1)
    p, _ = recalibrated(mixed, noise.label, noise.domain, noise.n_domains, noise.weight)
    return replace(noise, probability=p)


def _left_by_trees(problem: Problem, residual: Array, rows: NDArray[np.intp]) -> Array:
    """Predict residuals, wild ones drawn in, by trees of the other folds that see `rows` alone."""

    def fit(seen: NDArray[np.intp], _: int) -> Any:
        limit = 3 * float(np.std(residual[seen]))
        return boosted(max_iter=150, max_leaf_nodes=31).fit(problem.X[seen], np.clip(residual[seen], -limit, limit))

    return cross_predict(fit, lambda trees, held: outputs(trees, problem.X[held], 0), problem.folds(), rows)


def _told_by_trees(problem: Problem, label: NDArray[np.intp], classes: int, rows: NDArray[np.intp]) -> Array:
    """Predict the probability of every class by trees of the other folds that see `rows` alone."""
    steps = min(100, MOST_TREES // (1 if classes == 2 else classes))
    trees = boosted(classes=True, max_iter=steps, max_leaf_nodes=31)
    learner = forest(leaf=1) if classes > MANY_CLASSES else trees

    def fit(seen: NDArray[np.intp], _: int) -> Any:
        return fit_learner(learner, problem.X[seen], label[seen], None, problem.domain[seen])

    return cross_predict(fit, lambda model, held: outputs(model, problem.X[held], classes), problem.folds(), rows)


def strata_names(
    frame: pd.DataFrame, columns: Sequence[Column], features: Sequence[int], label: NDArray[np.intp]
) -> list[str]:
    """A name for each stratum from the columns its features come from.

    >>> frame = pd.DataFrame({"year": [1968, 1969, 1971], "city": ["Ulm", "Bonn", "Ulm"]})
    >>> plan = [Column(name="year", kind="number"), Column(name="city", kind="category", categories=("Bonn", "Ulm"))]
    >>> strata_names(frame, plan, [0, 2], np.array([0, 0, 1]))
    ['year 1968–1969', 'year 1971, city Ulm']
    """
    source = names_of(columns)[1]
    used = [columns[place] for place in dict.fromkeys(source[feature] for feature in features)]
    parts = [_by_stratum(frame[column.name], column, label) for column in used]
    names = [", ".join(filter(None, words)) or "all rows" for words in zip(*parts, strict=True)] or ["all rows"]
    seen = Counter[str]()
    for k, name in enumerate(names):  # strata of two features may share both ranges
        seen[name] += 1
        names[k] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names


def _by_stratum(values: "pd.Series[Any]", column: Column, label: NDArray[np.intp]) -> list[str]:
    number = int(label.max()) + 1
    if column.kind == "category":
        text = as_text(values).to_numpy()
        every = sorted(set(text))
        counts = [pd.Series(text[label == k]).value_counts() for k in range(number)]
        # A stratum that has them all is not told apart by them.
        return ["" if len(c) == len(every) else f"{column.name} {_either(c, every)}" for c in counts]
    known = values.notna().to_numpy()
    date = column.kind == "date"
    plain = pd.to_datetime(values, errors="coerce", utc=True, format="ISO8601") if date else pd.to_numeric(values)
    ends = plain[known].groupby(label[known]).agg(["min", "max"])
    gaps = np.bincount(label[~known], minlength=number) > 0
    words = []
    for k in range(number):
        parts = [_span(column, *ends.loc[k])] if k in ends.index else []
        words.append(f"{column.name} {' or '.join([*parts, *(['missing'] if gaps[k] else [])])}")
    return words


def _span(column: Column, low: Any, high: Any) -> str:
    if column.kind == "date":
        first, last = f"{low:%Y-%m-%d}", f"{high:%Y-%m-%d}"
        return first if first == last else f"{first} to {last}"
    if float(low) == int(low) and float(high) == int(high) and max(abs(low), abs(high)) < 1e6:
        return f"{low:.0f}" if low == high else f"{low:.0f}{'–' if low >= 0 else ' to '}{high:.0f}"
    return value_range(float(low), float(high))


def _either(counts: "pd.Series[int]", every: Sequence[str]) -> str:
    """The categories of a stratum, or those it lacks if these are fewer to name.

    >>> _either(pd.Series({"b": 3, "c": 1, "d": 1, "e": 1}), list("abcde"))
    'other than a'
    """
    names = [str(name) for name in counts.index]
    lacking = [name for name in every if name not in counts.index]
    if len(names) <= MOST_NAMED:
        return _or(sorted(names))
    if 0 < len(lacking) <= MOST_NAMED:
        return f"other than {_or(lacking)}"
    return f"{', '.join(names[: MOST_NAMED - 1])} or {len(names) - MOST_NAMED + 1} others"


def _or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
