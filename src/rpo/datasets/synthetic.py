"""A synthetic data set of uneven quality with known truth: one bad domain, two bad strata."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rpo.exceptions import InputError

Array = NDArray[np.float64]

DOMAIN_KEPT, STRATUM_KEPT = 0.5, 0.25  # share of its rows that a bad domain, a bad stratum keeps
# Noise by source: clean, bad domain, bad stratum. Standard deviations against a signal of variance one, or
# probabilities that a label is flipped.
NOISE = {"regression": (0.3, 0.9, 1.5), "classification": (0.02, 0.15, 0.3)}


@dataclass(frozen=True, eq=False)
class Uneven:
    """Rows, and the truth about them; a cell is a (domain, stratum) pair.

    `signal` is f_*(x) of every row, `sigma` the true noise of every cell (E, K), `bad` which cells are bad (E, K).
    """

    X: Array
    y: Array
    domains: NDArray[np.intp]
    strata: NDArray[np.intp]
    signal: Array
    sigma: Array
    bad: NDArray[np.bool_]
    bad_domain: int | None
    bad_strata: tuple[int, ...]


def make_uneven(
    n_domains: int = 4,
    n_strata: int = 6,
    rows_per_domain: int = 400,
    *,
    bad_domain: int | None = 1,
    bad_strata: tuple[int, ...] = (1, 4),
    spurious: bool = True,
    seed: int = 0,
    task: Literal["regression", "classification"] = "regression",
) -> Uneven:
    """Generate a data set of uneven quality whose noise is known.

        y = f_*(x) + σ_ek ε,  σ_ek² = σ_0² + σ_d² 1[e bad] + σ_s² 1[k bad];  or y = 1[f_*(x) > 0], flipped with p_ek

    Feature 0 says the stratum (k < x_0 < k + 1), features 1 and 2 make the signal with it, feature 3 is idle. The bad
    domain keeps half of its rows; a bad stratum keeps a quarter of its rows in every domain. Flips compose:
    p = a + b − 2ab, and σ_ek = √(p(1 − p)).

    Parameters
    ----------
    n_domains, n_strata, rows_per_domain : int
        How many.
    bad_domain : int or None
        The noisy domain, from 0.
    bad_strata : tuple of int
        The noisy strata, from 0.
    spurious : bool
        Add two features that follow the signal with a slope that falls from one domain to the next; they know nothing
        of the noise, so they cannot hide it.
    seed : int
        Decides all draws.
    task : "regression" or "classification"
        What the target is.

    Examples
    --------
    >>> from rpo.datasets import make_uneven
    >>> data = make_uneven(seed=3)
    >>> data.X.shape, data.sigma.shape, int(data.bad.sum())
    ((1054, 6), (4, 6), 12)
    >>> data.sigma[:, 0].round(2).tolist()
    [0.3, 0.95, 0.3, 0.3]
    """
    _check(n_domains, n_strata, rows_per_domain, bad_domain, bad_strata, task)
    rng = np.random.default_rng(seed)
    is_bad_domain = np.arange(n_domains)[:, None] == (-1 if bad_domain is None else bad_domain)
    is_bad_stratum = np.isin(np.arange(n_strata), bad_strata)[None, :]

    share = np.where(is_bad_domain, DOMAIN_KEPT, 1.0) * np.where(is_bad_stratum, STRATUM_KEPT, 1.0)
    count = np.maximum(1, np.rint(rows_per_domain / n_strata * share)).astype(np.intp)
    cell = rng.permutation(np.repeat(np.arange(count.size), count.ravel()))
    domain, stratum = np.divmod(cell, n_strata)

    n = len(cell)
    own = rng.normal(size=(n, 3))
    place = stratum + rng.uniform(0.05, 0.95, size=n)
    signal = (own[:, 0] + 0.5 * own[:, 1] + np.sin(place)) / np.sqrt(1.75)
    X = np.column_stack([place, own])
    if spurious:
        slope = np.linspace(1.0, 0.3, n_domains)[domain]
        X = np.column_stack([X, slope[:, None] * signal[:, None] + 0.5 * rng.normal(size=(n, 2))])

    clean, of_domain, of_stratum = NOISE[task]
    extra = np.where(is_bad_domain, of_domain, 0.0), np.where(is_bad_stratum, of_stratum, 0.0)
    if task == "regression":
        sigma = np.sqrt(clean**2 + extra[0] ** 2 + extra[1] ** 2)
        y = signal + sigma.ravel()[cell] * rng.normal(size=n)
    else:
        flip = _flip_one(_flip_one(np.full(count.shape, clean), extra[0]), extra[1])
        sigma = np.sqrt(flip * (1 - flip))
        y = ((signal > 0) ^ (rng.uniform(size=n) < flip.ravel()[cell])).astype(np.float64)
    bad = is_bad_domain | is_bad_stratum
    return Uneven(X, y, domain, stratum, signal, sigma, bad, bad_domain, tuple(bad_strata))


def _flip_one(a: Array, b: Array) -> Array:
    """Return the probability that exactly one of two independent flips happens."""
    return a + b - 2 * a * b


def _check(
    n_domains: int,
    n_strata: int,
    rows_per_domain: int,
    bad_domain: int | None,
    bad_strata: tuple[int, ...],
    task: str,
) -> None:
    if min(n_domains, n_strata, rows_per_domain) < 1:
        raise InputError("n_domains, n_strata and rows_per_domain must each be at least 1")
    if bad_domain is not None and not 0 <= bad_domain < n_domains:
        raise InputError(f"bad_domain must be one of the {n_domains} domains, which count from 0, got {bad_domain}")
    if any(not 0 <= k < n_strata for k in bad_strata):
        raise InputError(f"bad_strata={tuple(bad_strata)} must lie among the {n_strata} strata, which count from 0")
    if task not in NOISE:
        raise InputError(f"task must be one of {', '.join(NOISE)}, got {task!r}")
