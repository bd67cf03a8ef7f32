"""Conformal quantiles and p-values over domains: what a domain never seen may look like, by those that were."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDING = 1e-9  # sums of masses that differ by less are the same


def row_mass(domain: NDArray[np.integer], count: Array, trust: Array | None = None) -> Array:
    r"""m_i = t_e/(1 + Σ_e t_e) · c_i/Σ_{j in e} c_j: every domain a mass of 1/(E + 1), spread over its rows.

    The mass that is left is that of the domain never seen. A domain's `trust` t_e, one without it, is what its mass
    shrinks by.

    >>> row_mass(np.array([0, 0, 1]), np.ones(3)).round(3).tolist()
    [0.167, 0.167, 0.333]
    """
    total = np.bincount(domain, count)
    there = total > 0
    by_domain = np.ones(len(total)) if trust is None else trust
    share = np.where(there, by_domain / (1 + by_domain[there].sum()), 0.0)
    return np.asarray(share[domain] * count / np.where(there, total, 1.0)[domain])


def conformal_quantile(score: Array, mass: Array, level: float) -> float:
    r"""min{q : Σ_{s_i ≤ q} m_i ≥ level}: a new row's score is at most q with that probability; ∞ if no q will do.

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
    r"""For each domain e the `conformal_quantile` of all the others, with masses of 1/E: what would be said of e.

    One cumulative sum serves all: C(s) = Σ_{s_i ≤ s} m_i with a mass of one by domain, and the quantile for e lies
    where C(s) − C_e(s) reaches level·E, so between those where C reaches level·E and level·E + 1.

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
    found = np.full(len(total), np.inf)
    part, where = mass[first:last], domain[first:last]
    for e in present:
        reached = before - own[e] + np.cumsum(np.where(where == e, 0.0, part))
        place = int(np.searchsorted(reached, need))
        if place < len(part):
            found[e] = score[first + place]
    return found


def domains_needed(level: float) -> int:
    r"""The smallest E with E/(E + 1) ≥ level.

    >>> domains_needed(0.9), domains_needed(0.5), domains_needed(0.95)
    (9, 1, 19)
    """
    return max(1, ceil(level / (1 - level) - ROUNDING))


def joint_p(scores: Array, others: Array) -> float:
    r"""One p for several scores of a domain, exact as each: −min of their ranks among all is the score that is ranked.

    Ranks are among the other domains `(E, k)` and the new one `(k,)` together, and of domains that stand out as much in
    different scores the one whose ranks sum to less counts as more.

    >>> joint_p(np.array([9.0, 9.0]), np.random.default_rng(0).normal(size=(19, 2)))
    0.05
    """
    every = np.vstack([scores, others])
    above = np.stack([np.searchsorted(np.sort(-column), -column, side="right") for column in every.T], 1)
    best, total = above.min(1), above.sum(1)
    beyond = (best < best[0]) | ((best == best[0]) & (total <= total[0]))
    return float(np.count_nonzero(beyond) / len(every))


def conformal_p(score: float, others: Array) -> float:
    r"""p = (1 + #{e : s_e ≥ s})/(E + 1): uniform, or larger, if the new domain is one like the others.

    >>> conformal_p(2.5, np.array([1.0, 2.0, 3.0]))
    0.5
    """
    return float((1 + np.count_nonzero(others >= score)) / (1 + len(others)))
