"""Features whose slope differs between domains: how much, and how significantly."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import chdtrc

from rpo._mapped import blocks
from rpo.functional.statistics import Array

# With fewer rows the variance of a slope is unreliable: on Radon, whose counties have nine homes on average, HC0 finds
# differences in slope that counties of twenty and more homes do not show.
FEWEST = 20
FEWEST_CARRYING = 5.0  # rows that carry a slope, (Σs)²/Σs² of their s = w (x − x̄)²: one rare row would fit itself


class Heterogeneity(NamedTuple):
    """Share of the residual variance explained by slopes per domain, and its p, for each feature.

    `slope` and `variance` hold the slopes of the domains, `(E, d)`, and their variances.
    """

    share: Array
    p: Array
    slope: Array
    variance: Array


def heterogeneity(
    residual: ArrayLike,
    x: ArrayLike,
    domain: ArrayLike,
    n_domains: int,
    weight: ArrayLike | None = None,
    importance: ArrayLike | None = None,
    *,
    fewest: int = FEWEST,
    carrying: float = FEWEST_CARRYING,
) -> Heterogeneity:
    r"""Test for each feature whether the slope of the residuals differs between domains.

        r²_j = max(0, Σ_e S_ej (b_ej − b̄_j)² − Σ_e S_ej V_ej)/Σ_i u_i²
        p_j = P(χ²_{E−1} > Σ_e (b_ej − b̄_j)²/V_ej)

    b_ej is the slope of the residual u on feature j within domain e, S_ej = Σ(x − x̄_e)², V_ej the heteroscedasticity-
    consistent variance of b_ej (HC0), b̄_j the mean weighted by precision (Cochran 1954). Residuals of a model of all
    features are used, not the target: neither a curve nor a correlated second feature is a difference between domains.
    A `weight` counts rows; `importance` weighs rows of less noise more. Domains of fewer than 20 rows are left out,
    also of fewer effective rows, (Σw)²/Σw², and those in which fewer than five rows carry the slope: the only row of a
    category would show its residual, not a slope. Time is linear in the rows, whatever the number of domains.

    >>> rng = np.random.default_rng(0)
    >>> x, domain = rng.normal(size=(600, 2)), np.repeat([0, 1, 2], 200)
    >>> u = np.where(domain == 0, 1, -0.5) * x[:, 1] + 0.5 * rng.normal(size=600)
    >>> heterogeneity(u, x, domain, 3).share.round(1)
    array([0. , 0.6])
    """
    X, u, e = np.asarray(x), np.asarray(residual, dtype=np.float64), np.asarray(domain, dtype=np.intp)
    count = np.broadcast_to(np.asarray(1.0 if weight is None else weight, dtype=np.float64), u.shape)
    trust = np.broadcast_to(np.asarray(1.0 if importance is None else importance, dtype=np.float64), u.shape)
    w = count * trust
    home = _Groups(e, n_domains, w)
    centred = _Centred(X, u, home)
    d = X.shape[1]

    def moments(rows: slice) -> Array:
        c, v = centred.block(rows)
        square = w[rows, None] * c**2
        # A row of weight two counts as two rows: its part of Σs² is twice its s².
        fourth = square * trust[rows, None] * c**2
        return np.hstack([square, w[rows, None] * c * v, fourth, w[rows, None] * v**2])

    sums = home.sums(moments)
    power, cross, fourth, total = sums[:, :d], sums[:, d : 2 * d], sums[:, 2 * d : 3 * d], float(sums[:, -1].sum())
    scale = X.std(0) if len(X) else np.ones(d)
    known = power > 1e-9 * np.maximum(home.mass, 1e-300)[:, None] * np.maximum(scale, 1e-300) ** 2
    enough = (home.rows >= fewest) & (home.mass**2 >= fewest * np.bincount(e, w * trust, n_domains) * (1 - 1e-9))
    known &= enough[:, None] & (power**2 >= carrying * fourth)
    safe = np.where(known, power, 1.0)
    slope = np.where(known, cross / safe, 0.0)

    def squares(rows: slice) -> Array:
        c, v = centred.block(rows)
        return np.asarray((w * trust)[rows, None] * np.square(c * (v - slope[e[rows]] * c)))

    variance = np.where(known, home.sums(squares) / safe**2, np.nan)
    known &= np.nan_to_num(variance) > 0  # a perfect fit has no estimate of its variance
    precision = np.where(known, 1 / np.where(known, variance, 1.0), 0.0)
    sure = precision.sum(0)
    centre = (precision * slope).sum(0) / np.where(sure > 0, sure, 1.0)
    gap = np.where(known, slope - centre, 0.0)
    explained = (np.where(known, power, 0.0) * (gap**2 - np.where(known, variance, 0.0))).sum(0)
    share = np.maximum(0.0, explained) / max(total, 1e-300)
    freedom = np.maximum(known.sum(0) - 1, 0)
    p = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), (precision * gap**2).sum(0)), 1.0)
    return Heterogeneity(np.where(freedom > 0, share, 0.0), p, np.where(known, slope, np.nan), variance)


class _Groups:
    """Rows by group: weighted sums over the rows of each."""

    def __init__(self, place: NDArray[np.intp], n: int, weight: Array) -> None:
        self.place, self.n, self.weight = place, n, weight
        self.mass = np.bincount(place, weight, minlength=n)
        self.rows = np.bincount(place, weight > 0, minlength=n)

    def sums(self, values: Callable[[slice], Array]) -> Array:
        """Sum `values`, computed for a block of rows, over the rows of each group."""
        parts: list[Array] = []
        for rows in blocks(len(self.place)):
            there = self.place[rows]
            of_group = csr_array((np.ones(len(there)), there, np.arange(len(there) + 1)), shape=(len(there), self.n))
            parts.append(np.asarray(of_group.T @ values(rows)))
        return np.asarray(np.sum(parts, axis=0))

    def means(self, values: Callable[[slice], Array]) -> Array:
        """Compute weighted means of `values` by group."""
        return self.sums(lambda rows: self.weight[rows, None] * values(rows)) / np.maximum(self.mass, 1e-300)[:, None]


class _Centred:
    """Features and target centred by group, in blocks of rows."""

    def __init__(self, X: NDArray[Any], y: Array, groups: _Groups) -> None:
        self.X, self.y, self.place = X, y, groups.place
        self.means = groups.means(self._together)

    def _together(self, rows: slice) -> Array:
        return np.column_stack([self.X[rows].astype(float), self.y[rows]])

    def block(self, rows: slice) -> tuple[Array, Array]:
        """Return the centred features, `(n, d)`, and target, `(n, 1)`, of a block of rows."""
        both = self._together(rows) - self.means[self.place[rows]]
        return both[:, :-1], both[:, -1:]
