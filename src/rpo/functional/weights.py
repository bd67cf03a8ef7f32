"""Weights of rows by the quality of their cell: what noisy cells lose, clean ones of the same domain gain."""

import numpy as np
from numpy.typing import ArrayLike

from rpo.functional.statistics import Array

CLIP = 20.0


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


def clip_ratio(weight: ArrayLike, ratio: float = CLIP) -> Array:
    r"""max(w_ek, max_k w_ek / ratio): no row counts `ratio` times another of its domain; 0 leaves all as they are.

    >>> clip_ratio([[1.0, 0.5, 0.001]], 20.0)
    array([[1.  , 0.5 , 0.05]])
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
