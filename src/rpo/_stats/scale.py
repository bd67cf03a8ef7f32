"""Robust estimates of the residual scale of groups, with their degrees of freedom."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtr, chdtrc, digamma, fdtrc, gammaincinv, polygamma

Array = NDArray[np.float64]

CLIP = 2.5  # standard deviations at which residuals are clipped
NONE = 0.01  # fewer degrees of freedom count as none
# E[min(z², c²)] of a standard normal z.
_CONSISTENT = float(chdtr(3, CLIP**2) + CLIP**2 * chdtrc(1, CLIP**2))
_STEPS = 40
_SETTLED = 1e-10
_GRID, _EM = 60, 300  # grid points of the mixture of variances, and iterations of its fit


class Scales(NamedTuple):
    """Noise (a deviation) of each group, and the degrees of freedom of its square."""

    noise: Array
    freedom: Array


def scales(
    residual: ArrayLike, group: ArrayLike, n_groups: int, used: ArrayLike | None = None, weight: ArrayLike | None = None
) -> Scales:
    r"""Estimate the residual scale of each group robustly, with its degrees of freedom.

        σ_g with Σ_i min(r_i²/σ_g², c²) = β (n_g − k_g),  β = E min(z², c²),  c = 2.5

    This is Huber's second proposal (1964).

    `used` holds k_g, the degrees of freedom that were spent on the group's residuals. log σ̂² has variance
    Var ψ/(E zψ'(z)/2)²/n over all rows about the scale of their group, so heavy tails reduce the degrees of freedom;
    ν = 2/Var, at most n − k. A group without rows has NaN and no freedom; nor has any if nearly all rows are outliers.

    >>> r = np.random.default_rng(0).normal(size=4000) * np.repeat([1.0, 2.0], 2000)
    >>> r[0] = 1e6
    >>> scales(r, np.repeat([0, 1], 2000), 2).noise.round(1)
    array([1., 2.])
    """
    r, g = np.asarray(residual, dtype=np.float64), np.asarray(group)
    w = np.ones(len(r)) if weight is None else np.asarray(weight, dtype=np.float64)
    n = np.bincount(g, w, n_groups)
    free = np.maximum(n - (np.zeros(n_groups) if used is None else np.asarray(used, dtype=np.float64)), 0.5)
    target = _CONSISTENT * free / np.maximum(n, 1e-300)
    square = r**2
    start = np.bincount(g, w * square, n_groups) / np.maximum(n, 1e-300)
    for _ in range(3):  # a robust start: the mean of squares below nine times their mean
        low = square <= 9 * start[g]
        start = np.bincount(g[low], (w * square)[low], n_groups) / np.maximum(
            np.bincount(g[low], w[low], n_groups), 1e-300
        )
    s2 = np.where(n > 0, np.maximum(start, 1e-300), 1.0)
    filled = n > 0
    for _ in range(_STEPS):  # s² ← s²·held/target, which converges from any start
        held = np.bincount(g, w * np.minimum(square / s2[g], CLIP**2), n_groups) / np.maximum(n, 1e-300)
        factor = np.where(held > 0, held / target, 1.0)
        s2 = s2 * factor
        if np.abs(factor[filled] - 1).max(initial=0.0) < _SETTLED:
            break
    z2 = square / s2[g]
    counted = np.minimum(z2, CLIP**2)
    total = max(float(w.sum()), 1e-300)
    centre = float(w @ counted / total)
    slope = float(w @ np.where(z2 < CLIP**2, z2, 0.0) / total)
    variance = float(w @ (counted - centre) ** 2 / total) / max(slope, 1e-6) ** 2
    flat = np.bincount(g, w * square, n_groups) == 0
    noise = np.where(filled, np.where(flat, 0.0, np.sqrt(s2)), np.nan)
    # Rows of a small group look alike relative to their own scale: at most the freedom of normal rows.
    freedom = free * min(2 / max(variance, 0.05), 1.0)
    return Scales(noise, np.where(filled & (freedom > NONE), freedom, 0.0))


def pooled(of: Scales) -> tuple[Array, Array]:
    """Compute, for each group, the pooled noise of all other groups and its degrees of freedom.

    >>> pooled(Scales(np.array([1.0, 1.0, 3.0]), np.array([10.0, 10.0, 10.0])))[0].round(2)
    array([2.24, 2.24, 1.  ])
    """
    square = np.nan_to_num(of.noise) ** 2 * of.freedom
    rest = of.freedom.sum() - of.freedom
    return np.sqrt((square.sum() - square) / np.maximum(rest, 1e-300)), rest


def exceeds(of: Scales, factor: float = 1.0) -> Array:
    r"""Compute the one-sided p of each group's noise against `factor` times that of the other groups.

        P(F_{ν, ν_rest} ≥ σ²/(factor σ_rest)²)

    >>> round(float(exceeds(Scales(np.array([2.0, 1.0]), np.array([30.0, 300.0])))[0]), 6)
    0.0
    """
    rest, n_rest = pooled(of)
    known = (of.freedom > 0) & (n_rest > 0) & (rest > 0)
    ratio = np.where(known, np.nan_to_num(of.noise) / np.where(known, factor * rest, 1.0), 0.0) ** 2
    p = fdtrc(np.maximum(of.freedom, 1e-9), np.maximum(n_rest, 1e-9), ratio)
    return np.where(known, np.nan_to_num(p, nan=1.0), 1.0)


def interval(of: Scales, level: float = 0.95) -> tuple[Array, Array]:
    r"""Compute a confidence interval of the noise of each group.

        σ √(ν/χ²_ν quantiles)

    >>> low, high = interval(Scales(np.array([1.0]), np.array([100.0])))
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.879, 1.161)
    """
    known = of.freedom > 0
    nu = np.where(known, of.freedom, 1.0)
    low, high = (of.noise * np.sqrt(nu / (2 * gammaincinv(nu / 2, p))) for p in ((1 + level) / 2, (1 - level) / 2))
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def log_variances(of: Scales) -> Scales:
    r"""Compute unbiased logarithms of the variances, and their sampling variances.

        log σ̂² − (ψ(ν/2) − log(ν/2)),  with variance ψ′(ν/2); NaN and ∞ where nothing is known

    Noise below a tenth of the median is raised to it: such rows lie close by chance.

    >>> log_variances(Scales(np.array([1.0, 1.0]), np.array([1e4, 2.0])))[1].round(4).tolist()
    [0.0002, 1.6449]
    """
    known = (of.freedom > 0) & (of.noise > 0)
    half = np.where(known, of.freedom, 2.0) / 2
    least = np.median(of.noise[known]) / 10 if known.any() else 1.0
    value = 2 * np.log(np.where(known, np.maximum(of.noise, least), 1.0)) - digamma(half) + np.log(half)
    return Scales(np.where(known, value, np.nan), np.where(known, polygamma(1, half), np.inf))


def shrunk(of: Scales) -> Array:
    r"""Shrink the noise of groups towards the common level, by empirical Bayes.

        log σ̃²_g = μ + τ²/(τ² + v_g) (log σ_g² − μ),  τ² by moments

    Groups without rows get the common noise.

    >>> shrunk(Scales(np.array([1.0, 1.0, 4.0]), np.array([1e3, 1e3, 0.5]))).round(1)
    array([1., 1., 1.])
    """
    log, variance = log_variances(of)
    known = np.isfinite(log)
    if not known.any():
        return np.where(of.freedom > 0, of.noise, np.nan)
    centre, tau2 = between(log[known], variance[known])
    value = np.full(len(log), np.exp(centre / 2))
    value[known] = np.exp((centre + tau2 / (tau2 + variance[known]) * (log[known] - centre)) / 2)
    return value


def expected_variances(of: Scales) -> Array:
    r"""Compute the posterior mean of each group's variance, under a prior fitted to all groups.

        E[σ_g² | s_g],  ν s²/σ² ~ χ²_ν

    The prior of σ² is a mixture (Kiefer & Wolfowitz 1956).

    A few groups that are far noisier stay so, however few rows they have; a normal prior of log σ² (`shrunk`)
    would pull them towards the others. Its inverse is the best weight of a row, because the cost of an error is the
    variance, not its logarithm. Noise below a tenth of the median is raised to it. Groups without rows get the mean.

    >>> twenty = np.full(20, 8.0)
    >>> expected_variances(Scales(np.array([1.0] * 15 + [5.0] * 5), twenty)).round()[[0, -1]]
    array([ 1., 25.])
    """
    known = (of.freedom > 0) & (of.noise > 0)
    if not known.any():
        return np.where(of.freedom > 0, of.noise, np.nan) ** 2
    noise, half = of.noise[known], of.freedom[known] / 2
    square = np.maximum(noise, np.median(noise) / 10) ** 2
    grid = np.linspace(np.log(square.min()), np.log(square.max()), _GRID)
    log = -half[:, None] * (grid + square[:, None] * np.exp(-grid))
    likelihood = np.exp(log - log.max(1, keepdims=True))
    prior = np.full(_GRID, 1 / _GRID)
    for _ in range(_EM):
        posterior = likelihood * prior
        prior = (posterior / posterior.sum(1, keepdims=True)).mean(0)
    posterior = likelihood * prior
    value = np.full(len(of.noise), float(prior @ np.exp(grid)))
    value[known] = posterior @ np.exp(grid) / posterior.sum(1)
    return value


def between(value: Array, variance: Array) -> tuple[float, float]:
    r"""Estimate the mean of values of unequal `variance`, and the variance τ² between them beyond that.

    >>> between(np.array([0.0, 2.0]), np.array([0.5, 0.5]))
    (1.0, 1.5)
    """
    variance = np.maximum(variance, np.finfo(float).tiny)
    least = float(variance.min())
    precision = least / variance  # relative, to avoid overflow
    mean = float(np.average(value, weights=precision))
    if len(value) < 2:
        return mean, 0.0
    excess = float((precision * (value - mean) ** 2).sum()) - (len(value) - 1) * least
    spread = float(precision.sum() - (precision**2).sum() / precision.sum())
    tau2 = max(0.0, excess / spread) if spread > 0 else 0.0
    return float(np.average(value, weights=(tau2 + least) / (tau2 + variance))), tau2
