"""Density and noise of every (domain, stratum) cell, from which penalties are computed (Algorithm 1, step 4)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Below this many rows a mean squared residual is hardly informative: its relative standard error, sqrt(2/n), is over
# 60 %. Such a cell borrows its noise, and is marked as too small to judge.
MIN_ROWS = 5


def cell_weight(
    domain: ArrayLike,
    stratum: ArrayLike,
    *,
    n_domains: int | None = None,
    n_strata: int | None = None,
    weight: ArrayLike | None = None,
) -> Array:
    r"""Count the rows (or their weight) of each domain in each stratum, N_ek, shape `(E, K)`.

    >>> cell_weight([0, 0, 1], [0, 0, 1])
    array([[2., 0.],
           [0., 1.]])
    """
    e, k = np.asarray(domain), np.asarray(stratum)
    shape = (
        int(e.max()) + 1 if n_domains is None else n_domains,
        int(k.max()) + 1 if n_strata is None else n_strata,
    )
    return _cell_sum(e, k, np.ones(len(e)) if weight is None else np.asarray(weight, dtype=float), shape)


def r_hat(domain: ArrayLike, stratum: ArrayLike, **options: Any) -> Array:
    r"""Compute the share of each domain's rows in each stratum; options as in `cell_weight`.

    r̂_ek = N_ek / N_e, NaN where domain e has no row of stratum k.

    >>> r_hat([0, 0, 0, 1], [0, 0, 1, 1])
    array([[0.66666667, 0.33333333],
           [       nan, 1.        ]])
    """
    count = cell_weight(domain, stratum, **options)
    total = count.sum(1, keepdims=True)
    share: Array = np.divide(count, total, out=np.full_like(count, np.nan), where=count > 0)
    return share


def sigma(
    squared_residual: ArrayLike,
    domain: ArrayLike,
    stratum: ArrayLike,
    *,
    n_domains: int | None = None,
    n_strata: int | None = None,
    weight: ArrayLike | None = None,
) -> Array:
    r"""Compute the root mean squared residual of each cell, σ_ek, shape `(E, K)`; NaN for an empty cell.

    >>> sigma([1.0, 1.0, 4.0], [0, 0, 1], [0, 0, 1])
    array([[ 1., nan],
           [nan,  2.]])
    """
    count = cell_weight(domain, stratum, n_domains=n_domains, n_strata=n_strata, weight=weight)
    value = np.asarray(squared_residual, dtype=float)
    value = value if weight is None else value * np.asarray(weight, dtype=float)
    total = _cell_sum(np.asarray(domain), np.asarray(stratum), value, count.shape)
    return np.sqrt(np.divide(total, count, out=np.full_like(count, np.nan), where=count > 0))


def borrow(sigma: ArrayLike, count: ArrayLike, *, min_rows: float = MIN_ROWS) -> Array:
    r"""Replace the noise of cells with fewer than `min_rows` rows by that of their stratum over all domains.

    If the stratum has too few rows as well, by that of all rows.

    >>> borrow([[1.0, 9.0], [1.0, 2.0]], [[50, 1], [50, 50]]).round(2)
    array([[1.  , 2.35],
           [1.  , 2.  ]])
    """
    s, n = np.asarray(sigma, dtype=float), np.asarray(count, dtype=float)
    square = np.where(n > 0, np.nan_to_num(s) ** 2 * n, 0.0)
    everything = square.sum() / max(n.sum(), 1e-300)
    rows = n.sum(0)
    pool = np.divide(square.sum(0), rows, out=np.full_like(rows, everything), where=rows >= min_rows)
    return np.where((n > 0) & (n < min_rows), np.sqrt(pool), s)


def shrink(sigma: ArrayLike, count: ArrayLike) -> Array:
    r"""Shrink the noise of cells towards the common noise level, by empirical Bayes.

        log σ̃²_ek = μ + τ²/(τ² + 2/n_ek) · (log σ²_ek − μ)

    2/n is the variance of the logarithm of a mean of n squared Gaussians; μ is the mean over cells weighted by
    their precision, τ² the variance between cells beyond that (moments, never negative).

    >>> shrink([[1.0, 1.0, 4.0]], [[1000, 1000, 1000]]).round(1)
    array([[1., 1., 4.]])
    >>> shrink([[1.0, 1.0, 4.0]], [[1000, 1000, 1]]).round(1)
    array([[1., 1., 1.]])
    """
    s, n = np.asarray(sigma, dtype=float), np.asarray(count, dtype=float)
    known = (n > 0) & (s > 0)
    if known.sum() < 2:
        return s.copy()
    log, noise = 2 * np.log(s[known]), 2 / n[known]
    precision = 1 / noise
    mean = np.average(log, weights=precision)
    # DerSimonian and Laird's moment estimate of the variance between cells.
    excess = (precision * (log - mean) ** 2).sum() - (known.sum() - 1)
    tau2 = max(0.0, excess / (precision.sum() - (precision**2).sum() / precision.sum()))
    mean = np.average(log, weights=1 / (tau2 + noise))
    shrunk = s.copy()
    shrunk[known] = np.exp((mean + tau2 / (tau2 + noise) * (log - mean)) / 2)
    return shrunk


def _cell_sum(e: NDArray[Any], k: NDArray[Any], value: Array, shape: tuple[int, ...]) -> Array:
    flat: Array = np.bincount(
        e.astype(np.intp) * shape[1] + k.astype(np.intp), value, minlength=shape[0] * shape[1]
    ).astype(float)
    return flat.reshape(shape)
