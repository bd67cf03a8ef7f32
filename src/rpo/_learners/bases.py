"""Transformers of columns: bins for trees, splines and products of pairs for linear models."""

from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import SplineTransformer

from rpo._mapped import BLOCK, blocks
from rpo._stats.ridge import Array, Ridge

BINS = 200  # distinct values that a tree is offered of a column
FEW = 5  # distinct values up to which a column has no curve
KNOTS, COLUMNS = 12, 160  # of a curve; of all curves together
PRODUCTS = 30
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
        """Return the mean of the bin of each value."""
        x = np.array(X, dtype=np.float64)
        for j, (edges, means) in enumerate(zip(self.edges_, self.means_, strict=True)):
            if edges is not None:
                x[:, j] = means[np.minimum(np.searchsorted(edges, x[:, j], side="right"), len(means) - 1)]
        return x


class Binned(NamedTuple):
    """Rows of a table in bins of all of it, so that many trees need not look for bins each."""

    bins: Coarse
    columns: Array

    def rows(self, some: NDArray[Any] | slice) -> "Binned":
        """Select rows; keep the bins."""
        return Binned(self.bins, self.columns[some])


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
        """Standardise columns."""
        x = np.clip(np.asarray(X, dtype=np.float64), self.low_, self.high_)
        return np.asarray((x - self.mean_) / self.scale_)

    def transform(self, X: ArrayLike) -> Array:
        """Return the standardised columns, followed by their splines."""
        return self.expand(self.standard(X))

    def expand(self, z: Array) -> Array:
        """Append the splines to columns that are standardised already."""
        return z if self.spline_ is None else np.hstack([z, self.spline_.transform(z[:, self.curved_])])

    def value(self, z: Array, coef: Array) -> Array:
        """Compute `expand(z) @ coef` one column at a time, with a tenth of the memory and of the time."""
        total = z @ coef[: z.shape[1]]
        if self.spline_ is None:
            return np.asarray(total)
        of_curve = coef[z.shape[1] :].reshape(int(self.curved_.sum()), -1)
        for j, basis, c in zip(np.flatnonzero(self.curved_), self.spline_.bsplines_, of_curve, strict=True):
            if not c.any():
                continue
            curve = BSpline.construct_fast(basis.t, np.append(c, 0.0), basis.k, extrapolate=False)
            low, high = basis.t[basis.k], basis.t[-basis.k - 1]
            inside = np.clip(z[:, j], low, high)
            total += curve(inside)
            beyond = z[:, j] - inside  # straight on
            if (out := beyond != 0).any():
                slope = curve.derivative()([low, high])
                total[out] += beyond[out] * slope[(beyond[out] > 0).astype(np.intp)]
        return np.asarray(total)


def choose_products(z: Array, residual: Array, weight: Array | None) -> NDArray[np.intp]:
    """Choose pairs of columns whose product correlates with a residual by more than chance, at most 30, `(pairs, 2)`.

    >>> z = np.random.default_rng(0).normal(size=(500, 3))
    >>> choose_products(z, z[:, 0] * z[:, 2], None)[0].tolist()
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
    width = 64 if len(z) <= BLOCK else 8  # products that are held at once
    for first in range(0, len(pairs), width):
        batch = slice(first, first + width)
        product = z[:, pairs[batch, 0]] * z[:, pairs[batch, 1]]
        product -= product.mean(0)
        strength[batch] = np.abs(product.T @ r) / np.maximum(np.sqrt((product**2).sum(0)) * norm, 1e-300)
    order = np.argsort(-strength, kind="stable")[:PRODUCTS]
    return np.asarray(pairs[order[strength[order] * np.sqrt(len(z)) > _CERTAIN]])


def append_products(z: Array, columns: Array, pairs: NDArray[np.intp]) -> Array:
    """Append products of pairs of standardised columns to the columns of a basis.

    >>> append_products(np.array([[2.0, 3.0]]), np.array([[1.0]]), np.array([[0, 1]])).tolist()
    [[1.0, 6.0]]
    """
    return np.hstack([columns, z[:, pairs[:, 0]] * z[:, pairs[:, 1]]]) if len(pairs) else columns


class Columns:
    """The columns of a basis and products of pairs, for standardised rows; computed in blocks if there are many rows.

    >>> z = np.linspace(-1, 1, 50)[:, None]
    >>> columns = Columns(Basis().fit(z), z)
    >>> columns(slice(0, 2)).shape, columns.value(np.ones(14)).shape
    ((2, 14), (50,))
    """

    def __init__(self, basis: Basis, z: Array) -> None:
        self.basis, self.z, self.pairs = basis, z, np.empty((0, 2), dtype=np.intp)
        self.every = basis.expand(z) if len(z) <= BLOCK else None

    def add(self, pairs: NDArray[np.intp]) -> None:
        """Add products of pairs to the columns."""
        self.pairs = pairs
        if self.every is not None:
            self.every = append_products(self.z, self.every, pairs)

    def __call__(self, rows: slice) -> Array:
        """Return the columns for a slice of the rows."""
        if self.every is not None:
            return self.every[rows]
        return append_products(self.z[rows], self.basis.expand(self.z[rows]), self.pairs)

    def value(self, coef: Array, intercept: float = 0.0) -> Array:
        """Evaluate a linear function of the columns in all rows."""
        if self.every is not None:
            return np.asarray(self.every @ coef + intercept)
        line, total = Ridge(coef, intercept, 0.0), np.empty(len(self.z))
        for rows in blocks(len(self.z)):
            total[rows] = linear_part(self.basis, self.pairs, self.z[rows], line)
        return total


def linear_part(basis: Basis, pairs: NDArray[np.intp], z: Array, line: Ridge) -> Array:
    """Predict standardised rows by a ridge on the columns of a basis and products of pairs."""
    own = len(line.coef) - len(pairs)
    value = basis.value(z, line.coef[:own]) + line.intercept
    return value + (z[:, pairs[:, 0]] * z[:, pairs[:, 1]]) @ line.coef[own:] if len(pairs) else value
