"""Learners used to compute residuals: ridge, splines with boosted trees on their residuals, boosted trees.

Trees and lines have misfit at the edges of shifted domains that looks like noise. Splines that continue linearly
beyond the data have not; trees fit what the splines miss.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from rpo._learners import NAMED
from rpo._learners.bases import Basis, Binned, Coarse, Columns, append_products, choose_products, linear_part
from rpo._mapped import blocks
from rpo._stats.ridge import Array, Moments, Ridge, gcv_ridge, moments, ridge_of
from rpo._stats.scale import between
from rpo.exceptions import InputError

HARDLY = 1e-6  # deviation of a column of a basis below which rounding alone would tell it
MOST_COEFFICIENTS = 600
TREES, RATE = 40, 0.15  # of boosted trees in a judgement: they are fitted dozens of times
MANY_CLASSES = 5  # more, and learners are taken whose time hardly grows with their number
Factory = Callable[..., Any]  # of networks, by name; what is above this package hands it down


class Additive(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """f(x) = Σ_j s_j(x_j) + Σ_jk β_jk x_j x_k + trees(x): curves and products by ridge, boosted trees on the rest.

    With `domains`, each has an intercept of its own, a normal draw (`offset_`), which predictions leave out: means of
    domains are taken off by θ_e = 1 − √(σ²/(σ² + n_e τ²)), as in the estimator of random effects.

    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = Additive(trees=False).fit(x, x[:, 0] ** 2 + x[:, 0] * x[:, 1])
    >>> model.predict([[1.0, 1.0]]).round(1)
    array([2.])
    """

    def __init__(
        self,
        trees: bool = True,
        max_iter: int = 60,
        max_leaf_nodes: int = 8,
        learning_rate: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.trees = trees
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        domains: NDArray[np.intp] | None = None,
        binned: Binned | None = None,
    ) -> Self:
        """Fit splines, then products, then trees; `binned` rows are used for trees."""
        x, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.n_features_in_ = x.shape[1]
        self.low_, self.high_ = target.min() - np.ptp(target), target.max() + np.ptp(target)
        self.basis_ = Basis().fit(x)
        z = self.basis_.standard(x)
        columns = Columns(self.basis_, z)
        of = moments(columns, target, weight, domains, 1 if domains is None else int(domains.max()) + 1)
        first = ridge_of(of, 0.0 if domains is None else 1.0, least=HARDLY)
        left = target - columns.value(first.coef)
        self.pairs_ = choose_products(z, left if domains is None else subtract_means(left, domains, weight), weight)
        if len(self.pairs_):
            columns.add(self.pairs_)
            of = moments(columns, target, weight, domains, len(of.mass))
        line, offset = (ridge_of(of, least=HARDLY), np.zeros(0))
        if domains is not None:
            line, offset = _with_offsets(of, columns, target, weight, domains)
        level = offset[domains] if domains is not None else 0.0
        self.line_, self.offset_ = line, offset
        if self.trees:
            trees = boosted(
                max_iter=self.max_iter,
                max_leaf_nodes=self.max_leaf_nodes,
                learning_rate=self.learning_rate,
                seed=self.random_state,
            )
            self.trees_ = fit_boosted(
                trees, x, target - level - columns.value(line.coef, line.intercept), weight, binned
            )
        return self

    def predict(self, X: ArrayLike, binned: Binned | None = None) -> Array:
        """Predict in blocks of rows. Clip predictions to the training range, extended by its width on both sides.

        Rows that are `binned` already are not binned again.
        """
        x = np.asarray(X, dtype=np.float64)
        value = np.empty(len(x))
        for rows in blocks(len(x)):
            value[rows] = linear_part(self.basis_, self.pairs_, self.basis_.standard(x[rows]), self.line_)
            if self.trees:
                value[rows] += predict_boosted(self.trees_, x[rows], binned and binned.rows(rows))
        return np.clip(value, self.low_, self.high_)


def subtract_means(values: Array, group: NDArray[np.intp], weight: Array | None) -> Array:
    """Subtract the mean of its group from each value.

    >>> subtract_means(np.array([1.0, 3.0, 7.0]), np.array([0, 0, 1]), None).tolist()
    [-1.0, 1.0, 0.0]
    """
    w = np.ones(len(values)) if weight is None else weight
    return values - (np.bincount(group, w * values) / np.maximum(np.bincount(group, w), 1e-300))[group]


def _with_offsets(
    of: Moments, columns: Columns, y: Array, weight: Array | None, domains: NDArray[np.intp]
) -> tuple[Ridge, Array]:
    """Fit a ridge on a basis, with a shrunk intercept for every domain."""
    w = np.ones(len(y)) if weight is None else weight
    number = len(of.mass)
    mass = np.bincount(domains, w, number)
    there = mass > 1e-9
    safe = np.where(there, mass, 1.0)

    def offsets(line: Ridge) -> tuple[Array, float, float]:
        rest = y - columns.value(line.coef)
        mean = np.bincount(domains, w * rest, number) / safe
        within = max(float(w @ (rest - mean[domains]) ** 2) / max(len(y) - number - line.freedom, 1.0), 1e-300)
        centre, tau2 = between(mean[there], within / mass[there])
        shrunk = np.where(there, tau2 * mass / (tau2 * mass + within) * (mean - centre), 0.0)
        return np.clip(shrunk, -np.ptp(y), np.ptp(y)), within, tau2  # as far as predictions go, no farther

    line = ridge_of(of, 1.0, least=HARDLY)
    _, within, tau2 = offsets(line)
    if tau2 == 0:
        return ridge_of(of, least=HARDLY), np.zeros(number)
    line = ridge_of(of, 1 - np.sqrt(within / (within + mass * tau2)), least=HARDLY)
    offset, _, _ = offsets(line)
    rest = y - offset[domains] - columns.value(line.coef)
    return line._replace(intercept=float(np.average(rest, weights=w))), offset


def _scaler(columns: Array) -> StandardScaler:
    """Scale columns to unit variance, except nearly constant ones."""
    scaler = StandardScaler().fit(columns)
    scaler.scale_ = np.where(scaler.scale_ < HARDLY, 1.0, scaler.scale_)
    return scaler


class AdditiveClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression on curves of every column and, for a few classes, products of pairs.

    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> AdditiveClassifier().fit(x, x[:, 0] ** 2 > 1).predict([[0.0], [3.0]]).tolist()
    [False, True]
    """

    def __init__(self, C: float = 0.1) -> None:
        self.C = C

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit splines first, then the products that correlate with their residuals."""
        x, label = np.asarray(X, dtype=np.float64), np.asarray(y)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.n_features_in_ = x.shape[1]
        self.classes_ = np.unique(label)
        self.basis_ = Basis().fit(x)
        z = self.basis_.standard(x)
        columns = self.basis_.expand(z)
        self.scale_ = _scaler(columns)
        self.pairs_ = np.empty((0, 2), dtype=np.intp)
        self.logistic_ = self._logistic(columns, label, weight)
        if len(self.classes_) > MANY_CLASSES:  # what is left of one class says little of the others
            return self
        first = (label == self.classes_[-1]) - self.logistic_.predict_proba(self.scale_.transform(columns))[:, -1]
        self.pairs_ = choose_products(z, first, weight)
        if len(self.pairs_):
            columns = append_products(z, columns, self.pairs_)
            self.scale_ = _scaler(columns)
            self.logistic_ = self._logistic(columns, label, weight)
        return self

    def _logistic(self, columns: Array, label: NDArray[Any], weight: Array | None) -> LogisticRegression:
        # Newton's steps are few, but each takes a matrix of all coefficients: too large for many classes.
        many = columns.shape[1] * (len(self.classes_) if len(self.classes_) > 2 else 1) > MOST_COEFFICIENTS
        solver, steps = ("lbfgs", 200) if many else ("newton-cholesky", 50)
        model = LogisticRegression(C=self.C, solver=solver, max_iter=steps, tol=1e-3)
        return model.fit(self.scale_.transform(columns), label, sample_weight=weight)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Predict the probability of each class in blocks of rows."""
        x = np.asarray(X, dtype=np.float64)
        value = np.empty((len(x), len(self.classes_)))
        for rows in blocks(len(x)):
            z = self.basis_.standard(x[rows])
            columns = append_products(z, self.basis_.expand(z), self.pairs_)
            value[rows] = self.logistic_.predict_proba(self.scale_.transform(columns))
        return value

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the most likely class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])


def boosted(
    *,
    classes: bool = False,
    max_iter: int = 100,
    max_leaf_nodes: int = 15,
    learning_rate: float = 0.1,
    seed: int = 0,
) -> Any:
    """Return scikit-learn's boosted trees on coarse columns.

    >>> bool(boosted().fit(np.arange(100.0)[:, None], np.arange(100.0)).predict([[90.0]])[0] > 80)
    True
    """
    learner = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    trees = learner(
        max_iter=max_iter,
        max_leaf_nodes=max_leaf_nodes,
        learning_rate=learning_rate,
        early_stopping=False,
        random_state=seed,
    )
    return make_pipeline(Coarse(), trees)


def takes_bins(learner: Any) -> bool:
    """Return whether a learner has trees that can be fitted to binned rows.

    >>> takes_bins(boosted()), takes_bins(Additive()), takes_bins(Line())
    (True, True, False)
    """
    return bool(learner.trees if isinstance(learner, Additive) else is_boosted(learner))


def shared_bins(models: Sequence[Any], x: Array) -> Binned | None:
    """Return rows in the bins that several fitted models share; None if each has its own, or a single model has bins.

    >>> x = np.arange(40.0)[:, None]
    >>> bins = Coarse().fit(x)
    >>> models = [fit_boosted(boosted(), x, x[:, 0], None, Binned(bins, x)) for _ in range(2)]
    >>> shared_bins(models, x).bins is bins, shared_bins(models[:1], x)
    (True, None)
    """
    trees = [model.trees_ if isinstance(model, Additive) else model for model in models if takes_bins(model)]
    bins = [pipeline[0] for pipeline in trees]
    if len(bins) < 2 or any(other is not bins[0] for other in bins):
        return None
    return Binned(bins[0], bins[0].transform(x))


def is_boosted(learner: Any) -> bool:
    """Return whether a learner was made by `boosted()`."""
    return isinstance(learner, Pipeline) and isinstance(learner[0], Coarse)


def fit_boosted(trees: Any, x: Array, y: NDArray[Any], weight: Array | None, binned: Binned | None = None) -> Any:
    """Fit `boosted()` to binned rows, or to rows that are binned here.

    >>> x = np.arange(100.0)[:, None]
    >>> bins = Coarse().fit(x)
    >>> trees = fit_boosted(boosted(), x, x[:, 0], None, Binned(bins, bins.transform(x)))
    >>> bool(trees.predict([[90.0]])[0] > 80)
    True
    """
    name, last = trees.steps[-1]
    if binned is None:
        return trees.fit(x, y, **{f"{name}__sample_weight": weight})
    trees.steps[0] = (trees.steps[0][0], binned.bins)
    last.fit(binned.columns, y, sample_weight=weight)
    return trees


def predict_boosted(trees: Any, x: Array, binned: Binned | None = None) -> Array:
    """Predict rows, which may be binned already, by a fitted `boosted()`.

    >>> x = np.arange(100.0)[:, None]
    >>> trees = boosted().fit(x, x[:, 0])
    >>> bool((predict_boosted(trees, x, Binned(trees[0], trees[0].transform(x))) == trees.predict(x)).all())
    True
    """
    if binned is None or binned.bins is not trees.steps[0][1]:
        return np.asarray(trees.predict(x))
    return np.asarray(trees.steps[-1][1].predict(binned.columns))


class Line(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression on standardised columns, the penalty by generalised cross-validation.

    >>> Line().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).predict([[3.0]]).round(1)
    array([3.])
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the line."""
        self.line_ = gcv_ridge(X, y, sample_weight)
        self.n_features_in_ = len(self.line_.coef)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predict a + xb."""
        return self.line_(np.asarray(X, dtype=np.float64))


class AnchorLine(Line):
    r"""Anchor regression: min_b ‖(I − Π)u‖² + γ‖Πu‖², u = y − a − xb; Π puts the mean of its domain for every row.

    In closed form a line through rows moved by √γ − 1 times the mean of their domain: γ = 1 is the plain line, a large
    γ one whose mean residuals differ little between domains (Rothenhäusler et al. 2021). Penalty as in `Line`.

    >>> x, y = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0.0, 1.0, 5.0, 6.0])
    >>> AnchorLine(gamma=1e6).fit(x, y, domains=[0, 0, 1, 1]).line_.coef.round(2)
    array([0.5])
    """

    def __init__(self, gamma: float = 2.0) -> None:
        self.gamma = gamma

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, domains: ArrayLike | None = None
    ) -> Self:
        """Fit the line; without `domains`, it is ridge regression."""
        if not self.gamma >= 0:
            raise InputError(f"gamma must be a non-negative number, got {self.gamma!r}")
        rows = np.column_stack([np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)])
        weight = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        domain = np.zeros(len(rows), np.intp) if domains is None else np.unique(domains, return_inverse=True)[1]
        middle = weight @ rows / weight.sum()
        rows = rows - middle
        indicator = np.eye(domain.max() + 1)[domain] * weight[:, None]
        mean = (indicator.T @ rows) / np.maximum(indicator.sum(0), 1e-300)[:, None]
        moved = rows + (np.sqrt(self.gamma) - 1) * mean[domain]
        line = gcv_ridge(moved[:, :-1], moved[:, -1], weight)
        self.line_ = line._replace(intercept=float(middle[-1] - middle[:-1] @ line.coef))
        self.n_features_in_ = len(line.coef)
        return self


def logistic(solver: str = "newton-cholesky") -> Any:
    """Return scikit-learn's logistic regression on standardised columns."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=200, tol=1e-3, solver=solver))


def make_automatic(n_classes: int) -> list[Any]:
    """Return the learners of `estimator="auto"`, from stiff to flexible; 0 classes are a regression.

    >>> [type(learner).__name__ for learner in make_automatic(0)]
    ['Line', 'Additive', 'Pipeline']
    """
    few: dict[str, Any] = {"max_iter": TREES, "learning_rate": RATE}
    if n_classes == 0:
        return [Line(), Additive(**few), boosted(**few)]
    if n_classes > MANY_CLASSES:
        return [logistic("lbfgs"), AdditiveClassifier(), forest(leaf=2)]
    return [logistic(), AdditiveClassifier(), boosted(classes=True, max_leaf_nodes=8, **few)]


def forest(leaf: int) -> ExtraTreesClassifier:
    """Return a forest that predicts all classes at once; boosting needs a tree for each class and step.

    >>> forest(leaf=1).fit([[0.0], [1.0], [2.0]], [0, 1, 2]).predict([[2.0]]).tolist()
    [2]
    """
    return ExtraTreesClassifier(30, min_samples_leaf=leaf, random_state=0)


def get_learner(name: str, *, classes: bool, seed: int = 0, network: Factory | None = None) -> Any:
    """Return an estimator by name; other names than ours are passed to the factory `network`.

    >>> type(get_learner("linear", classes=False)).__name__
    'Line'
    """
    if name == "linear":
        return logistic() if classes else Line()
    if name == "anchor" and not classes:  # in closed form; its network is `DomainRegressor("anchor")`
        return AnchorLine()
    if name == "trees":  # as scikit-learn sets them
        return boosted(classes=classes, max_iter=100, max_leaf_nodes=31, seed=seed)
    if network is None:
        raise InputError(f"unknown estimator {name!r}: use one of {', '.join(NAMED)}, or any scikit-learn estimator")
    return network(name, classes=classes, seed=seed)
