"""Weights of rows by the quality of their cell: what noisy cells lose, clean ones of the same domain gain."""

import numpy as np
from numpy.typing import ArrayLike

from rpo.functional.statistics import Array

CLIP = 5.0  # most of what exact weights gain, and a bound on what a rare row in a noisy cell can cost
ORDINARY = 2.0


def precision(sigma: ArrayLike) -> Array:
    r"""w_ek = 1/σ_ek², the weights under which a mean of rows of unequal noise has the least variance.

    >>> precision([[1.0, 2.0]])
    array([[1.  , 0.25]])
    """
    square: Array = np.square(np.asarray(sigma, dtype=float))
    inverse: Array = np.divide(1.0, square, out=np.full_like(square, np.nan), where=square > 0)
    return inverse


def informativeness(sigma: ArrayLike, null: float) -> Array:
    r"""w_ek = 1 − σ_ek²/σ_0², for labels that are classes: (1 − 2ε)² where a share ε of two classes is flipped.

    σ² is the squared error of a probability, ε(1 − ε) for one that knows the truth; σ_0² is that of a guess by the
    classes' shares, ¼ for two of a size.

    >>> informativeness(np.sqrt([[0.0, 0.1 * 0.9, 0.25]]), 0.25)
    array([[1.  , 0.64, 0.  ]])
    """
    share: Array = np.square(np.asarray(sigma, dtype=float)) / null
    return np.maximum(0.0, 1.0 - share)


def spread(sigma: ArrayLike, count: ArrayLike) -> tuple[Array, Array]:
    r"""σ_ek e^(∓½√(2/n_ek)): the noise of each cell less and plus one standard error of log σ²_ek.

    >>> low, high = spread([[1.0]], [[50]])
    >>> low.round(3), high.round(3)
    (array([[0.905]]), array([[1.105]]))
    """
    n = np.asarray(count, dtype=float)
    error = np.sqrt(2 / np.where(n > 0, n, np.inf)) / 2
    s = np.asarray(sigma, dtype=float)
    return s * np.exp(-error), s * np.exp(error)


def beyond_ordinary(generous: ArrayLike, strict: ArrayLike, factor: float = ORDINARY) -> Array:
    r"""w_ek = r if r = q⁺_ek/q_k < 1/factor, else 1; q_k = max(max_e q⁻_ek, median_k max_e q⁻_ek / factor).

    q⁺ and q⁻ are what a row of the cell is worth at the least and at the most noise that chance allows. Noise that a
    stratum has in every domain, up to `factor` times that of others, is its nature: to weigh it down would take the
    stratum from the model. Noise that is not for sure `factor` times that of the best domain costs nothing.

    >>> beyond_ordinary([[1.0, 0.6], [0.1, 0.4]], [[1.0, 0.6], [0.1, 0.4]])
    array([[1. , 1. ],
           [0.1, 1. ]])
    """
    best = np.max(np.where(np.isnan(strict), -np.inf, strict), axis=0)
    there = np.isfinite(best)
    if not there.any():
        return np.asarray(generous, dtype=float).copy()
    level = np.maximum(best, np.median(best[there]) / factor)
    level = np.where(level > 0, level, 1.0)
    ratio: Array = np.asarray(generous, dtype=float) / level
    return np.where(np.isnan(ratio) | (ratio < 1 / factor), ratio, 1.0)


def clip_ratio(weight: ArrayLike, ratio: float = CLIP) -> Array:
    r"""max(w_ek, max_k w_ek / ratio): no row counts `ratio` times another of its domain; 0 leaves all as they are.

    >>> clip_ratio([[1.0, 0.5, 0.001]], 5.0)
    array([[1. , 0.5, 0.2]])
    """
    w = np.asarray(weight, dtype=float)
    if not ratio:
        return w.copy()
    top = np.max(np.where(np.isnan(w), -np.inf, w), axis=1, keepdims=True)
    return np.where(np.isnan(w), np.nan, np.maximum(w, top / ratio))


def mean_one(weight: ArrayLike, count: ArrayLike) -> Array:
    r"""w_ek N_e / Σ_k n_ek w_ek, so that Σ_k n_ek w_ek = N_e: domains count as before. Empty cells weigh one.

    A domain whose cells all weigh nothing keeps its rows as they are.

    >>> mean_one([[1.0, 3.0], [0.0, 0.0]], [[10, 10], [10, 10]])
    array([[0.5, 1.5],
           [1. , 1. ]])
    """
    w, n = np.asarray(weight, dtype=float), np.asarray(count, dtype=float)
    there = (n > 0) & np.isfinite(w)
    total = np.where(there, n * np.where(there, w, 0), 0).sum(1, keepdims=True)
    rows = np.where(there, n, 0).sum(1, keepdims=True)
    scaled: Array = np.where(there, w, 1.0) * np.divide(rows, total, out=np.ones_like(total), where=total > 0)
    return np.where(there & (total > 0), scaled, 1.0)
