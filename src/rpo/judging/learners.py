"""What residuals are taken from by default: a line, curves with boosted trees on what they leave, and boosted trees.

Trees and lines leave misfit at the edges of shifted domains that looks like noise. Curves that go on as lines where
data end do not; trees find what curves miss.
"""

from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from rpo.functional.ridge import Array, Ridge, gcv_ridge
from rpo.functional.scale import between
from rpo.mapped import blocks

BINS = 200  # distinct values that a tree is offered of a column
FEW = 5  # distinct values up to which a column has no curve
KNOTS, COLUMNS = 12, 160  # of a curve; of all curves together
PRODUCTS = 30
HARDLY = 1e-6  # deviation of a column of a basis below which rounding alone would tell it
_CERTAIN = 2.5  # standard errors from which on a product of two features is worth its place


class Coarse(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns with at most 200 distinct values: means of 200 bins of equal size, for trees.

    Boosted trees bin their columns anyway, but with sample weights scikit-learn takes seconds for it.

    >>> Coarse(bins=2).fit_transform(np.array([[1.0], [2.0], [3.0], [5.0]])).tolist()
    [[1.5], [1.5], [4.0], [4.0]]
    """

    def __init__(self, bins: int = BINS) -> None:
        self.bins = bins

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's signature)
        """Find the bins of every column."""
        x = np.asarray(X, dtype=np.float64)
        self.edges_: list[Array | None] = []
        self.means_: list[Array] = []
        for column in x.T:
            values = np.unique(column)
            if len(values) <= self.bins:
                self.edges_.append(None)
                self.means_.append(values)
                continue
            edges = np.unique(np.quantile(column, np.linspace(0, 1, self.bins + 1)[1:-1]))
            place = np.searchsorted(edges, column, side="right")
            count = np.bincount(place, minlength=len(edges) + 1)
            mean = np.bincount(place, column, len(edges) + 1) / np.maximum(count, 1)
            self.edges_.append(edges[count[:-1] > 0] if (count == 0).any() else edges)
            self.means_.append(mean[count > 0] if (count == 0).any() else mean)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """The mean of the bin that each value falls in."""
        x = np.array(X, dtype=np.float64)
        for j, (edges, means) in enumerate(zip(self.edges_, self.means_, strict=True)):
            if edges is not None:
                x[:, j] = means[np.minimum(np.searchsorted(edges, x[:, j], side="right"), len(means) - 1)]
        return x


class Basis(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Standardised columns and cubic splines of each, straight beyond the data.

    Knots lie halfway between even spacing and even counts: the first serves the edges, the second the middle. Values
    far beyond the bulk are drawn in, so that a fill value such as 1e36 does not take all knots for itself.

    >>> Basis().fit_transform(np.linspace(0, 1, 50)[:, None]).shape
    (50, 14)
    """

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's signature)
        """Find scales and knots."""
        x = np.asarray(X, dtype=np.float64)
        low, middle, high = np.quantile(x, [0.01, 0.5, 0.99], axis=0)
        reach = 4 * np.maximum(high - low, 1e-12 * np.maximum(np.abs(middle), 1e-300))
        binary = high == low  # a rare category: nothing to draw in
        self.low_ = np.where(binary, x.min(0), low - reach)
        self.high_ = np.where(binary, x.max(0), high + reach)
        x = np.clip(x, self.low_, self.high_)
        self.mean_, scale = x.mean(0), x.std(0)
        self.scale_ = np.where(scale > 0, scale, 1.0)
        self.curved_ = np.array([len(np.unique(column)) > FEW for column in x.T], dtype=bool)
        self.spline_ = None
        if self.curved_.any():
            curved = (x - self.mean_)[:, self.curved_] / self.scale_[self.curved_]
            q = np.linspace(0, 1, int(np.clip(COLUMNS // curved.shape[1] - 2, 3, KNOTS)))
            even = curved.min(0) + q[:, None] * np.ptp(curved, axis=0)
            knots = (np.quantile(curved, q, axis=0) + even) / 2
            self.spline_ = SplineTransformer(degree=3, knots=knots, extrapolation="linear", include_bias=False)
            self.spline_.fit(curved)
        return self

    def standard(self, X: ArrayLike) -> Array:
        """Standardised columns."""
        x = np.clip(np.asarray(X, dtype=np.float64), self.low_, self.high_)
        return np.asarray((x - self.mean_) / self.scale_)

    def transform(self, X: ArrayLike) -> Array:
        """Standardised columns, then the splines."""
        z = self.standard(X)
        return z if self.spline_ is None else np.hstack([z, self.spline_.transform(z[:, self.curved_])])


def chosen_products(z: Array, residual: Array, weight: Array | None) -> NDArray[np.intp]:
    """Pairs of columns whose product goes along with a residual by more than chance, at most 30, `(pairs, 2)`.

    >>> z = np.random.default_rng(0).normal(size=(500, 3))
    >>> chosen_products(z, z[:, 0] * z[:, 2], None)[0].tolist()
    [0, 2]
    """
    d = z.shape[1]
    if d < 2:
        return np.empty((0, 2), dtype=np.intp)
    w = np.ones(len(z)) if weight is None else weight
    r = w * (residual - np.average(residual, weights=w))
    candidates = range(d)
    if d > PRODUCTS:  # those that matter by themselves, or in what size the residual has
        alone = np.abs(z.T @ r) + np.abs(z.T @ np.abs(r))
        candidates = sorted(np.argsort(-alone, kind="stable")[:PRODUCTS].tolist())  # type: ignore[assignment]
    pairs = np.array(list(combinations(candidates, 2)), dtype=np.intp)
    strength = np.zeros(len(pairs))
    norm = float(np.sqrt(r @ r)) or 1.0
    for some in range(0, len(pairs), 64):
        product = z[:, pairs[some : some + 64, 0]] * z[:, pairs[some : some + 64, 1]]
        product -= product.mean(0)
        strength[some : some + 64] = np.abs(product.T @ r) / np.maximum(np.sqrt((product**2).sum(0)) * norm, 1e-300)
    order = np.argsort(-strength, kind="stable")[:PRODUCTS]
    return np.asarray(pairs[order[strength[order] * np.sqrt(len(z)) > _CERTAIN]])


def with_products(z: Array, columns: Array, pairs: NDArray[np.intp]) -> Array:
    """Columns of a basis with products of pairs of standardised ones beside them.

    >>> with_products(np.array([[2.0, 3.0]]), np.array([[1.0]]), np.array([[0, 1]])).tolist()
    [[1.0, 6.0]]
    """
    return np.hstack([columns, z[:, pairs[:, 0]] * z[:, pairs[:, 1]]]) if len(pairs) else columns


class Additive(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """f(x) = Σ_j s_j(x_j) + Σ_jk β_jk x_j x_k + trees(x): curves and products by ridge, boosted trees on the rest.

    With `domains`, each has an intercept of its own, a normal draw (`offset_`), which predictions leave out: means of
    domains are taken off by θ_e = 1 − √(σ²/(σ² + n_e τ²)), as in the estimator of random effects.

    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = Additive(trees=False).fit(x, x[:, 0] ** 2 + x[:, 0] * x[:, 1])
    >>> model.predict([[1.0, 1.0]]).round(1)
    array([2.])
    """

    def __init__(self, trees: bool = True, max_iter: int = 60, max_leaf_nodes: int = 8, random_state: int = 0) -> None:
        self.trees = trees
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        domains: NDArray[np.intp] | None = None,
    ) -> Self:
        """Fit curves, then products, then trees."""
        x, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.n_features_in_ = x.shape[1]
        self.low_, self.high_ = target.min() - np.ptp(target), target.max() + np.ptp(target)
        self.basis_ = Basis().fit(x)
        z, columns = self.basis_.standard(x), self.basis_.transform(x)
        inside, centred = demeaned(columns, target, weight, domains)
        first = gcv_ridge(inside, centred, weight, least=HARDLY)
        self.pairs_ = chosen_products(z, centred - first(inside), weight)
        columns = with_products(z, columns, self.pairs_)
        line, offset = _with_offsets(columns, target, weight, domains)
        level = offset[domains] if domains is not None else 0.0
        self.line_, self.offset_ = line, offset
        if self.trees:
            self.trees_ = boosted(max_iter=self.max_iter, max_leaf_nodes=self.max_leaf_nodes, seed=self.random_state)
            rest = target - level - line(columns)
            self.trees_.fit(x, rest, **{f"{self.trees_.steps[-1][0]}__sample_weight": weight})
        return self

    def predict(self, X: ArrayLike) -> Array:
        """f(x), a block of rows at a time; never farther beyond the targets seen than they lie apart."""
        x = np.asarray(X, dtype=np.float64)
        value = np.empty(len(x))
        for some in blocks(len(x)):
            columns = with_products(self.basis_.standard(x[some]), self.basis_.transform(x[some]), self.pairs_)
            value[some] = self.line_(columns)
            if self.trees:
                value[some] += self.trees_.predict(x[some])
        return np.clip(value, self.low_, self.high_)


def demeaned(
    columns: Array, y: Array, weight: Array | None, domains: NDArray[np.intp] | None, theta: Array | None = None
) -> tuple[Array, Array]:
    """Columns and target less θ_e times their means over the domain (θ = 1 without one); as they are without domains.

    >>> demeaned(np.array([[1.0], [3.0]]), np.array([1.0, 2.0]), None, np.array([0, 0]))[1].tolist()
    [-0.5, 0.5]
    """
    if domains is None:
        return columns, y
    w = np.ones(len(y)) if weight is None else weight
    number = int(domains.max()) + 1
    mass = np.maximum(np.bincount(domains, w, number), 1e-300)
    part = (np.ones(number) if theta is None else theta) / mass
    means = np.stack([np.bincount(domains, w * column, number) for column in columns.T], 1)
    inside = columns - (part[:, None] * means)[domains]
    # What is the same throughout every domain is nothing then, not the rounding that is left of it.
    inside[np.abs(inside) <= 1e-12 * np.abs(columns).max(0)] = 0.0
    return inside, y - (part * np.bincount(domains, w * y, number))[domains]


def _with_offsets(
    columns: Array, y: Array, weight: Array | None, domains: NDArray[np.intp] | None
) -> tuple[Ridge, Array]:
    """A ridge on a basis, and the intercept of every domain, shrunk; none without domains."""
    if domains is None:
        return gcv_ridge(columns, y, weight, least=HARDLY), np.zeros(0)
    w = np.ones(len(y)) if weight is None else weight
    number = int(domains.max()) + 1
    mass = np.bincount(domains, w, number)
    there = mass > 1e-9
    safe = np.where(there, mass, 1.0)

    def offsets(line: Ridge) -> tuple[Array, float, float]:
        rest = y - columns @ line.coef
        mean = np.bincount(domains, w * rest, number) / safe
        within = max(float(w @ (rest - mean[domains]) ** 2) / max(len(y) - number - line.freedom, 1.0), 1e-300)
        centre, tau2 = between(mean[there], within / mass[there])
        return np.where(there, tau2 * mass / (tau2 * mass + within) * (mean - centre), 0.0), within, tau2

    line = gcv_ridge(*demeaned(columns, y, weight, domains), weight, least=HARDLY)
    _, within, tau2 = offsets(line)
    if tau2 == 0:
        return gcv_ridge(columns, y, weight, least=HARDLY), np.zeros(number)
    theta = 1 - np.sqrt(within / (within + mass * tau2))
    line = gcv_ridge(*demeaned(columns, y, weight, domains, theta), weight, least=HARDLY)
    offset, _, _ = offsets(line)
    rest = y - offset[domains] - columns @ line.coef
    return line._replace(intercept=float(np.average(rest, weights=w))), offset


def _scaler(columns: Array) -> StandardScaler:
    """Brings columns to deviation one, but those that hardly a row tells."""
    scaler = StandardScaler().fit(columns)
    scaler.scale_ = np.where(scaler.scale_ < HARDLY, 1.0, scaler.scale_)
    return scaler


class AdditiveClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression on curves of every column and products of pairs.

    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> AdditiveClassifier().fit(x, x[:, 0] ** 2 > 1).predict([[0.0], [3.0]]).tolist()
    [False, True]
    """

    def __init__(self, C: float = 0.1) -> None:
        self.C = C

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Curves first, then the products that go along with what is left."""
        x, label = np.asarray(X, dtype=np.float64), np.asarray(y)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.n_features_in_ = x.shape[1]
        self.classes_ = np.unique(label)
        self.basis_ = Basis().fit(x)
        z, columns = self.basis_.standard(x), self.basis_.transform(x)
        self.scale_ = _scaler(columns)
        self.pairs_ = np.empty((0, 2), dtype=np.intp)
        self.logistic_ = self._logistic(columns, label, weight)
        first = (label == self.classes_[-1]) - self.logistic_.predict_proba(self.scale_.transform(columns))[:, -1]
        self.pairs_ = chosen_products(z, first, weight)
        if len(self.pairs_):
            columns = with_products(z, columns, self.pairs_)
            self.scale_ = _scaler(columns)
            self.logistic_ = self._logistic(columns, label, weight)
        return self

    def _logistic(self, columns: Array, label: NDArray[Any], weight: Array | None) -> LogisticRegression:
        model = LogisticRegression(C=self.C, solver="newton-cholesky", max_iter=50, tol=1e-3)
        return model.fit(self.scale_.transform(columns), label, sample_weight=weight)

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each class, a block of rows at a time."""
        x = np.asarray(X, dtype=np.float64)
        value = np.empty((len(x), len(self.classes_)))
        for some in blocks(len(x)):
            columns = with_products(self.basis_.standard(x[some]), self.basis_.transform(x[some]), self.pairs_)
            value[some] = self.logistic_.predict_proba(self.scale_.transform(columns))
        return value

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])


def boosted(*, classes: bool = False, max_iter: int = 100, max_leaf_nodes: int = 15, seed: int = 0) -> Any:
    """scikit-learn's boosted trees on coarse columns.

    >>> bool(boosted().fit(np.arange(100.0)[:, None], np.arange(100.0)).predict([[90.0]])[0] > 80)
    True
    """
    made = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    trees = made(max_iter=max_iter, max_leaf_nodes=max_leaf_nodes, early_stopping=False, random_state=seed)
    return make_pipeline(Coarse(), trees)


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
        """a + xb."""
        return self.line_(np.asarray(X, dtype=np.float64))


def logistic() -> Any:
    """scikit-learn's logistic regression on standardised columns."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=200, tol=1e-3, solver="newton-cholesky"))


def automatic(classes: bool) -> list[Any]:
    """The learners of `estimator="auto"`, from stiff to flexible.

    >>> [type(learner).__name__ for learner in automatic(False)]
    ['Line', 'Additive', 'Pipeline']
    """
    if classes:
        return [logistic(), AdditiveClassifier(), boosted(classes=True, max_iter=60, max_leaf_nodes=8)]
    return [Line(), Additive(), boosted(max_iter=60)]
