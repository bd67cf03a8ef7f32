"""Random effects of domains on a model: variances of level and slope, and their prediction from labelled rows.

In a regression a domain's target is f + u₀ + u₁z + ε; for classes its log odds are those of the model with an offset
for each class and a slope. The variance of u over domains decides how much a domain's own rows count.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Array = NDArray[np.float64]

STEPS = 200  # maximum number of EM iterations
CLOSE = 1e-6  # relative change of all variances at convergence
LEAST = 1e-12  # smallest variance, relative to the largest
NEWTON, HALVED = 12, 10  # maximum number of steps, and of halvings of a step


class Effects(NamedTuple):
    """The variance of every effect over domains, and of a row's noise (0 for classes)."""

    variance: Array
    noise: float


def number_effects(z: Array, residual: Array, weight: Array, domain: NDArray[np.integer]) -> Effects:
    r"""Estimate the variances of random effects and noise of a regression, by maximum likelihood (EM).

        r_i = z_iᵀu_e + ε_i,  u_e ~ N(0, diag t),  ε_i ~ N(0, σ²/w_i)

    >>> rng = np.random.default_rng(0)
    >>> domain = np.repeat(np.arange(300), 20)
    >>> r = 2 * rng.normal(size=300)[domain] + rng.normal(size=6000)
    >>> effects = number_effects(np.ones((6000, 1)), r, np.ones(6000), domain)
    >>> effects.variance.round(0).tolist(), round(effects.noise, 1)
    ([4.0], 1.0)
    """
    number, size = int(domain.max()) + 1, z.shape[1]
    a = np.empty((number, size, size))
    b = np.empty((number, size))
    for j in range(size):
        b[:, j] = np.bincount(domain, weight * z[:, j] * residual, number)
        for k in range(size):
            a[:, j, k] = np.bincount(domain, weight * z[:, j] * z[:, k], number)
    squares = float(weight @ residual**2)
    noise = squares / len(residual)
    t = np.full(size, noise / 2)
    for _ in range(STEPS):
        v = np.linalg.inv(a / noise + np.diag(1 / t))
        u = np.einsum("ejk,ek->ej", v, b) / noise
        squares_left = squares - 2 * (u * b).sum() + np.einsum("ej,ejk,ek->", u, a, u) + np.einsum("ejk,ekj->", a, v)
        before = np.append(t, noise)
        t = np.maximum((u**2 + np.diagonal(v, axis1=1, axis2=2)).mean(0), LEAST * noise)
        noise = max(float(squares_left) / len(residual), LEAST * squares / len(residual), 1e-300)
        if np.abs(np.append(t, noise) / before - 1).max() < CLOSE:
            break
    return Effects(t, noise)


def number_effect(effects: Effects, z: Array, residual: Array, weight: Array) -> Array:
    r"""Predict the effect of one domain from its rows, shrunk towards zero if they are few.

        E[u | rows] = (ZᵀWZ/σ² + diag 1/t)⁻¹ ZᵀWr/σ²

    >>> one = Effects(np.array([1.0]), 1.0)
    >>> [number_effect(one, np.ones((n, 1)), np.ones(n), np.ones(n)).round(2).tolist() for n in (1, 9, 99)]
    [[0.5], [0.9], [0.99]]
    """
    precision = (z.T * weight) @ z / effects.noise + np.diag(1 / effects.variance)
    return np.asarray(np.linalg.solve(precision, (z.T * weight) @ residual / effects.noise))


def moved(log_odds: Array, effect: Array) -> Array:
    r"""Adjust class probabilities, `(n, C)`, by the offsets and slope of a domain.

        p_k ∝ exp((1 + u_C) ℓ_k + u_k)

    >>> moved(np.log([[0.5, 0.5]]), np.array([0.0, np.log(3.0), 0.0])).round(2).tolist()
    [[0.25, 0.75]]
    """
    return np.asarray(softmax((1 + effect[-1]) * log_odds + effect[:-1], axis=1))


def class_effect(effects: Effects, log_odds: Array, label: NDArray[np.integer], weight: Array) -> tuple[Array, Array]:
    r"""Predict the effect of one domain on classes, with its covariance, by Newton's method and Laplace.

        argmax_u Σ_i w_i log p_{y_i}(u) − Σ_j u_j²/(2t_j)

    >>> wide = Effects(np.array([9.0, 9.0, 1e-9]), 0.0)
    >>> effect, _ = class_effect(wide, np.zeros((100, 2)), np.repeat([0, 1], [20, 80]), np.ones(100))
    >>> moved(np.zeros((1, 2)), effect).round(1).tolist()
    [[0.2, 0.8]]
    """
    rows = _Rows(log_odds, label, weight, np.zeros(1, dtype=np.intp))
    u, variance = rows.newton(np.zeros((1, log_odds.shape[1] + 1)), effects.variance, NEWTON)
    return u[0], variance[0]


def class_effects(
    log_odds: Array, label: NDArray[np.integer], weight: Array, domain: NDArray[np.integer], steps: int = 60
) -> Effects:
    """Estimate the variances of offsets and slope over domains for classes, by EM with Laplace's approximation.

    All offsets share one variance.

    >>> rng = np.random.default_rng(0)
    >>> domain = np.repeat(np.arange(100), 50)
    >>> label = (rng.random(5000) < 1 / (1 + np.exp(-1.5 * rng.normal(size=100)[domain]))).astype(int)
    >>> effects = class_effects(np.zeros((5000, 2)), label, np.ones(5000), domain)
    >>> bool(0.8 < np.sqrt(2 * effects.variance[0]) < 2)  # of the difference between two offsets
    True
    """
    classes = log_odds.shape[1]
    order = np.argsort(domain, kind="stable")
    start = np.flatnonzero(np.diff(domain[order], prepend=-1))
    rows = _Rows(log_odds[order], label[order], weight[order], start)
    u, current = np.zeros((len(start), classes + 1)), np.full(classes + 1, 0.1)
    for _ in range(steps):
        u, variance = rows.newton(u, current, 2)
        mean = (u**2 + np.diagonal(variance, axis1=1, axis2=2)).mean(0)
        new = np.maximum(np.append(np.full(classes, mean[:-1].mean()), mean[-1]), 1e-8)
        change = float(np.abs(new / current - 1).max())
        current = new
        if change < 1e-2:
            break
    return Effects(current, 0.0)


class _Rows(NamedTuple):
    """Rows of classes, sorted by domain, and where each domain begins."""

    log_odds: Array
    label: NDArray[np.integer]
    weight: Array
    start: NDArray[np.integer]

    def newton(self, u: Array, variance: Array, steps: int) -> tuple[Array, Array]:
        """Run Newton's method from `u`, `(E, C + 1)`; return the maximum and the inverse curvature.

        Steps that do not help are halved.
        """
        precision, place = 1 / variance, np.arange(len(self.label))
        ends = np.append(self.start[1:], len(self.label))
        domain = np.repeat(np.arange(len(self.start)), ends - self.start)
        truth = np.zeros_like(self.log_odds)
        truth[place, self.label] = 1.0

        def likelihood(u: Array) -> tuple[Array, Array]:
            p = np.asarray(softmax((1 + u[domain, -1:]) * self.log_odds + u[domain, :-1], axis=1))
            fit = self.weight * np.log(np.maximum(p[place, self.label], 1e-300))
            return p, np.add.reduceat(fit, self.start) - 0.5 * (precision * u**2).sum(1)

        p, value = likelihood(u)
        for step in range(steps + 1):
            wp = self.weight[:, None] * p
            rest = self.weight[:, None] * truth - wp
            both = np.column_stack([rest, (rest * self.log_odds).sum(1)])
            gradient = np.add.reduceat(both, self.start) - precision * u
            hessian = self._curvature(p, wp, ends) + np.diag(precision)
            if step == steps:
                break
            move = np.linalg.solve(hessian, gradient[..., None])[..., 0]
            for _ in range(HALVED):
                new_p, new_value = likelihood(u + move)
                worse = new_value < value - 1e-12 * np.abs(value)
                if not worse.any():
                    break
                move[worse] /= 2
            move[worse] = 0.0
            u = u + move
            p, new_value = (new_p, new_value) if not worse.any() else likelihood(u)
            gain, value = float((new_value - value).max()), new_value
            if gain < 1e-10 * (1 + float(np.abs(value).max())):
                steps = min(steps, step + 1)
        return u, np.asarray(np.linalg.inv(hessian), dtype=np.float64)

    def _curvature(self, p: Array, wp: Array, ends: NDArray[np.integer]) -> Array:
        """Compute the curvature of the likelihood of every domain, `(E, C + 1, C + 1)`.

        −∂²Σ w log p/∂u²
        """
        classes = p.shape[1]
        curvature = np.zeros((len(self.start), classes + 1, classes + 1))
        mean = (p * self.log_odds).sum(1)
        every = np.arange(classes)
        curvature[:, every, every] = np.add.reduceat(wp, self.start)
        curvature[:, :-1, -1] = curvature[:, -1, :-1] = np.add.reduceat(
            wp * (self.log_odds - mean[:, None]), self.start
        )
        last = (wp * self.log_odds**2).sum(1) - self.weight * mean**2
        curvature[:, -1, -1] = np.add.reduceat(last, self.start)
        for e, (first, end) in enumerate(zip(self.start, ends, strict=True)):
            curvature[e, :-1, :-1] -= wp[first:end].T @ p[first:end]
        return curvature
