"""The exact minimiser of the one-dimensional LipIRM functional."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rpo.exceptions import InputError
from rpo_lab.theory import tridiagonal
from rpo_lab.theory.problems import Array, Problem, penalties

TOLERANCE = 1e-11
"""A Newton step this small against the labels ends the iteration."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A stationary point of the LipIRM functional, or the best found when `converged` is False.

    Attributes:
        f: the function at the nodes, of shape (n,).
        gradient: G_e = d/dw R_e(w f) at w = 1, of shape (E,).
        loss: the value of the functional.
        steps: Newton steps taken.
        converged: whether the last step was below the tolerance.
        scale: ∫ r f f_* / ∫ r f_*², about 1 for a fit; below 1/4 the model has collapsed towards zero.
    """

    f: Array
    gradient: Array
    loss: float
    steps: int
    converged: bool
    scale: float

    @property
    def collapsed(self) -> bool:
        """Whether this is the spurious minimum near zero that appears once η E[f_*²] > 2."""
        return self.scale < 0.25


@dataclass(frozen=True, eq=False)
class Functional:
    """L(f) of Eq. 1 on the grid: labels `y` (E, n), their mass (E, n), η (E,) and the stiffness λK."""

    mass: Array
    y: Array
    eta: Array
    spring: Array  # λρ/h between neighbouring nodes: λ∫ρf'² = Σ spring (f_{i+1} − f_i)²

    def dummy_gradient(self, f: Array) -> Array:
        """Compute G_e = 2 ∫ r_e (f − y_e) f."""
        return np.asarray(2 * (self.mass * (f - self.y)) @ f, dtype=np.float64)

    def value(self, f: Array) -> float:
        """Compute Σ_e ∫ r_e (f − y_e)² + Σ_e η_e G_e² + λ ∫ ρ f'²."""
        risk = float(np.sum(self.mass * (f - self.y) ** 2))
        return risk + float(self.eta @ self.dummy_gradient(f) ** 2 + self.spring @ np.diff(f) ** 2)

    def half_gradient(self, f: Array, pull: Array) -> Array:
        """Compute half of dL/df, where pull_e = 2 η_e G_e."""
        flux = np.diff(f, prepend=f[:1], append=f[-1:]) * np.pad(self.spring, 1)
        return ((1 + pull) @ self.mass + pull @ self.mass) * f - (1 + pull) @ (self.mass * self.y) - np.diff(flux)

    def half_hessian(self, f: Array, pull: Array) -> tridiagonal.LowRank | None:
        """Compute half of d²L/df² = T + Σ_e 4 η_e u_e u_eᵀ, u_e = r_e (2f − y_e); None if T is indefinite."""
        ends = np.pad(self.spring, 1)
        factor = tridiagonal.factorise((1 + 2 * pull) @ self.mass + ends[1:] + ends[:-1], -self.spring)
        if factor is None:
            return None
        return tridiagonal.add_low_rank(factor, self.mass * (2 * f - self.y), 4 * self.eta)


def make_functional(
    problem: Problem, eta: ArrayLike, lam: float, rho: ArrayLike, y: ArrayLike | None = None
) -> Functional:
    """Make the LipIRM functional of Eq. 1 on the problem's grid, for the labels y (the truth when left out).

    Example:
        >>> from rpo_lab.theory import problems
        >>> functional = make_functional(problems.get("constant"), eta=1.0, lam=0.1, rho=1.0)
        >>> functional.value(functional.y[0])
        0.0
    """
    eta_e, rho_x = penalties(problem, eta, lam, rho)
    try:
        labels = np.broadcast_to(problem.truth if y is None else np.asarray(y, np.float64), problem.mass.shape)
    except ValueError:
        raise InputError(f"y must be of shape {problem.mass.shape} or {problem.x.shape}") from None
    spring = lam * (rho_x[1:] + rho_x[:-1]) / 2 * (len(problem.x) - 1)
    return Functional(problem.mass, labels, eta_e, spring)


def solve_1d(
    problem: Problem,
    eta: ArrayLike,
    lam: float,
    rho: ArrayLike,
    *,
    y: ArrayLike | None = None,
    start: ArrayLike | None = None,
    max_steps: int = 100,
) -> Solution:
    r"""Minimise the LipIRM functional (Eq. 1, 2) exactly.

        argmin_f Σ_e ∫ r_e (f − y_e)² + Σ_e η_e (2 ∫ r_e (f − y_e) f)² + λ ∫ ρ f'²

    Linear finite elements with lumped mass. The Hessian is tridiagonal plus one rank for each domain, so a Newton step
    costs time linear in the grid. Steps are halved until the loss falls; where the tridiagonal part is not
    positive definite its negative terms are dropped, which keeps every step a descent.

    Args:
        problem: densities, truth and grid.
        eta: η_e, a number or of shape (E,); zero turns the IRM term off.
        lam: λ.
        rho: ρ at the nodes, a number or of shape (n,).
        y: labels at the nodes, of shape (n,) or (E, n); the noiseless truth when left out.
        start: where Newton begins; the minimiser for η = 0 when left out, which lies in the basin of the fit and not
            of the collapsed model.
        max_steps: Newton steps before `converged` is reported False.

    Example:
        >>> from rpo_lab.theory import problems
        >>> solution = solve_1d(problems.get("cosine", nodes=201), eta=1.0, lam=1e-3, rho=1.0)
        >>> solution.converged, solution.collapsed
        (True, False)
    """
    functional = make_functional(problem, eta, lam, rho, y)
    if start is None:
        without_irm = Functional(functional.mass, functional.y, np.zeros(problem.domains), functional.spring)
        f, steps, converged = _newton(without_irm, np.zeros_like(problem.truth), 1)
        if functional.eta.any():
            f, steps, converged = _newton(functional, f, max_steps)
        else:
            converged = True  # the problem is linear: one step is exact
    else:
        first = np.broadcast_to(np.asarray(start, np.float64), problem.truth.shape).copy()
        f, steps, converged = _newton(functional, first, max_steps)
    amplitude = problem.mass.sum(0) * problem.truth
    return Solution(
        f=f,
        gradient=functional.dummy_gradient(f),
        loss=functional.value(f),
        steps=steps,
        converged=converged,
        scale=float(amplitude @ f / (amplitude @ problem.truth)) if problem.truth.any() else 1.0,
    )


def _newton(functional: Functional, f: Array, max_steps: int) -> tuple[Array, int, bool]:
    size = float(np.abs(functional.y).max())
    loss = functional.value(f)
    # Below this, a difference of losses is rounding.
    rounding = 1e-13 * functional.value(np.zeros_like(f))
    for step in range(1, max_steps + 1):
        pull = 2 * functional.eta * functional.dummy_gradient(f)
        gradient = functional.half_gradient(f, pull)
        hessian = functional.half_hessian(f, pull) or functional.half_hessian(f, np.maximum(pull, 0))
        if hessian is None or not np.isfinite(gradient).all():
            return f, step, False
        direction = -tridiagonal.solve_low_rank(hessian, gradient)
        descent = 2 * float(gradient @ direction)
        length = 1.0
        while (trial := functional.value(f + length * direction)) > loss + 1e-4 * length * descent + rounding:
            length /= 2
            if length < 1e-12:
                return f, step, False
        f, loss = f + length * direction, trial
        if length * float(np.abs(direction).max()) <= TOLERANCE * size:
            return f, step, True
    return f, max_steps, False
