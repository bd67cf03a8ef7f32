"""Strata: rows that share their noise, given or found among the features, and how sure their noise is."""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo.frames.naming import strata_names
from rpo.frames.preparing import Prepared
from rpo.functional.ridge import Array
from rpo.functional.significance import SURE
from rpo.functional.turned import recalibrated
from rpo.grouping import NamedStrata, find_strata
from rpo.grouping.strata import codes
from rpo.io import Grouping
from rpo.judging.learners import boosted
from rpo.judging.noise import Noise, NumberNoise
from rpo.judging.residuals import Problem, outputs, sample_by_domain, stacked

MOST_TREES = 300  # of the second learner of classes, which needs one for each class and step
SEARCHED = 4_000  # rows that the search for strata looks at


def strata_of(
    ready: Prepared, problem: Problem, size: Array, rows: NDArray[np.intp], grouping: Grouping, seed: int
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
    squared[rows], counts[rows] = size**2, problem.weight[rows]
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
    table = noise.table(strata.labels, len(strata.names), relative=True) if table is None else table
    if strata.searched and table["noisy"].any() and not _holds_in_halves(problem, noise, seed):
        table["noisy"] = False
    if table["noisy"].any():
        again = second_learner(problem, noise).table(strata.labels, len(strata.names), relative=True)
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
        table = other.table(part.labels, int(part.labels.max()) + 1, relative=True)
        chances.append(float(np.nanmin(table["p"])) if table["judged"].any() else 1.0)
    return 2 * min(chances) < SURE


def only(noise: Noise, rows: NDArray[np.bool_]) -> Noise:
    """The same with no other rows counting."""
    return replace(noise, weight=np.where(rows, noise.weight, 0.0))


def second_learner(problem: Problem, noise: Noise) -> Noise:
    """What larger boosted trees leave, out of row: of the residuals of numbers; of labels beside what was expected.

    For labels the two are mixed as they predict best, and the domains' own log odds found anew.
    """
    fold, kept = problem.folds(), sample_by_domain(problem)
    kept &= noise.weight > 0
    if isinstance(noise, NumberNoise):
        left: Array = noise.residual.copy()
        for f in np.unique(fold):
            seen, held = (fold != f) & kept, fold == f
            trees = boosted(max_iter=150, max_leaf_nodes=31)
            limit = 3 * float(np.std(noise.residual[seen]))
            trees.fit(problem.X[seen], np.clip(noise.residual[seen], -limit, limit))
            left[held] -= trees.predict(problem.X[held])
        return replace(noise, residual=left)
    said = np.zeros_like(noise.probability)
    classes = said.shape[1]
    trees_each = 1 if classes == 2 else classes
    for f in np.unique(fold):
        seen, held = (fold != f) & kept, fold == f
        trees = boosted(classes=True, max_iter=min(100, MOST_TREES // trees_each), max_leaf_nodes=31)
        if len(np.unique(noise.label[seen])) == 1:
            said[held, noise.label[seen][0]] = 1.0
            continue
        trees.fit(problem.X[seen], noise.label[seen])
        said[held] = outputs(trees, problem.X[held], classes)
    both = np.stack([noise.probability, said])
    mixed = np.tensordot(stacked(both, noise.label, noise.weight), both, 1)
    p, _ = recalibrated(mixed, noise.label, noise.domain, noise.n_domains, noise.weight)
    return replace(noise, probability=p)
