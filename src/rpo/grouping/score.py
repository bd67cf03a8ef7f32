"""How well a grouping separates noise and density: the score that the search maximises."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

# A domain with fewer rows a stratum cannot show a pattern of noise of its own; such domains are judged together.
ROWS_PER_CELL = 5
ROUNDING = 1e-24  # a mean square below this is zero


def separation(stratum: Codes, noise: Array, domain: Codes, weight: Array) -> float:
    """noise_share · (1 + density_share): how well the strata separate noise and density.

    Both are shares, at most one, and zero on average for strata drawn at random. A product, because a feature that
    tells the domains apart need not say anything about quality: density speaks only where the noise differs too.

    >>> stratum, domain = np.array([0, 0, 0, 1, 1, 1]), np.zeros(6, int)
    >>> separation(stratum, np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]), domain, np.ones(6))
    1.0
    """
    return noise_share(stratum, noise, domain, weight) * (1.0 + density_share(stratum, domain, weight))


def relative_noise(residual: Array, domain: Codes, weight: Array) -> Array:
    """u_i = log(1 + r_i / σ_e²) less its mean over domain e; r_i squared residuals, σ_e² their mean over the domain.

    The logarithm keeps a few wild residuals from deciding, the one keeps a residual of zero harmless.

    >>> relative_noise(np.array([2.0, 2.0, 0.0, 0.0]), np.array([0, 0, 1, 1]), np.ones(4)).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    mass = np.bincount(domain, weight)
    sigma2 = (np.bincount(domain, weight * residual) / mass)[domain]
    u = np.log1p(np.divide(residual, sigma2, out=np.zeros_like(residual), where=sigma2 > 0))
    return u - (np.bincount(domain, weight * u) / mass)[domain]


def noise_share(stratum: Codes, noise: Array, domain: Codes, weight: Array) -> float:
    """1 − [SS_within / (W − E − f)] / [SS / (W − E)]: the adjusted share of the noise's variance between cells.

    SS is the sum of squares of `relative_noise` about its domain mean, SS_within about its cell mean, a cell being
    a stratum of one domain or of all the domains too small to split. W is the total weight, E the number of
    domains, f = #cells − Σ_ek N_ek² / (N_e N_cell) what the cell means cost. Strata that have nothing to do with
    the noise thus score zero on average, however many they are.

    >>> noise = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    >>> noise_share(np.array([0, 1, 0, 1, 0, 1]), noise, np.zeros(6, int), np.ones(6))
    1.0
    """
    mass = _masses(stratum, domain, weight)
    n_domains, n_strata = mass.shape
    per_domain = mass.sum(axis=1)
    owner = np.where(per_domain < ROWS_PER_CELL * n_strata, n_domains, np.arange(n_domains))
    cell = _masses(np.tile(np.arange(n_strata), n_domains), np.repeat(owner, n_strata), mass.ravel())
    total = _masses(stratum, owner[domain], weight * noise)
    filled = cell > 0
    square = float(weight @ noise**2)
    within = square - float(np.sum(total[filled] ** 2 / cell[filled]))
    held = mass > 0
    fixed = mass[held] ** 2 / (per_domain[:, None] * cell[owner])[held]
    free = float(per_domain.sum()) - n_domains
    cost = float(filled.sum() - fixed.sum())
    if square <= ROUNDING * free or free <= cost:
        return 0.0
    return float(1.0 - (within / (free - cost)) / (square / free))


def density_share(stratum: Codes, domain: Codes, weight: Array) -> float:
    """[I(e; k) − (E − 1)(K − 1) / 2W] / H(e), I = Σ_ek (N_ek/N) log(r̂_ek / r̂_k), not below zero.

    How unevenly the domains fill the strata: zero when r̂_ek = N_ek / N_e is the same for every domain, one when
    every stratum belongs to one domain. The term taken off is what chance alone gives.

    >>> density_share(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), np.ones(4))
    0.0
    """
    mass = _masses(stratum, domain, weight)
    total = float(mass.sum())
    both, of_domain, of_stratum = mass / total, mass.sum(axis=1) / total, mass.sum(axis=0) / total
    entropy = _entropy(of_domain)
    if entropy <= 0:
        return 0.0
    information = entropy + _entropy(of_stratum) - _entropy(both)
    chance = (mass.shape[0] - 1) * (mass.shape[1] - 1) / (2 * total)
    return float(max(0.0, (information - chance) / entropy))


def _masses(stratum: Codes, domain: Codes, weight: Array) -> Array:
    """Total weight by domain and stratum."""
    shape = int(domain.max()) + 1, int(stratum.max()) + 1
    mass = np.bincount(domain * shape[1] + stratum, weight, minlength=shape[0] * shape[1])
    return mass.astype(np.float64).reshape(shape)


def _entropy(share: Array) -> float:
    return -float(np.sum(share * np.log(np.where(share > 0, share, 1.0))))
