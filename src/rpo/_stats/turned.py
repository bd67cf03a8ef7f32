"""Wrong class labels: the share of turned labels by group, and recalibration to each domain's prevalence."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

PRIOR = 2.25  # prior variance of a domain's log odds: 1.5 squared
_STEPS = 50


class Rates(NamedTuple):
    """Estimated share of wrong labels of each group, and the variance of the estimate."""

    rate: Array
    variance: Array


class Recalibration(NamedTuple):
    """One slope for all rows, and the log odds of each domain, `(E, C)`."""

    slope: float
    own: Array

    def __call__(self, probability: ArrayLike, domain: NDArray[np.intp]) -> Array:
        """Recalibrate probabilities.

        p_ic ∝ exp(t log p_ic + b_{e(i)c})
        """
        return softmax(self.slope * _logs(probability) + self.own[domain])


def _logs(probability: ArrayLike) -> Array:
    log = np.log(np.clip(np.asarray(probability, dtype=np.float64), 1e-6, 1.0))
    return np.asarray(log - log.mean(1, keepdims=True))


def recalibrated(
    probability: ArrayLike, label: ArrayLike, domain: ArrayLike, n_domains: int, weight: ArrayLike | None = None
) -> tuple[Array, Array]:
    r"""Fit a recalibration; return the recalibrated probabilities, and the log odds b of the domains, `(E, C)`.

        p_ic ∝ exp(t log p_ic + b_{e(i)c}),  with one slope t, and Σ_c b_ec = 0

    >>> p = np.full((400, 2), 0.5)
    >>> y = np.r_[np.tile([0, 0, 0, 1], 50), np.tile([0, 1], 100)]
    >>> recalibrated(p, y, np.repeat([0, 1], 200), 2)[0][[0, -1], 1].round(2)
    array([0.25, 0.5 ])
    """
    fit = recalibration(probability, label, domain, n_domains, weight)
    return fit(probability, np.asarray(domain)), fit.own


def recalibration(
    probability: ArrayLike, label: ArrayLike, domain: ArrayLike, n_domains: int, weight: ArrayLike | None = None
) -> Recalibration:
    """Fit slope and log odds by Newton's method, with a normal prior on the log odds of variance 2.25."""
    log = _logs(probability)
    y, e = np.asarray(label), np.asarray(domain)
    n, classes = log.shape
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    truth = np.zeros((n, classes))
    truth[np.arange(n), y] = 1.0
    own, slope, total = np.zeros((n_domains, classes)), 1.0, float(w.sum())
    p = softmax(log)
    for _ in range(_STEPS):
        gap = truth - p
        pull = np.column_stack([np.bincount(e, w * gap[:, c], n_domains) for c in range(classes)]) - own / PRIOR
        curve = np.column_stack([np.bincount(e, w * p[:, c] * (1 - p[:, c]), n_domains) for c in range(classes)])
        # The steps of the classes add up: a full step in each of two classes would be a double one.
        step = pull / (curve + 1 / PRIOR) * ((classes - 1) / classes)
        own = own + np.clip(step, -2.0, 2.0)
        own -= own.mean(1, keepdims=True)
        score = float(w @ (gap * log).sum(1)) - total * 1e-3 * (slope - 1)
        mean = (p * log).sum(1)
        information = float(w @ ((p * log**2).sum(1) - mean**2)) + total * 1e-3
        slope = float(np.clip(slope + np.clip(score / information, -0.5, 0.5), 0.1, 3.0))
        p = softmax(slope * log + own[e])
        if np.abs(step).max() < 1e-8:
            break
    return Recalibration(slope, own)


def softmax(score: Array) -> Array:
    """Compute the softmax of each row, without overflow.

    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    raised = np.exp(score - score.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True))


def turned(
    probability: ArrayLike, label: ArrayLike, group: ArrayLike, n_groups: int, weight: ArrayLike | None = None
) -> Rates:
    r"""Estimate the share of labels of each group that were turned into another class.

        ε̂_g = Σ_i d_i·(y_i − p_i)/Σ_i ‖d_i‖²,  d_c = (1 − C p_c)/(C − 1)

    Labels turned at rate ε have probabilities p + ε d, whatever p is, so prevalence does not enter. For two classes it
    is Σ[(y − p)² − p(1 − p)]/Σ(1 − 2p)². Variance Σ dᵀ(diag p − ppᵀ)d/(Σ‖d‖²)². A group without rows has NaN and ∞.

    >>> rng = np.random.default_rng(0)
    >>> p = np.tile([0.95, 0.05], (4000, 1))
    >>> y = (rng.uniform(size=4000) < 0.05) ^ (rng.uniform(size=4000) < 0.2)
    >>> turned(p, y.astype(int), np.zeros(4000, int), 1).rate.round(1)
    array([0.2])
    """
    g = np.asarray(group)
    terms = turned_terms(np.asarray(probability, dtype=np.float64), np.asarray(label))
    w = np.ones(len(g)) if weight is None else np.asarray(weight, dtype=np.float64)
    return turned_of(*(np.bincount(g, w * term, n_groups) for term in terms))


def turned_terms(p: Array, label: NDArray[Any]) -> tuple[Array, Array, Array]:
    """Compute each row's terms d·(y − p), dᵀ(diag p − ppᵀ)d and ‖d‖²; a rate needs only their sums.

    >>> [float(term[0]) for term in turned_terms(np.array([[1.0, 0.0]]), np.array([1]))]
    [2.0, 0.0, 2.0]
    """
    n, classes = p.shape
    direction = (1 - classes * p) / (classes - 1)
    mean = (p * direction).sum(1)
    score = direction[np.arange(n), label] - mean
    return score, (p * direction**2).sum(1) - mean**2, (direction**2).sum(1)


def turned_of(score: NDArray[Any], spread: NDArray[Any], length: NDArray[Any]) -> Rates:
    """Compute the rate of each group from sums over its rows.

    >>> turned_of(np.array([4.0]), np.array([1.0]), np.array([20.0])).rate
    array([0.2])
    """
    known = length > 1e-9
    safe = np.where(known, length, 1.0)
    rate = np.where(known, score / safe, np.nan)
    return Rates(rate, np.maximum(np.where(known, spread / safe**2, np.inf), 1e-12))


def rest_of(rates: Rates) -> Rates:
    """Compute, for each group, the rate of all other groups together.

    >>> rest_of(Rates(np.array([0.0, 0.0, 0.3]), np.array([0.01, 0.01, 0.01]))).rate.round(2)
    array([0.15, 0.15, 0.  ])
    """
    precision = np.where(np.isfinite(rates.rate), 1 / rates.variance, 0.0)
    rest = precision.sum() - precision
    total = precision @ np.nan_to_num(rates.rate) - precision * np.nan_to_num(rates.rate)
    safe = np.where(rest > 0, rest, 1.0)
    return Rates(np.where(rest > 0, total / safe, np.nan), np.where(rest > 0, 1 / safe, np.inf))
