"""What every row should have been by models that did not see it: out of row, and out of domain."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from rpo._io import Bar, Show
from rpo._learners.bases import Binned, Coarse
from rpo._learners.learners import Additive, automatic, fit_boosted, named, predict_boosted
from rpo._learners.stack import fit_learner, outputs
from rpo._mapped import blocks
from rpo._stats.ridge import Array
from rpo.exceptions import InputError
from rpo.grouping.folds import Folds, content, folds_by_content, folds_by_group

FOLDS = 4
MOST_ROWS = 20_000  # models see at most so many; statistics see all


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows as numbers: columns, a target (a number, or the place of a class), domains, weights, and the learner."""

    X: Array
    y: NDArray[Any]
    domain: NDArray[np.intp]
    n_domains: int
    n_classes: int
    """0 for a regression."""
    weight: Array
    """How often each row counts."""
    estimator: Any = "auto"
    unit: NDArray[np.intp] | None = None

    def learners(self) -> list[Any]:
        """The estimators whose predictions are stacked."""
        if isinstance(self.estimator, str):
            classes = self.n_classes > 0
            return automatic(self.n_classes) if self.estimator == "auto" else [named(self.estimator, classes=classes)]
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise InputError(f"estimator must be a name or a scikit-learn estimator, got {self.estimator!r}")
        if is_classifier(self.estimator) != (self.n_classes > 0):
            kind, other = ("categorical", "classifier") if self.n_classes else ("numeric", "regressor")
            raise InputError(f"the target is {kind}: estimator must be a {other}, got {type(self.estimator).__name__}")
        return [self.estimator]

    def part(self, rows: NDArray[np.intp]) -> "Problem":
        """Some of the rows."""
        unit = None if self.unit is None else np.unique(self.unit[rows], return_inverse=True)[1]
        return replace(
            self, X=self.X[rows], y=self.y[rows], domain=self.domain[rows], weight=self.weight[rows], unit=unit
        )

    def folds(self) -> Folds:
        """The fold of each row: by content, or all rows of one unit together."""
        if self.unit is not None:
            return folds_by_group(self.unit, min(FOLDS, int(self.unit.max()) + 1), self.weight)
        return folds_by_content((self.X[some] for some in blocks(len(self.X))), self.weight, FOLDS)


@dataclass(frozen=True, eq=False)
class Expected:
    """What models that did not see a row say of it: `plain`, and `value` with its domain's level; `(n,)`, `(n, C)`."""

    value: Array
    plain: Array
    shares: Array
    """What each learner counts in the stack."""
    models: "FoldModels | None" = None
    """The models that said it, to be asked of other rows."""


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The learners of every fold, fitted to the rows outside of it, and the levels of domains that they found."""

    numbers: NDArray[np.int64]
    fits: tuple[list[Any], ...]
    offset: Array
    """`(folds, n_domains)`."""
    shares: Array
    n_classes: int

    def plain(self, place: int, x: Array) -> Array:
        """What the models of one fold say of rows, the levels of domains aside; learners without a part are spared."""
        said = np.zeros((len(x), self.n_classes) if self.n_classes else len(x))
        used = [(share, model) for share, model in zip(self.shares, self.fits[place], strict=True) if share > 0]
        trees = [model.trees_ for _, model in used if isinstance(model, Additive) and model.trees]
        both = trees and any(isinstance(model, Pipeline) and model[0] is trees[0][0] for _, model in used)
        binned = Binned(trees[0][0], trees[0][0].transform(x)) if both else None  # once for both
        for share, model in used:
            if binned is not None and isinstance(model, Additive):
                said += share * model.predict(x, binned)
            elif binned is not None and isinstance(model, Pipeline):
                said += share * predict_boosted(model, x, binned)
            else:
                said += share * outputs(model, x, self.n_classes)
        return said


def out_of_row(problem: Problem, weight: Array | None = None, progress: Show = False) -> Expected:
    """Each row by models of the other folds, which know its domain.

    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> zero = np.zeros(100, np.intp)
    >>> found = out_of_row(Problem(x, 2 * x[:, 0], zero, 1, 0, np.ones(100)))
    >>> bool(np.abs(found.value - 2 * x[:, 0]).max() < 0.01)
    True
    """
    return _cross_fit(problem, problem.folds(), weight, levels=True, progress=progress, label="judging rows")


def out_of_domain(problem: Problem, weight: Array | None = None, progress: Show = False) -> Expected | None:
    """Each row by models of other domains; nothing to say of a single domain."""
    if problem.n_domains < 2:
        return None
    fold = folds_by_group(problem.domain, min(FOLDS, problem.n_domains), problem.weight)
    return _cross_fit(problem, fold, weight, levels=False, progress=progress, label="judging domains")


def _cross_fit(
    problem: Problem, fold: Folds, weight: Array | None, *, levels: bool, progress: Show, label: str
) -> Expected:
    """Fit on the rows of a sample outside each fold, mix by what is said of its rows, and ask of all rows."""
    learners, n = problem.learners(), len(problem.y)
    counts = problem.weight if weight is None else problem.weight * weight
    rows = np.flatnonzero(sample_by_domain(problem))
    some = _Sample(problem.part(rows), fold[rows], counts[rows])
    levels = levels and problem.n_classes == 0 and problem.n_domains > 1
    numbers = np.unique(fold)
    with Bar(len(numbers) * len(learners), label, progress) as bar:
        models = [some.fitted(f, learners, levels, bar) for f in numbers]
    shape = (len(learners), len(rows), problem.n_classes) if problem.n_classes else (len(learners), len(rows))
    plain, own = np.zeros(shape), np.zeros(len(rows))
    for f, (fits, offset) in zip(numbers, models, strict=True):
        held = some.fold == f
        own[held] = offset[some.problem.domain[held]]
        for k, model in enumerate(fits):
            plain[k, held] = outputs(model, some.problem.X[held], problem.n_classes)
    target = some.problem.y if problem.n_classes else some.problem.y - own
    shares = stacked(plain, target, some.counts)
    mixed = np.tensordot(shares, plain, 1)
    kept = FoldModels(
        numbers, tuple(fits for fits, _ in models), np.stack([own for _, own in models]), shares, problem.n_classes
    )
    if len(rows) < n:  # the rows beyond the sample, by those learners that have a part
        said, level = np.zeros((n, *shape[2:])), np.zeros(n)
        said[rows], level[rows] = mixed, own
        beyond = np.ones(n, dtype=bool)
        beyond[rows] = False
        for place, f in enumerate(numbers):
            held = np.flatnonzero((fold == f) & beyond)
            level[held] = kept.offset[place, problem.domain[held]]
            for block in blocks(len(held)):
                said[held[block]] = kept.plain(place, problem.X[held[block]])
        mixed, own = said, level
    return Expected(mixed if problem.n_classes else mixed + own, mixed, shares, kept)


@dataclass(frozen=True, eq=False)
class _Sample:
    """The rows that models see, their folds, and what they count."""

    problem: Problem
    fold: Folds
    counts: Array

    @cached_property
    def binned(self) -> Binned:
        """The rows in bins that all trees share."""
        bins = Coarse().fit(self.problem.X[self.counts > 0])
        return Binned(bins, bins.transform(self.problem.X))

    def fitted(self, f: int, learners: list[Any], levels: bool, bar: Bar) -> tuple[list[Any], Array]:
        """The learners fitted to the rows outside a fold, and the level of every domain, if these are asked for."""
        problem = self.problem
        seen = np.flatnonzero((self.fold != f) & (self.counts > 0))
        if len(seen) == 0:
            what = "different rows" if problem.unit is None else "units"
            raise InputError(f"there are too few {what} to judge rows by one another: at least two are needed")
        x, y, domain = problem.X[seen], problem.y[seen], problem.domain[seen]
        counts = self.counts[seen]
        w = None if (counts == counts[0]).all() else counts
        additive = next((one for one in learners if isinstance(one, Additive)), None)
        offset, curves = np.zeros(problem.n_domains), None
        if levels or additive:
            curves = clone(additive or Additive(trees=False))
            curves.fit(x, y, w, domain if levels else None, self.binned.rows(seen) if curves.trees else None)
        if levels and curves:  # it finds the domains' levels; the others learn what is left
            offset[: len(curves.offset_)] = curves.offset_
            y = y - offset[domain]
        models, certain = [], problem.n_classes > 0 and (y == y[0]).all()
        for learner in learners:
            if curves and learner is additive:
                models.append(curves)
            elif isinstance(learner, Pipeline) and isinstance(learner[0], Coarse) and not certain:
                models.append(fit_boosted(clone(learner), x, y, w, self.binned.rows(seen)))
            else:
                models.append(fit_learner(learner, x, y, w, domain))
            bar.advance()
        return models, offset


def stacked(parts: Array, y: NDArray[Any], weight: Array) -> Array:
    """Shares of learners, none negative, together one, with the least squared error.

    >>> y = np.array([0.0, 1.0, 2.0, 3.0])
    >>> stacked(np.stack([y, -y]), y, np.ones(4)).round(6).tolist()
    [1.0, 0.0]
    """
    if len(parts) == 1:
        return np.ones(1)
    root = np.sqrt(weight)
    if parts.ndim == 3:
        truth = np.zeros(parts.shape[1:])
        truth[np.arange(len(y)), y] = 1.0
        columns = ((parts - parts.mean(0)) * root[:, None]).reshape(len(parts), -1)
        aim = ((truth - parts.mean(0)) * root[:, None]).ravel()
    else:
        columns, aim = (parts - parts.mean(0)) * root, (y - parts.mean(0)) * root
    # Shares that sum to one: a heavy row that says so. Differences from the mean of all keep the problem well scaled.
    scale = max(float(np.abs(columns).max()), float(np.abs(aim).max()), 1e-300)
    heavy = np.full((1, len(parts)), 1e3 * np.sqrt(len(y)))
    share, _ = nnls(np.vstack([columns.T / scale, heavy]), np.append(aim / scale, heavy[0, 0]))
    return np.asarray(share / share.sum()) if share.sum() > 0 else np.full(len(parts), 1 / len(parts))


def sample_by_domain(problem: Problem) -> NDArray[np.bool_]:
    """At most 20,000 rows, as even over domains as they allow, chosen by what a row says, not where it stands.

    >>> rows = np.arange(50_000.0)[:, None]
    >>> some = Problem(rows, rows[:, 0], np.repeat([0, 1], [1_000, 49_000]), 2, 0, np.ones(50_000))
    >>> np.bincount(some.domain[sample_by_domain(some)]).tolist()
    [1000, 19000]
    """
    n = len(problem.y)
    if n <= MOST_ROWS:
        return np.ones(n, dtype=bool)
    there = problem.weight > 0
    sizes = np.bincount(problem.domain, there, problem.n_domains).astype(np.intp)
    count = np.sort(sizes)
    below = np.cumsum(count) - count
    quota = (MOST_ROWS - below) // (len(count) - np.arange(len(count)))
    most = int(quota[np.argmax(count >= quota)]) if (count >= quota).any() else int(count[-1])
    key = content((problem.X[some] for some in blocks(n)), salt=1)
    order = np.lexsort((key, problem.domain, ~there))[: int(there.sum())]
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    kept = np.zeros(n, dtype=bool)
    kept[order[place < most]] = True
    return kept
