"""Shares of rows and means, set against those of other rows: intervals, chance, and the size of a difference."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, ndtri

Array = NDArray[np.float64]

LARGEST_DIFFERENCE = 10.0  # beyond ten deviations a difference is only "very large"


def wilson(k: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
    r"""(k + z²/2 ± z √(k(n − k)/n + z²/4))/(n + z²): where a share lies that was k of n rows (Wilson 1927).

    >>> low, high = wilson(0, 10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.0, 0.278)
    """
    k, n = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    z = float(ndtri((1 + level) / 2))
    reach = z * np.sqrt(k * (n - k) / np.maximum(n, 1) + z**2 / 4)
    return np.maximum(0.0, (k + z**2 / 2 - reach) / (n + z**2)), np.minimum(1.0, (k + z**2 / 2 + reach) / (n + z**2))


def excess(k: ArrayLike, n: ArrayLike, k_rest: ArrayLike, n_rest: ArrayLike) -> Array:
    r"""max of P(Bin(n, p_rest) ≥ k) and P(Bin(n_rest, p) ≤ k_rest), p = (k + 1)/(n + 2).

    How surely is k of n a larger share than the rest has? Each side is tested against the other's share, and the
    larger p counts: neither may be too small to tell.

    >>> bool(excess(9, 10, 50, 1000) < 1e-6), bool(excess(300, 500, 0, 6) < 1e-3)
    (True, False)
    """
    k, n, k_rest, n_rest = (np.asarray(value, dtype=float) for value in (k, n, k_rest, n_rest))
    share, share_rest = (k + 1) / (n + 2), (k_rest + 1) / (n_rest + 2)
    own = np.where(k > 0, betainc(np.maximum(k, 1e-300), n - k + 1, share_rest), 1.0)
    others = np.where(k_rest < n_rest, betainc(np.maximum(n_rest - k_rest, 1e-300), k_rest + 1, 1 - share), 1.0)
    return np.maximum(own, others)


def standardised(mean: ArrayLike, variance: ArrayLike, mean_rest: ArrayLike, variance_rest: ArrayLike) -> Array:
    r"""d = (m − m_rest)/√((s² + s_rest²)/2), within ±10; zero where nothing differs.

    >>> standardised([3.0, 1.0], [1.0, 0.0], [2.0, 0.0], [1.0, 0.0]).tolist()
    [1.0, 10.0]
    """
    difference = np.asarray(mean, dtype=float) - np.asarray(mean_rest, dtype=float)
    spread = np.sqrt((np.asarray(variance, dtype=float) + np.asarray(variance_rest, dtype=float)) / 2)
    reach = LARGEST_DIFFERENCE * spread
    return np.asarray(
        np.where(
            np.abs(difference) <= reach,
            difference / np.where(spread > 0, spread, 1.0),
            np.copysign(LARGEST_DIFFERENCE, difference),
        )
    )
