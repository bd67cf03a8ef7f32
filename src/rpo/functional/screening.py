"""Which features relate to the target in the same way in every domain."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import chdtrc

from rpo.functional.statistics import Array
from rpo.mapped import blocks

# Of fewer rows the variance of a slope says next to nothing: on Radon, whose counties have nine homes on average, HC0
# finds slopes to differ where counties of twenty and more agree.
MIN_ROWS = 20


def screen(
    x: ArrayLike,
    y: ArrayLike,
    domain: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    alpha: float = 0.001,
    importance: ArrayLike | None = None,
    cell: ArrayLike | None = None,
) -> NDArray[np.bool_]:
    r"""Keep feature j unless Q_j = Σ_e (b_ej − b̄_j)²/V_ej is improbable: P(χ²_{E−1} > Q_j) < α/d (Cochran 1954).

    b_ej is the slope of the target on feature j alone in domain e, V_ej its heteroscedasticity-consistent variance
    (HC0), b̄_j their precision-weighted mean. Several targets `(n, t)`: the feature must pass for each, at α/(d t).
    The feature with the largest probability always stays. A `weight` counts rows; `importance` lets rows of less noise
    say more, which makes slopes surer where noise is uneven. Slopes are then best compared within cells, numbered by
    `cell`: weights that differ by cell shift what the rows of a domain are like, and with it the slope of a curve.
    Domains of fewer than 20 rows are not asked.

    >>> rng = np.random.default_rng(0)
    >>> domain = np.repeat([0, 1], 200)
    >>> y = rng.normal(size=400)
    >>> same, other = y + rng.normal(size=400), np.where(domain == 0, 1, -1) * y + rng.normal(size=400)
    >>> screen(np.column_stack([same, other]), y, domain)
    array([ True, False])
    """
    X, Y = np.asarray(x), np.asarray(y, dtype=float)
    Y = Y[:, None] if Y.ndim == 1 else Y
    probability = np.stack([homogeneity(X, target, domain, weight, importance, cell) for target in Y.T]).min(0)
    kept: NDArray[np.bool_] = probability >= alpha / (X.shape[1] * Y.shape[1])
    kept[np.argmax(probability)] = True
    return kept


def homogeneity(
    x: ArrayLike,
    y: ArrayLike,
    domain: ArrayLike,
    weight: ArrayLike | None = None,
    importance: ArrayLike | None = None,
    cell: ArrayLike | None = None,
    *,
    min_rows: int = MIN_ROWS,
) -> Array:
    r"""P(χ² > Q_j) of each feature: near zero where its slope differs across domains; one where it cannot be told.

    Time grows with the rows, whatever the number of domains; of the features, a block of rows is looked at at a time.

    >>> homogeneity(np.ones((80, 1)), np.arange(80.0), np.arange(80) % 2)
    array([1.])
    """
    X, target, count = np.asarray(x), np.asarray(y, dtype=float), np.asarray(1.0 if weight is None else weight)
    trust = np.broadcast_to(np.asarray(1.0 if importance is None else importance, dtype=float), target.shape)
    w = np.broadcast_to(count, target.shape) * trust
    groups = [_Groups(domain, w)] if cell is None else [_Groups(cell, w), _Groups(domain, w)]
    centred = _Centred(X, target, groups)
    home = groups[-1]

    def moments(rows: slice) -> Array:
        c, t = centred.of(rows)
        return np.asarray(w[rows, None] * np.hstack([c**2, c * t]))

    power, cross = np.hsplit(home.sums(moments), 2)
    safe = np.where(power > 0, power, 1)
    slope = cross / safe

    def squares(rows: slice) -> Array:
        c, t = centred.of(rows)
        return np.asarray((w * trust)[rows, None] * np.square(c * (t - slope[home.place[rows]] * c)))

    variance = home.sums(squares) / safe**2
    # No variance in a feature, or a perfect fit, says nothing about how sure the slope is; nor do few rows.
    known = (power > 1e-12 * home.mass[:, None]) & (variance > 0) & (home.rows >= min_rows)[:, None]
    precision = np.where(known, 1 / np.where(known, variance, 1), 0)
    total = precision.sum(0)
    mean = (precision * slope).sum(0) / np.where(total > 0, total, 1)
    q = (precision * (slope - mean) ** 2).sum(0)
    freedom = np.maximum((precision > 0).sum(0) - 1, 0)
    return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), q), 1.0)


class _Groups:
    """Rows by group: weighted sums over the rows of each."""

    def __init__(self, label: ArrayLike, weight: Array) -> None:
        names, self.place = np.unique(np.asarray(label), return_inverse=True)
        self.n = len(names)
        self.weight = weight
        self.mass = np.bincount(self.place, weight, minlength=self.n)
        self.rows = np.bincount(self.place, weight > 0, minlength=self.n)

    def sums(self, values: Callable[[slice], Array]) -> Array:
        """Sums of `values`, given for a block of rows, over the rows of each group."""
        parts: list[Array] = []
        for rows in blocks(len(self.place)):
            there = self.place[rows]
            of_group = csr_array((np.ones(len(there)), there, np.arange(len(there) + 1)), shape=(len(there), self.n))
            parts.append(np.asarray(of_group.T @ values(rows)))
        return np.asarray(np.sum(parts, axis=0))

    def means(self, values: Callable[[slice], Array]) -> Array:
        """Weighted means of `values`."""
        return self.sums(lambda rows: self.weight[rows, None] * values(rows)) / np.maximum(self.mass, 1e-300)[:, None]


class _Centred:
    """Features and target less the means of their groups, a block of rows at a time."""

    def __init__(self, X: NDArray[Any], y: Array, groups: list[_Groups]) -> None:
        self.X, self.y = X, y
        self.less: list[tuple[_Groups, Array]] = []
        for group in groups:
            self.less.append((group, group.means(self._together)))

    def _together(self, rows: slice) -> Array:
        both = np.column_stack([self.X[rows].astype(float), self.y[rows]])
        for group, means in self.less:
            both -= means[group.place[rows]]
        return both

    def of(self, rows: slice) -> tuple[Array, Array]:
        """Features `(n, d)` and target `(n, 1)`."""
        both = self._together(rows)
        return both[:, :-1], both[:, -1:]
