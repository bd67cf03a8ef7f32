"""Which features relate to the target in the same way in every domain."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from rpo.functional.statistics import Array

# Of fewer rows the variance of a slope says next to nothing: on Radon, whose counties have nine homes on average, HC0
# finds slopes to differ where counties of twenty and more agree.
MIN_ROWS = 20


def screen(
    x: ArrayLike,
    y: ArrayLike,
    domain: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    alpha: float = 0.001,
    importance: ArrayLike | None = None,
    cell: ArrayLike | None = None,
) -> NDArray[np.bool_]:
    r"""Keep feature j unless Q_j = Σ_e (b_ej − b̄_j)²/V_ej is improbable: P(χ²_{E−1} > Q_j) < α/d (Cochran 1954).

    b_ej is the slope of the target on feature j alone in domain e, V_ej its heteroscedasticity-consistent variance
    (HC0), b̄_j their precision-weighted mean. Several targets `(n, t)`: the feature must pass for each, at α/(d t).
    The feature with the largest probability always stays. A `weight` counts rows; `importance` lets rows of less noise
    say more, which makes slopes surer where noise is uneven. Slopes are then best compared within cells, numbered by
    `cell`: weights that differ by cell shift what the rows of a domain are like, and with it the slope of a curve.
    Domains of fewer than 20 rows are not asked.

    >>> rng = np.random.default_rng(0)
    >>> domain = np.repeat([0, 1], 200)
    >>> y = rng.normal(size=400)
    >>> same, other = y + rng.normal(size=400), np.where(domain == 0, 1, -1) * y + rng.normal(size=400)
    >>> screen(np.column_stack([same, other]), y, domain)
    array([ True, False])
    """
    X, Y, e = np.asarray(x, dtype=float), np.asarray(y, dtype=float), np.asarray(domain)
    Y = Y[:, None] if Y.ndim == 1 else Y
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    trust = np.ones(len(X)) if importance is None else np.asarray(importance, dtype=float)
    if cell is not None:
        X, Y = (_within(values, np.asarray(cell), w * trust) for values in (X, Y))
    probability = np.stack([homogeneity(X, target, e, w, trust) for target in Y.T]).min(0)
    kept: NDArray[np.bool_] = probability >= alpha / (X.shape[1] * Y.shape[1])
    kept[np.argmax(probability)] = True
    return kept


def _within(values: Array, cell: NDArray[Any], weight: Array) -> Array:
    """Less the weighted mean of their cell."""
    _, place = np.unique(cell, return_inverse=True)
    total = np.bincount(place, weight)
    sums = np.column_stack([np.bincount(place, weight * column) for column in values.T])
    centred: Array = values - (sums / np.where(total > 0, total, 1)[:, None])[place]
    return centred


def homogeneity(
    X: Array,
    y: Array,
    domain: NDArray[Any],
    weight: Array,
    importance: Array | None = None,
    *,
    min_rows: int = MIN_ROWS,
) -> Array:
    r"""P(χ² > Q_j) of each feature: near zero where its slope differs across domains; one where it cannot be told.

    >>> homogeneity(np.ones((80, 1)), np.arange(80.0), np.arange(80) % 2, np.ones(80))
    array([1.])
    """
    slopes, variances = [], []
    for e in np.unique(domain):
        rows = (domain == e) & (weight > 0)
        if rows.sum() < min_rows:
            continue
        trust = 1.0 if importance is None else importance[rows, None]
        w = weight[rows, None] * trust
        centred = X[rows] - (w * X[rows]).sum(0) / w.sum()
        target = (y[rows] - (w[:, 0] * y[rows]).sum() / w.sum())[:, None]
        power = (w * centred**2).sum(0)
        safe = np.where(power > 0, power, 1)
        slope = (w * centred * target).sum(0) / safe
        residual = target - slope * centred
        slopes.append(slope)
        # No variance in a feature, or a perfect fit, says nothing about how sure the slope is.
        variance = (w * trust * centred**2 * residual**2).sum(0) / safe**2
        variances.append(np.where((power > 1e-12 * w.sum()) & (variance > 0), variance, np.inf))
    if len(slopes) < 2:
        return np.ones(X.shape[1])
    b, precision = np.stack(slopes), 1 / np.stack(variances)
    total = precision.sum(0)
    mean = (precision * b).sum(0) / np.where(total > 0, total, 1)
    q = (precision * (b - mean) ** 2).sum(0)
    freedom = np.maximum((precision > 0).sum(0) - 1, 0)
    return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), q), 1.0)
