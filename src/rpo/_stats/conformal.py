"""Conformal quantiles and p-values for a new domain, from the domains seen in training."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDING = 1e-9  # smaller differences between sums of masses count as none


def row_mass(domain: NDArray[np.integer], count: Array, trust: Array | None = None) -> Array:
    r"""Compute the conformal mass of each row: 1/(E + 1) per domain, spread over its rows.

        m_i = t_e/(1 + Σ_e t_e) · c_i/Σ_{j in e} c_j

    The remaining mass is that of the new domain. `trust` t_e, one by default, scales the mass of a domain.

    >>> row_mass(np.array([0, 0, 1]), np.ones(3)).round(3).tolist()
    [0.167, 0.167, 0.333]
    """
    total = np.bincount(domain, count)
    there = total > 0
    by_domain = np.ones(len(total)) if trust is None else trust
    share = np.where(there, by_domain / (1 + by_domain[there].sum()), 0.0)
    return np.asarray(share[domain] * count / np.where(there, total, 1.0)[domain])


def conformal_quantile(score: Array, mass: Array, level: float) -> float:
    r"""Compute the quantile that a new row's score does not exceed with probability `level`; ∞ if there is none.

        min{q : Σ_{s_i ≤ q} m_i ≥ level}

    Rows of E domains have masses of 1/(E + 1) by domain, so that a level above E/(E + 1) has no finite q
    (Lee, Barber and Willett, "Distribution-free inference with hierarchical data", 2023).

    >>> mass = row_mass(np.arange(4), np.ones(4))
    >>> conformal_quantile(np.arange(1.0, 5.0), mass, 0.5), conformal_quantile(np.arange(1.0, 5.0), mass, 0.9)
    (3.0, inf)
    """
    order = np.argsort(score, kind="stable")
    place = int(np.searchsorted(np.cumsum(mass[order]), level - ROUNDING))
    return float(score[order[place]]) if place < len(score) else float("inf")


def quantiles_of_others(score: Array, domain: NDArray[np.integer], count: Array, level: float) -> Array:
    r"""Compute, for each domain, the conformal quantile of all other domains, with masses of 1/E.

    One cumulative sum suffices: C(s) = Σ_{s_i ≤ s} m_i with a mass of one per domain. The quantile for e lies where
    C(s) − C_e(s) reaches level·E, so between the scores where C reaches level·E and level·E + 1.

    >>> quantiles_of_others(np.arange(1.0, 5.0), np.arange(4), np.ones(4), 0.5).tolist()
    [3.0, 3.0, 2.0, 2.0]
    """
    order = np.argsort(score, kind="stable")
    score, domain, count = score[order], domain[order], count[order]
    total = np.bincount(domain, count)
    mass = count / total[domain]
    present = np.flatnonzero(total > 0)
    need = level * len(present) - ROUNDING
    cumulative = np.cumsum(mass)
    first, last = np.searchsorted(cumulative, need), np.searchsorted(cumulative, need + 1) + 1
    before = cumulative[first - 1] if first else 0.0
    own = np.bincount(domain[:first], mass[:first], len(total))
    quantiles = np.full(len(total), np.inf)
    part, where = mass[first:last], domain[first:last]
    for e in present:
        reached = before - own[e] + np.cumsum(np.where(where == e, 0.0, part))
        place = int(np.searchsorted(reached, need))
        if place < len(part):
            quantiles[e] = score[first + place]
    return quantiles


def domains_needed(level: float) -> int:
    r"""Return the smallest number of domains E for which a finite quantile exists: E/(E + 1) ≥ level.

    >>> domains_needed(0.9), domains_needed(0.5), domains_needed(0.95)
    (9, 1, 19)
    """
    return max(1, ceil(level / (1 - level) - ROUNDING))


def joint_p(scores: Array, others: Array) -> float:
    r"""Compute one conformal p-value from several scores of a domain, as exact as that of a single score.

    The smallest rank of its scores is ranked itself, among the other domains, `(E, k)`, and the new one, `(k,)`,
    together; ties are broken by the sum of ranks.

    >>> joint_p(np.array([9.0, 9.0]), np.random.default_rng(0).normal(size=(19, 2)))
    0.05
    """
    scores = np.vstack([scores, others])
    above = np.stack([np.searchsorted(np.sort(-column), -column, side="right") for column in scores.T], 1)
    best, total = above.min(1), above.sum(1)
    beyond = (best < best[0]) | ((best == best[0]) & (total <= total[0]))
    return float(np.count_nonzero(beyond) / len(scores))


def conformal_p(score: float, others: Array) -> float:
    r"""Compute the conformal p-value of a new domain's score among those of the others.

        p = (1 + #{e : s_e ≥ s})/(E + 1)

    It is uniform, or larger, if the new domain is like the others.

    >>> conformal_p(2.5, np.array([1.0, 2.0, 3.0]))
    0.5
    """
    return float((1 + np.count_nonzero(others >= score)) / (1 + len(others)))
