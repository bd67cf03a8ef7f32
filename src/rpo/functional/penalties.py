"""Proposition 1: the penalties in closed form (Algorithm 1, step 5)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rpo.exceptions import InputError
from rpo.functional.statistics import Array

Scheme = Literal["paper", "calibrated"]

# The printed exponent, and the one that minimises the risk of the sample form of Eq. 4 (docs/best-penalties.md).
DENSITY_EXPONENT = {"paper": -0.8, "calibrated": -0.4}


@dataclass(frozen=True)
class Penalties:
    """η_e by domain `(E,)`, ρ_k by stratum `(K,)` (by cell, `(E, K)`, if split), λ, and the scheme that gave them."""

    eta: Array
    rho: Array
    lam: float
    scheme: str


def optimal_lambda(n: ArrayLike) -> float:
    r"""Compute λ from the sizes of the domains that have rows (before Proposition 1).

        λ = (Σ_e 1/N_e)^(2/5)

    Parameters
    ----------
    n : array of shape (E,)
        N_e, the rows of each domain.

    Examples
    --------
    >>> from rpo.functional import optimal_lambda
    >>> round(optimal_lambda([100, 100]), 4)
    0.2091
    """
    size = np.asarray(n, dtype=float)
    return float(np.sum(1 / size[size > 0]) ** 0.4)


def optimal_penalties(
    sigma: ArrayLike,
    r_hat: ArrayLike,
    n: ArrayLike,
    *,
    scheme: Scheme = "paper",
    density_exponent: float | None = None,
    split: bool = False,
) -> Penalties:
    r"""Compute the optimal penalties in closed form (Proposition 1).

        ρ_k = 4^(−2/5) Σ_e (σ_ek/r̂_ek)^(4/5) 1_ek,   η_e = N_e 4^(−7/5) / Σ_k (σ_ek/r̂_ek)^(4/5) 1_ek

    Cells without noise are allowed (their ρ is zero); a domain without noise gets the largest η of the others.

    Parameters
    ----------
    sigma, r_hat : array of shape (E, K)
        Noise and density of each cell; NaN where domain e has no sample of stratum k.
    n : array of shape (E,)
        N_e, the rows of each domain.
    scheme : "paper" or "calibrated"
        Proposition 1 to the letter, or its ratios with calibrated sizes: η has mean one over the domains, ρ has mean
        one over the samples, and ρ has r̂^(−2/5) instead of r̂^(−4/5).
    density_exponent : float, optional
        The exponent of r̂ in ρ; by default that of the scheme.
    split : bool
        Treat every cell as a separate group, because the paper requires each group to lie in one domain. ρ then has
        shape `(E, K)`, with NaN for empty cells.

    Returns
    -------
    Penalties
        `eta`, `rho` and `lam`.

    Examples
    --------
    >>> from rpo.functional import optimal_penalties
    >>> p = optimal_penalties([[1.0, 1.0], [2.0, 2.0]], [[0.5, 0.5], [0.5, 0.5]], [100, 100])
    >>> p.rho.round(3), p.eta.round(3), round(p.lam, 3)
    (array([2.741, 2.741]), array([4.123, 2.368]), 0.209)
    """
    s, r, size = (np.asarray(value, dtype=float) for value in (sigma, r_hat, n))
    _check(s, r, size)
    if scheme not in DENSITY_EXPONENT:
        raise InputError(f"scheme must be one of {', '.join(DENSITY_EXPONENT)}, got {scheme!r}")
    exponent = DENSITY_EXPONENT[scheme] if density_exponent is None else density_exponent
    cell = 4**-0.4 * s**0.8 * r**exponent
    rho = cell if split else np.nansum(cell, axis=0)
    difficulty = np.nansum((s / r) ** 0.8, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        eta = size * 4**-1.4 / difficulty
    eta[size == 0] = 0.0
    finite = np.isfinite(eta)
    eta[~finite] = eta[finite].max(initial=0.0) or 1.0
    if scheme == "calibrated":
        eta = eta / (eta[size > 0].mean() or 1.0)
        rows = np.nan_to_num(r * size[:, None])
        rho = rho / (np.nansum(rows * rho) / rows.sum() or 1.0)
    return Penalties(eta, rho, optimal_lambda(size), scheme)


def _check(sigma: Array, r_hat: Array, n: Array) -> None:
    if sigma.ndim != 2 or sigma.shape != r_hat.shape or n.shape != sigma.shape[:1]:
        raise InputError(
            f"sigma, r_hat and n must be of shape (E, K), (E, K), (E,), got {sigma.shape}, {r_hat.shape}, {n.shape}"
        )
    if np.any(np.isnan(sigma) != np.isnan(r_hat)):
        raise InputError(
            "sigma and r_hat must be NaN in the same cells: those where a domain has no sample of a stratum"
        )
    if np.any(sigma < 0) or np.any(np.isinf(sigma)):
        raise InputError("sigma must be finite and non-negative: it is the root mean squared residual")
    if np.any(r_hat <= 0) or np.any(r_hat > 1 + 1e-9):
        raise InputError("r_hat must lie in (0, 1]: it is the share of a domain's samples in a stratum; NaN if none")
    if np.any(n < 0) or not np.all(np.isfinite(n)):
        raise InputError("n must be finite and non-negative: it is the number of samples of each domain")
