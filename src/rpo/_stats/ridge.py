"""Ridge regression whose penalty is chosen by generalised cross-validation."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from rpo._mapped import blocks

Array = NDArray[np.float64]

# Multiples of the number of rows; the last leaves hardly more than the mean.
PENALTIES = np.append(np.logspace(-8, 1, 19), 1e6)
LITTLE = 0.01  # of a column's deviation, within groups


class Ridge(NamedTuple):
    """A linear function a + xb, and its effective degrees of freedom, including the mean."""

    coef: Array
    intercept: float
    freedom: float

    def __call__(self, x: Array) -> Array:
        """Predict the rows of x."""
        return x @ self.coef + self.intercept


def gcv_ridge(
    x: ArrayLike,
    y: ArrayLike,
    weight: ArrayLike | None = None,
    penalties: Array = PENALTIES,
    *,
    most: float = 1.0,
    least: float = 0.0,
) -> Ridge:
    r"""Fit a ridge regression whose penalty minimises generalised cross-validation.

        min_ab Σ_i w_i (y_i − a − x_i b)² + α n Σ_j s_j² b_j²,  s_j the deviation of column j

    α minimises GCV = RSS/(n − df)² (Golub, Heath and Wahba 1979) among those with df of at most `most` · n, because GCV
    is unreliable near an interpolating fit. The Gram matrix is used: with many rows, this takes a tenth of the time of
    a decomposition of x. Columns whose deviation is below `least`, nearly constant ones, are not used.

    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> line = gcv_ridge(x, 3 * x[:, 0] + 1)
    >>> round(float(line.coef[0]), 3), round(line.intercept, 3), round(line.freedom, 1)
    (3.0, 1.0, 2.0)
    """
    X, target = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return ridge_of(moments(X, target, weight), penalties=penalties, most=most, least=least)


class Moments(NamedTuple):
    """Sufficient statistics of ridge regression for any centring by group, computed in one pass.

    They are weighted sums of squares and products of columns and target about their means, and sums by group. Weights
    are scaled to sum to the number of rows, `n`.
    """

    n: int
    middle: Array
    mean: float
    gram: Array
    cross: Array
    total: float
    sums: Array
    sums_y: Array
    mass: Array


def moments(
    x: Array | Callable[[slice], Array],
    y: Array,
    weight: ArrayLike | None = None,
    group: NDArray[np.intp] | None = None,
    n_groups: int = 1,
) -> Moments:
    """Compute the sufficient statistics of ridge regression, in one group by default.

    `x` may be a function that returns the columns of a block of rows.

    >>> moments(np.array([[1.0], [3.0]]), np.array([1.0, 2.0])).gram.tolist()
    [[2.0]]
    """
    n = len(y)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64) * (n / np.sum(weight))
    by = np.zeros(n, np.intp) if group is None else group
    columns = x if callable(x) else x.__getitem__
    mean = float(w @ y / n)
    yc = y - mean
    parts = list(blocks(n))
    centre, gram, cross, sums = (np.zeros(()) for _ in range(4))
    for rows in parts:
        block, counts = columns(rows), w[rows]
        if rows.start == 0:  # centred at the mean of the first block, corrected below
            centre = counts @ block / (n if len(parts) == 1 else float(counts.sum()) or 1.0)
        xc = block - centre
        weighted = xc if weight is None else xc * counts[:, None]
        gram, cross = gram + weighted.T @ xc, cross + weighted.T @ yc[rows]
        of_group = csr_array((counts, (by[rows], np.arange(len(xc)))), shape=(n_groups, len(xc)))
        sums = sums + of_group @ xc
    mass = np.asarray(np.bincount(by, w, n_groups), dtype=np.float64)
    middle, sums_y = centre, np.asarray(np.bincount(by, w * yc, n_groups), dtype=np.float64)
    if len(parts) > 1:
        off = sums.sum(0) / n
        middle, sums = centre + off, sums - np.outer(mass, off)
        gram, cross = gram - n * np.outer(off, off), cross - off * float(w @ yc)
    return Moments(
        n, middle, mean, np.asarray(gram), np.asarray(cross), float(w @ yc**2), np.asarray(sums), sums_y, mass
    )


def ridge_of(
    of: Moments,
    theta: ArrayLike = 0.0,
    *,
    penalties: Array = PENALTIES,
    most: float = 1.0,
    least: float = 0.0,
) -> Ridge:
    r"""Fit a ridge regression from moments, with the share θ_g of each group's means removed.

    It is `gcv_ridge` of x_i − θ_g x̄_g and y_i − θ_g ȳ_g:

        Σ w x xᵀ − Σ_g (2θ_g − θ_g²) s_g s_gᵀ/m_g

    The intercept is that of the uncentred rows.

    >>> x, group = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])
    >>> of = moments(x, np.array([0.0, 1.0, 10.0, 11.0]), None, group, 2)
    >>> ridge_of(of, 1.0).coef.round(3)
    array([1.])
    """
    n, part = of.n, np.broadcast_to(np.asarray(theta, dtype=np.float64), of.mass.shape)
    off = (2 * part - part**2) / np.maximum(of.mass, 1e-300)
    middle, mean = (1 - part) @ of.sums / n, float((1 - part) @ of.sums_y / n)
    gram = of.gram - (of.sums * off[:, None]).T @ of.sums - n * np.outer(middle, middle)
    xy = of.cross - of.sums.T @ (off * of.sums_y) - n * middle * mean
    total = of.total - float(off @ of.sums_y**2) - n * mean**2
    # Columns that are constant within every group are zero then, not rounding errors.
    scale = np.sqrt(np.where(np.diag(gram) > 1e-13 * np.diag(of.gram), np.maximum(np.diag(gram), 0.0) / n, 0.0))
    used = (scale > 1e-9 * np.maximum(np.abs(of.middle), 1e-300)) & (scale >= least)
    # A slope from little variation within groups would be extrapolated a hundredfold between them.
    used &= scale >= LITTLE * np.sqrt(np.maximum(np.diag(of.gram), 0.0) / n)
    safe = np.where(used, scale, 1.0)
    inverse = np.where(used, 1 / safe, 0.0)
    spectrum, basis = np.linalg.eigh(gram * np.outer(inverse, inverse))
    spectrum = np.maximum(spectrum, 0.0)
    cross = basis.T @ (inverse * xy)
    weights = 1 / (spectrum[None] + penalties[:, None] * n)
    freedom = 1 + (spectrum * weights).sum(1)
    rss = total - 2 * weights @ cross**2 + weights**2 @ (spectrum * cross**2)
    gcv = np.maximum(rss, 1e-14 * total) / np.maximum(n - freedom, 0.5) ** 2
    gcv = np.where(freedom <= max(most * n, float(freedom.min())), gcv, np.inf)
    best = len(gcv) - 1 - int(np.argmin(gcv[::-1]))  # the smoothest among equals
    coef = inverse * (basis @ (weights[best] * cross))
    return Ridge(coef, of.mean - float(of.middle @ coef), float(freedom[best]))
