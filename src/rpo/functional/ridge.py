"""Ridge regression whose penalty is chosen by generalised cross-validation."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Multiples of the number of rows; the last leaves next to nothing but the mean.
PENALTIES = np.append(np.logspace(-8, 1, 19), 1e6)


class Ridge(NamedTuple):
    """A line a + xb, and its effective degrees of freedom, the mean among them."""

    coef: Array
    intercept: float
    freedom: float

    def __call__(self, x: Array) -> Array:
        """Its value at the rows of x."""
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
    r"""min_ab Σ_i w_i (y_i − a − x_i b)² + α n Σ_j s_j² b_j², s_j the deviation of column j.

    α minimises GCV = RSS/(n − df)² (Golub, Heath and Wahba 1979) where df is at most `most` · n: near n GCV is no
    guide, for a fit through every row leaves nothing. From the Gram matrix: a tenth of the time that a decomposition of
    x itself takes where rows are many. A column whose deviation is below `least` has no part: hardly a row tells it.

    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> line = gcv_ridge(x, 3 * x[:, 0] + 1)
    >>> round(float(line.coef[0]), 3), round(line.intercept, 3), round(line.freedom, 1)
    (3.0, 1.0, 2.0)
    """
    X, target = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(target)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64) * (n / np.sum(weight))
    middle, mean = w @ X / n, float(w @ target / n)
    xc, yc = X - middle, target - mean
    gram = (xc * w[:, None]).T @ xc
    scale = np.sqrt(np.maximum(np.diag(gram) / n, 0.0))
    used = (scale > 1e-9 * np.maximum(np.abs(middle), 1e-300)) & (scale >= least)
    safe = np.where(used, scale, 1.0)
    inverse = np.where(used, 1 / safe, 0.0)
    spectrum, basis = np.linalg.eigh(gram * np.outer(inverse, inverse))
    spectrum = np.maximum(spectrum, 0.0)
    cross = basis.T @ (inverse * (xc.T @ (w * yc)))
    total = float(w @ yc**2)
    weights = 1 / (spectrum[None] + penalties[:, None] * n)
    freedom = 1 + (spectrum * weights).sum(1)
    rss = total - 2 * weights @ cross**2 + weights**2 @ (spectrum * cross**2)
    gcv = np.maximum(rss, 1e-14 * total) / np.maximum(n - freedom, 0.5) ** 2
    gcv = np.where(freedom <= max(most * n, float(freedom.min())), gcv, np.inf)
    best = len(gcv) - 1 - int(np.argmin(gcv[::-1]))  # of equals the smoothest
    coef = inverse * (basis @ (weights[best] * cross))
    return Ridge(coef, mean - float(middle @ coef), float(freedom[best]))
