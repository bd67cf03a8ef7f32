"""Novelty of a domain: how far its figures lie from those of the other domains."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpo._stats.scale import between

Array = NDArray[np.float64]

SLIGHT = 0.1  # standard deviations within domains: smaller differences never count as a shift


class Shift(NamedTuple):
    """z of every figure of the new domain, `(q,)`, and of every known domain against the others, `(E, q)`."""

    z: Array
    known: Array

    @property
    def score(self) -> float:
        """The largest |z| of the new domain."""
        return float(np.abs(self.z).max(initial=0.0))

    @property
    def others(self) -> Array:
        """The largest |z| of every known domain."""
        return np.asarray(np.abs(self.known).max(1, initial=0.0))


def shift(known: Array, known_rows: Array, new: Array, new_rows: float, unit: Array) -> Shift:
    r"""Compute how far each figure of a new domain lies from those of the known domains.

        z_j = (φ_j − φ̄_j)/√(τ_j²(1 + 1/E) + u_j/n + u_j/100)

    φ̄ and τ² are mean and variance over the other domains, u_j/n is the sampling variance.

    Known domains `(E, q)` are compared with the E − 1 others in the same way.

    >>> rng = np.random.default_rng(0)
    >>> found = shift(rng.normal(size=(50, 2)), np.full(50, 9.0), np.array([0.0, 9.0]), 9.0, np.ones(2))
    >>> bool(abs(found.z[1]) > found.others.max())
    True
    """
    number = len(known)
    if number < 3:
        return Shift(np.zeros(len(new)), np.zeros((number, len(new))))
    # Relative to the mean of all, for numerical accuracy.
    centre = known.mean(0)
    d = known - centre
    first, second, left = d.sum(0), (d**2).sum(0), (unit / known_rows[:, None])
    noise = left.sum(0)

    def standardise(value: Array, n: Array, count: int, total: Array, squares: Array, sampling: Array) -> Array:
        mean = total / count
        tau2 = np.maximum((squares - count * mean**2) / (count - 1) - sampling / count, 0.0)
        below = tau2 * (1 + 1 / count) + unit / n + SLIGHT**2 * unit
        difference = value - mean
        return np.asarray(np.where(np.abs(difference) > 1e-12, difference / np.sqrt(np.maximum(below, 1e-300)), 0.0))

    others = standardise(d, known_rows[:, None], number - 1, first - d, second - d**2, noise - left)
    z = standardise(new - centre, np.asarray(new_rows), number, first, second, noise)
    return Shift(z, others)


class Trouble(NamedTuple):
    """How much worse a domain is predicted than the others: by its error, and by the slope of target on prediction."""

    error: Array
    relation: Array
    certainty: Array
    """Value of `relation` if the target were unrelated to the prediction."""

    @property
    def both(self) -> Array:
        """Both, side by side, `(E, 2)`."""
        return np.stack([self.error, self.relation], 1)


class Served(NamedTuple):
    """Sums by domain: rows, mean squared error, mean of its square, Σ(f − f̄)² and Σ(f − f̄)(r − r̄)."""

    rows: Array
    error: Array
    wild: Array
    reach: Array
    along: Array


def trouble(known: Served, new: Served) -> Trouble:
    r"""Compute how much worse domains are predicted than the known ones.

        (R_e − R̄)/√(τ_R² + v_R/n_e)  and  −b_e/√(τ_b² + σ²/S_e),  b = Σ(f − f̄)(r − r̄)/S,  S = Σ(f − f̄)²

    Errors of small domains and slopes of domains whose predictions hardly vary are less certain, and count less. Means
    and variances are those of the `known` domains, also for these themselves.

    >>> rows = np.full(30, 50.0)
    >>> rng = np.random.default_rng(0)
    >>> known = Served(rows, 1 + 0.1 * rng.normal(size=30), np.full(30, 3.0), rows, rng.normal(size=30))
    >>> worse = Served(rows[:1], np.array([2.0]), np.array([12.0]), rows[:1], np.array([-50.0]))
    >>> (trouble(known, worse).both > trouble(known, known).both.max(0)).tolist()
    [[True, True]]
    """
    total = known.rows.sum()
    mean = float(known.rows @ known.error / total)
    noise = max(float(known.rows @ known.wild / total) - mean**2, 1e-300)
    centre, tau2 = between(known.error, noise / known.rows)
    error = (new.error - centre) / np.sqrt(tau2 + noise / new.rows)
    least = 1e-9 * max(float(known.reach.max(initial=0.0)), 1e-300)
    varying = known.reach > least
    if not varying.any():
        return Trouble(error, np.zeros_like(error), np.zeros_like(error))
    slope = known.along[varying] / known.reach[varying]
    middle, tau2 = between(slope, mean / known.reach[varying])
    deviation = np.sqrt(tau2 + mean / np.maximum(new.reach, least))
    new_slope = np.where(new.reach > least, new.along / np.maximum(new.reach, least), middle)
    return Trouble(error, (middle - new_slope) / deviation, (1 + middle) / deviation)
