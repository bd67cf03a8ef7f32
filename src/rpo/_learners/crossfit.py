"""Out-of-sample predictions of every row: by models that did not see the row, or none of its domain."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import clone

from rpo._io import Bar, Show
from rpo._learners.bases import Binned, Coarse
from rpo._learners.learners import Additive, shared_bins, takes_bins
from rpo._learners.stacking import fit_learner, make_learners, outputs, varying
from rpo._mapped import blocks
from rpo._stats.ridge import Array
from rpo.exceptions import InputError
from rpo.grouping.folds import Folds, content, folds_by_content, folds_by_group

Places = NDArray[np.intp]
FOLDS = 4
MOST_ROWS = 20_000  # models see at most so many; statistics see all


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows as numbers: columns, a target (a number, or the place of a class), domains, weights; and the estimator."""

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

    def part(self, rows: NDArray[np.intp]) -> "Problem":
        """Select rows."""
        unit = None if self.unit is None else np.unique(self.unit[rows], return_inverse=True)[1]
        return replace(
            self, X=self.X[rows], y=self.y[rows], domain=self.domain[rows], weight=self.weight[rows], unit=unit
        )

    def folds(self) -> Folds:
        """Return the fold of each row: by content, or all rows of one unit together."""
        if self.unit is not None:
            return folds_by_group(self.unit, min(FOLDS, int(self.unit.max()) + 1), self.weight)
        return folds_by_content((self.X[rows] for rows in blocks(len(self.X))), self.weight, FOLDS)


@dataclass(frozen=True, eq=False)
class Expected:
    """Out-of-sample predictions: `plain`, and `value` with the level of the domain; `(n,)`, `(n, C)`."""

    value: Array
    plain: Array
    shares: Array
    """What each learner counts in the stack."""
    models: "FoldModels | None" = None
    """The models that said it, to be asked of other rows."""


@dataclass(frozen=True, eq=False)
class FoldModels:
    """The learners of every fold, fitted to the rows outside of it, and the levels of domains that they estimate."""

    numbers: NDArray[np.int64]
    fits: tuple[list[Any], ...]
    offset: Array
    """`(folds, n_domains)`."""
    shares: Array
    n_classes: int

    def plain(self, place: int, x: Array) -> Array:
        """Predict rows by the models of one fold with positive shares, without levels of domains."""
        used = [(share, model) for share, model in zip(self.shares, self.fits[place], strict=True) if share > 0]
        binned = shared_bins([model for _, model in used], x)
        value = np.zeros((len(x), self.n_classes) if self.n_classes else len(x))
        for share, model in used:
            value += share * outputs(model, x, self.n_classes, binned)
        return value


def out_of_row(problem: Problem, weight: Array | None = None, progress: Show = False) -> Expected:
    """Predict each row by models of the other folds, which include its domain.

    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> zero = np.zeros(100, np.intp)
    >>> expected = out_of_row(Problem(x, 2 * x[:, 0], zero, 1, 0, np.ones(100)))
    >>> bool(np.abs(expected.value - 2 * x[:, 0]).max() < 0.01)
    True
    """
    return _expect(problem, problem.folds(), weight, levels=True, progress=progress, label="judging rows")


def out_of_domain(problem: Problem, weight: Array | None = None, progress: Show = False) -> Expected | None:
    """Predict each row by models of other domains; return None for a single domain."""
    if problem.n_domains < 2:
        return None
    fold = folds_by_group(problem.domain, min(FOLDS, problem.n_domains), problem.weight)
    return _expect(problem, fold, weight, levels=False, progress=progress, label="judging domains")


def cross_fit(
    fit: Callable[[Places, int], Any], fold: Folds, rows: Places | None = None
) -> Iterator[tuple[Places, Any]]:
    """Fit without each fold in turn, and yield the positions of its rows with the models fitted without them.

    `fit(seen, f)` gets the places of the rows outside fold `f`: all of them, or those among `rows`, in their order.

    >>> y = np.array([1.0, 2.0, 3.0])
    >>> [(held.tolist(), mean) for held, mean in cross_fit(lambda seen, f: float(y[seen].mean()), np.array([0, 1, 1]))]
    [([0], 2.5), ([1, 2], 1.0)]
    """
    rows = np.arange(len(fold)) if rows is None else rows
    for f in np.unique(fold).tolist():
        yield np.flatnonzero(fold == f), fit(rows[fold[rows] != f], f)


def cross_predict(
    fit: Callable[[Places, int], Any],
    predict: Callable[[Any, Places], Array],
    fold: Folds,
    rows: Places | None = None,
) -> Array:
    """Predict every row by models fitted without its fold; `predict(model, held)` gets the positions of rows.

    >>> y = np.array([1.0, 2.0, 3.0])
    >>> fold = np.array([0, 1, 1])
    >>> cross_predict(lambda seen, f: y[seen].mean(), lambda mean, held: np.full(len(held), mean), fold).tolist()
    [2.5, 1.0, 1.0]
    """
    parts = [(held, predict(model, held)) for held, model in cross_fit(fit, fold, rows)]
    value = np.empty((len(fold), *parts[0][1].shape[1:]))
    for held, part in parts:
        value[held] = part
    return value


def _expect(
    problem: Problem, fold: Folds, weight: Array | None, *, levels: bool, progress: Show, label: str
) -> Expected:
    """Fit to the rows of a sample outside each fold, mix by the errors on its rows, and predict all rows."""
    learners = make_learners(problem.estimator, problem.n_classes)
    counts = problem.weight if weight is None else problem.weight * weight
    sampled = sample_by_domain(problem)
    rows, seen = np.flatnonzero(sampled), np.flatnonzero(sampled & (counts > 0))
    levels = levels and problem.n_classes == 0 and problem.n_domains > 1
    with Bar(len(np.unique(fold)) * len(learners), label, progress) as bar:
        parts = list(cross_fit(_Fit(problem, counts, seen, learners, levels, bar), fold, seen))
    plain, own = _predict_sample(problem, parts, sampled)
    target = problem.y[rows] if problem.n_classes else problem.y[rows] - own
    shares = stacked(plain, target, counts[rows])
    fits, offsets = zip(*(part for _, part in parts), strict=True)
    models = FoldModels(np.unique(fold), fits, np.stack(offsets), shares, problem.n_classes)
    value, level = np.zeros((len(fold), *plain.shape[2:])), np.zeros(len(fold))
    value[rows], level[rows] = np.tensordot(shares, plain, 1), own
    for place, (held, _) in enumerate(parts):  # the rows beyond the sample, by those learners that have a part
        beyond = held[~sampled[held]]
        level[beyond] = models.offset[place, problem.domain[beyond]]
        for block in blocks(len(beyond)):
            value[beyond[block]] = models.plain(place, problem.X[beyond[block]])
    return Expected(value if problem.n_classes else value + level, value, shares, models)


def _predict_sample(
    problem: Problem, parts: list[tuple[Places, tuple[list[Any], Array]]], sampled: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Predict the rows of the sample by every learner, and by the levels of their domains."""
    rows = np.flatnonzero(sampled)
    shape = (len(rows), problem.n_classes) if problem.n_classes else (len(rows),)
    plain, own = np.zeros((len(parts[0][1][0]), *shape)), np.zeros(len(rows))
    for held, (fits, offset) in parts:
        inside = held[sampled[held]]
        place, x = np.searchsorted(rows, inside), problem.X[inside]
        own[place] = offset[problem.domain[inside]]
        for k, model in enumerate(fits):
            plain[k, place] = outputs(model, x, problem.n_classes)
    return plain, own


@dataclass(frozen=True, eq=False)
class _Fit:
    """Fits all learners to rows of a problem, trees on bins that they share."""

    problem: Problem
    counts: Array
    rows: Places
    """Those that any fit may see."""
    learners: list[Any]
    levels: bool
    bar: Bar

    @cached_property
    def binned(self) -> Binned:
        """The rows in bins that all trees share."""
        x = self.problem.X[self.rows]
        bins = Coarse().fit(x)
        return Binned(bins, bins.transform(x))

    def __call__(self, seen: Places, _: int) -> tuple[list[Any], Array]:
        """Return the learners fitted to the training rows, and the level of every domain, if wanted."""
        problem = self.problem
        if len(seen) == 0:
            what = "different rows" if problem.unit is None else "units"
            raise InputError(f"there are too few {what} to judge rows by one another: at least two are needed")
        x, y, domain, w = problem.X[seen], problem.y[seen], problem.domain[seen], varying(self.counts[seen])
        binned = self.binned.rows(np.searchsorted(self.rows, seen)) if any(map(takes_bins, self.learners)) else None
        curves, offset = self._curves(x, y, domain, w, binned), np.zeros(problem.n_domains)
        if self.levels and curves:  # it finds the domains' levels; the others learn what is left
            offset[: len(curves.offset_)] = curves.offset_
            y = y - offset[domain]
        models = []
        for learner in self.learners:
            known = curves if isinstance(learner, Additive) else None
            models.append(known or fit_learner(learner, x, y, w, domain, binned=binned))
            self.bar.advance()
        return models, offset

    def _curves(
        self, x: Array, y: NDArray[Any], domain: NDArray[np.intp], w: Array | None, binned: Binned | None
    ) -> Additive | None:
        """Fit the additive learner, with an intercept for every domain if levels are wanted."""
        additive = next((learner for learner in self.learners if isinstance(learner, Additive)), None)
        if additive is None and not self.levels:
            return None
        curves: Additive = clone(additive or Additive(trees=False))
        return curves.fit(x, y, w, domain if self.levels else None, binned if curves.trees else None)


def stacked(parts: Array, y: NDArray[Any], weight: Array) -> Array:
    """Return the shares of learners in a stack: non-negative, of sum one, with the least squared error.

    >>> y = np.array([0.0, 1.0, 2.0, 3.0])
    >>> stacked(np.stack([y, -y]), y, np.ones(4)).round(6).tolist()
    [1.0, 0.0]
    """
    if len(parts) == 1:
        return np.ones(1)
    root = np.sqrt(weight)
    if parts.ndim == 3:
        truth = one_hot(y, parts.shape[2])
        columns = ((parts - parts.mean(0)) * root[:, None]).reshape(len(parts), -1)
        aim = ((truth - parts.mean(0)) * root[:, None]).ravel()
    else:
        columns, aim = (parts - parts.mean(0)) * root, (y - parts.mean(0)) * root
    # Shares that sum to one: a heavy row that says so. Differences from the mean of all keep the problem well scaled.
    scale = max(float(np.abs(columns).max()), float(np.abs(aim).max()), 1e-300)
    heavy = np.full((1, len(parts)), 1e3 * np.sqrt(len(y)))
    share, _ = nnls(np.vstack([columns.T / scale, heavy]), np.append(aim / scale, heavy[0, 0]))
    return np.asarray(share / share.sum()) if share.sum() > 0 else np.full(len(parts), 1 / len(parts))


def one_hot(label: NDArray[Any], n_classes: int) -> Array:
    """Return one for the class of each row and zero for the others, `(n, n_classes)`."""
    return np.eye(n_classes)[label.astype(np.intp)]


def squared_errors(y: NDArray[Any], value: Array) -> Array:
    """Return squared errors; for probabilities the squared distance, halved for two classes to be Brier's.

    >>> squared_errors(np.array([1]), np.array([[0.5, 0.5]])).tolist()
    [0.25]
    """
    if value.ndim == 1:
        return np.asarray((y - value) ** 2)
    return np.asarray(((one_hot(y, value.shape[1]) - value) ** 2).sum(1) / 2)


def sample_by_domain(problem: Problem) -> NDArray[np.bool_]:
    """Sample at most 20,000 rows, as evenly over domains as possible, by the content of rows and not their position.

    >>> rows = np.arange(50_000.0)[:, None]
    >>> problem = Problem(rows, rows[:, 0], np.repeat([0, 1], [1_000, 49_000]), 2, 0, np.ones(50_000))
    >>> np.bincount(problem.domain[sample_by_domain(problem)]).tolist()
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
    key = content((problem.X[rows] for rows in blocks(n)), salt=1)
    order = np.lexsort((key, problem.domain, ~there))[: int(there.sum())]
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    mask = np.zeros(n, dtype=bool)
    mask[order[place < most]] = True
    return mask
