"""How sure a noise is: intervals and tests in closed form, for residuals of any tail.

The mean of n squared residuals is treated as χ² with 2n/(κ − 1) degrees of freedom (Box 1953): n of them for Gaussian
residuals (κ = 3), fewer where the tails are heavy. κ, the kurtosis, is that of all rows about their own cell's noise.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, digamma, fdtrc, gammaincinv, polygamma

from rpo.functional.statistics import MIN_ROWS

Array = NDArray[np.float64]

LEVEL = 0.95
LEAST_KURTOSIS = 1.2  # residuals of classes may hardly vary at all; no sample is endlessly sure


def kurtosis(squared: ArrayLike, cell: ArrayLike) -> float:
    r"""κ = mean u² (1 + 2/n_k), u = r²/σ_k² over cells of at least five rows; 3 if there are none.

    The factor makes up for u being measured against a mean that it is part of, exactly so for Gaussian residuals.

    >>> r = np.random.default_rng(0).normal(size=20_000)
    >>> round(kurtosis(r**2, np.arange(20_000) % 2_000), 1)
    3.0
    """
    value, code = np.asarray(squared, dtype=float), np.asarray(cell)
    count = np.bincount(code)
    mean = np.bincount(code, value) / np.maximum(count, 1)
    used = (count[code] >= MIN_ROWS) & (mean[code] > 0)
    if not used.any():
        return 3.0
    relative = value[used] / mean[code[used]]
    return float(max(LEAST_KURTOSIS, np.mean(relative**2 * (1 + 2 / count[code[used]]))))


def freedom(n: ArrayLike, kurtosis: float) -> Array:
    """Degrees of freedom of a mean of n squared residuals: 2n/(κ − 1).

    >>> float(freedom(10, 3.0))
    10.0
    """
    return np.asarray(2 * np.asarray(n, dtype=float) / (kurtosis - 1))


def interval(noise: ArrayLike, n: ArrayLike, kurtosis: float, level: float = LEVEL) -> tuple[Array, Array]:
    r"""σ √(ν/χ²_ν quantiles): where the true noise lies with that probability.

    >>> low, high = interval(1.0, 100, 3.0)
    >>> round(float(low), 3), round(float(high), 3)
    (0.879, 1.161)
    """
    value, nu = np.asarray(noise, dtype=float), freedom(n, kurtosis)

    def quantile(p: float) -> Array:
        return np.asarray(2 * gammaincinv(nu / 2, p))

    with np.errstate(divide="ignore"):
        low, high = (value * np.sqrt(nu / quantile(p)) for p in ((1 + level) / 2, (1 - level) / 2))
    return np.asarray(low), np.asarray(high)


def exceeds(squared_noise: ArrayLike, n: ArrayLike, rest: ArrayLike, n_rest: ArrayLike, kurtosis: float) -> Array:
    r"""P(F ≥ σ²/σ²_rest): the chance of so large a noise if it were that of the rest.

    >>> round(float(exceeds(4.0, 30, 1.0, 300, 3.0)), 6)
    0.0
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.asarray(squared_noise, dtype=float) / np.asarray(rest, dtype=float)
    ratio = np.nan_to_num(ratio, nan=1.0, posinf=1e300)
    p = fdtrc(freedom(n, kurtosis), np.maximum(freedom(n_rest, kurtosis), 1e-9), ratio)
    return np.nan_to_num(np.asarray(p, dtype=np.float64), nan=1.0)


def differ(squared: ArrayLike, group: ArrayLike, kurtosis: float) -> float:
    r"""P(χ²_{K−1} ≥ Q), Q = Σ_k (log s²_k − b_k − μ)²/v_k: the chance of such differences if all noise were alike.

    b and v are the exact mean and variance of log(χ²_ν/ν); groups of fewer than five rows have no say.

    >>> r, group = np.random.default_rng(0).normal(size=300), np.arange(300) % 3
    >>> differ(r**2, group, 3.0) > 0.05, differ(r**2 * (1 + group), group, 3.0) < 0.01
    (True, True)
    """
    value, code = np.asarray(squared, dtype=float), np.asarray(group)
    count: NDArray[Any] = np.bincount(code)
    mean = np.bincount(code, value) / np.maximum(count, 1)
    judged = (count >= MIN_ROWS) & (mean > 0)
    if judged.sum() < 2:
        return 1.0
    half = freedom(count[judged], kurtosis) / 2
    log = np.log(mean[judged]) - (digamma(half) - np.log(half))
    weight = 1 / polygamma(1, half)
    centre = np.average(log, weights=weight)
    return float(chdtrc(judged.sum() - 1, float(np.sum(weight * (log - centre) ** 2))))
