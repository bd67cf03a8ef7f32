"""Which features mean something else in other domains: slopes of residuals by domain, and how much they differ."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from rpo.functional.statistics import Array

FEWEST = 20  # of fewer rows the variance of a slope says next to nothing
FEWEST_CARRYING = 5.0  # rows that carry a slope, (Σs)²/Σs² of their s = w (x − x̄)²: one rare row would fit itself


class Heterogeneity(NamedTuple):
    """Of each feature: the share of the residuals' variance that slopes of the domains' own explain, its p, the slopes
    `(E, d)` and their variances."""

    share: Array
    p: Array
    slope: Array
    variance: Array


def heterogeneity(
    residual: ArrayLike, x: ArrayLike, domain: ArrayLike, n_domains: int, weight: ArrayLike | None = None
) -> Heterogeneity:
    r"""r²_j = max(0, Σ_e S_ej (b_ej − b̄_j)² − Σ_e S_ej V_ej)/Σ_i u_i², p_j = P(χ²_{E−1} > Σ_e (b_ej − b̄_j)²/V_ej).

    b_ej is the slope of the residual u on feature j within domain e, S_ej = Σ(x − x̄_e)², V_ej the variance of b_ej
    whatever the noise is like (HC0), b̄_j the mean weighted by precision. Looked at in residuals of a model of all
    features, not in the target: a curve, or a second feature that goes along with the first, is no difference between
    domains. A `weight` makes rows of less noise say more. Not asked are domains of fewer than 20 rows, and those in
    which fewer than five rows carry the slope: a category's only row would show its residual, not a slope.

    >>> rng = np.random.default_rng(0)
    >>> x, domain = rng.normal(size=(600, 2)), np.repeat([0, 1, 2], 200)
    >>> u = np.where(domain == 0, 1, -0.5) * x[:, 1] + 0.5 * rng.normal(size=600)
    >>> heterogeneity(u, x, domain, 3).share.round(1)
    array([0. , 0.6])
    """
    u, X, e = np.asarray(residual, dtype=np.float64), np.asarray(x), np.asarray(domain)
    w = np.ones(len(u)) if weight is None else np.asarray(weight, dtype=np.float64)
    d = X.shape[1]
    mass = np.maximum(np.bincount(e, w, n_domains), 1e-300)
    rows = np.bincount(e, w > 0, n_domains)
    middle = np.stack([np.bincount(e, w * X[:, j], n_domains) for j in range(d)], 1) / mass[:, None]
    v = u - (np.bincount(e, w * u, n_domains) / mass)[e]
    power, cross, squares, fourth = (np.zeros((n_domains, d)) for _ in range(4))
    for j in range(d):
        c = X[:, j] - middle[e, j]
        power[:, j] = np.bincount(e, w * c**2, n_domains)
        cross[:, j] = np.bincount(e, w * c * v, n_domains)
        fourth[:, j] = np.bincount(e, (w * c**2) ** 2, n_domains)
    scale = X.std(0) if len(X) else np.ones(d)
    known = (power > 1e-9 * mass[:, None] * np.maximum(scale, 1e-300) ** 2) & (rows >= FEWEST)[:, None]
    known &= power**2 >= FEWEST_CARRYING * fourth
    slope = np.where(known, cross / np.where(known, power, 1.0), 0.0)
    for j in range(d):
        c = X[:, j] - middle[e, j]
        squares[:, j] = np.bincount(e, (w * c * (v - slope[e, j] * c)) ** 2, n_domains)
    variance = np.where(known, squares / np.where(known, power, 1.0) ** 2, np.nan)
    known &= np.nan_to_num(variance) > 0
    precision = np.where(known, 1 / np.where(known, variance, 1.0), 0.0)
    total = precision.sum(0)
    centre = (precision * slope).sum(0) / np.where(total > 0, total, 1.0)
    gap = np.where(known, slope - centre, 0.0)
    explained = (np.where(known, power, 0.0) * (gap**2 - np.where(known, variance, 0.0))).sum(0)
    share = np.maximum(0.0, explained) / max(float(w @ v**2), 1e-300)
    freedom = np.maximum(known.sum(0) - 1, 0)
    p = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), (precision * gap**2).sum(0)), 1.0)
    return Heterogeneity(np.where(freedom > 0, share, 0.0), p, np.where(known, slope, np.nan), variance)
