"""Theorem 1: bias, variance and expected risk of the LipIRM minimiser, as printed, as corrected, and exactly."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import cumulative_trapezoid

from rpo.exceptions import InputError
from rpo_lab.theory import tridiagonal
from rpo_lab.theory.problems import Array, Problem, penalties
from rpo_lab.theory.solver import make_functional, solve_1d

Variant = Literal["paper", "corrected"]


@dataclass(frozen=True, eq=False)
class Risk:
    """Bias and variance profiles (n,), and their integrals: R(f̂) = ∫ bias² + ∫ variance (Eq. 3)."""

    bias: Array
    variance: Array
    bias2: float
    var: float

    @property
    def risk(self) -> float:
        """R(f̂)."""
        return self.bias2 + self.var


def _risk(problem: Problem, bias: Array, variance: Array) -> Risk:
    return Risk(bias, variance, problem.integral(bias**2), problem.integral(variance))


def expected_risk(
    problem: Problem, eta: ArrayLike, lam: float, rho: ArrayLike, *, variant: Variant = "corrected"
) -> Risk:
    r"""Compute R(f̂) = ∫ E²[f̂ − f_*] + Var[f̂ − f_*] (Theorem 1).

    variant="paper", to the letter:

        bias = λ [(ρ f_*')'/r − Σ_e r_e f_* / (4 η_e r ∫ r_e³ f_*²/r²)],
        var  = λ^(−1/2) Σ_e r_e σ_e² / (N_e r √(rρ)).

    variant="corrected", with h_e = r_e f_*/r, κ = √(r/(λρ)), A_ej = ∫ r_e r_j f_*²/r, b_e = −∫ h_e' ρ f_*',
    S = (diag(1/(4η)) + A)⁻¹:

        bias = λ [(ρ f_*')'/r − Σ_e (S b)_e h_e] + boundary layers,
        var  = ¼ λ^(−1/2) Σ_e r_e σ_e² / (N_e r √(rρ)) · [1 + layers] + hᵀ S C S h + 2 hᵀ S c.

    Args:
        problem: densities, noise, truth and grid.
        eta: η_e, a number or of shape (E,); the printed form divides by it.
        lam: λ.
        rho: ρ at the nodes, a number or of shape (n,).
        variant: "paper" or "corrected".

    Example:
        >>> from rpo_lab.theory import problems
        >>> p = problems.get("constant")
        >>> printed = expected_risk(p, 1.0, 1e-3, 1.0, variant="paper")
        >>> corrected = expected_risk(p, 1.0, 1e-3, 1.0)
        >>> round(float(printed.bias[0]) / 1e-3, 3), bool(abs(corrected.bias).max() < 1e-12)
        (-0.125, True)
    """
    eta_e, rho_x = penalties(problem, eta, lam, rho)
    if variant == "paper":
        return _risk(problem, *_printed(problem, eta_e, lam, rho_x))
    if variant == "corrected":
        bias = _interior_bias(problem, eta_e, lam, rho_x) + _layer_bias(problem, lam, rho_x)
        variance = _local_variance(problem, lam, rho_x) + _irm_variance(problem, eta_e)
        return _risk(problem, bias, variance)
    raise InputError(f"variant must be 'paper' or 'corrected', got {variant!r}")


def exact_risk(problem: Problem, eta: ArrayLike, lam: float, rho: ArrayLike) -> Risk:
    r"""Compute the bias of the exact minimiser without noise, and the variance of its linear response to the noise.

    With J half the Hessian at the minimiser and p_e = 2 η_e G_e,

        δf = J⁻¹ Σ_e [(1 + p_e) r_e + 4 η_e u_e (r_e f)ᵀ] ε_e,   u_e = r_e (2f − f_*),

    so nothing is assumed but noise small enough for a linear response. With strong IRM and noisy domains of one density
    it is not, and :func:`rpo_lab.theory.monte_carlo` must decide. Time is linear in the grid.

    Example:
        >>> from rpo_lab.theory import problems
        >>> p = problems.get("cosine")
        >>> exact, corrected = exact_risk(p, 1.0, 1e-4, 1.0), expected_risk(p, 1.0, 1e-4, 1.0)
        >>> abs(exact.risk / corrected.risk - 1) < 0.01
        True
    """
    functional = make_functional(problem, eta, lam, rho)
    solution = solve_1d(problem, eta, lam, rho)
    pull = 2 * functional.eta * solution.gradient
    system = functional.half_hessian(solution.f, pull)
    if system is None or not solution.converged:
        raise InputError("the exact solver did not converge for these penalties; lower eta or raise lam")
    noise = problem.label_variance
    direct = (1 + pull)[:, None] * problem.mass
    # δf = T⁻¹ a + Vᵀ q with a = Σ_e direct_e ε_e, and q_e = Q_e · ε stacked over the domains: (E, E, n).
    strength = np.linalg.solve(
        np.eye(problem.domains) + 4 * functional.eta[:, None] * (system.u @ system.v.T),
        np.diag(4 * functional.eta),
    )
    own = np.eye(problem.domains)[:, :, None] * (problem.mass * solution.f)
    q = np.einsum("ek,kjn->ejn", strength, own - system.v[:, None] * direct)
    covariance = np.einsum("ajn,jn,bjn->ab", q, noise, q)
    cross = tridiagonal.solve(system.factor, np.einsum("ajn,jn,jn->an", q, noise, direct))
    local = tridiagonal.variance(system.factor, (direct**2 * noise).sum(0))
    variance = local + np.einsum("an,ab,bn->n", system.v, covariance, system.v) + 2 * (system.v * cross).sum(0)
    return _risk(problem, solution.f - problem.truth, variance)


def _printed(problem: Problem, eta: Array, lam: float, rho: Array) -> tuple[Array, Array]:
    """Compute the two displayed formulas of Theorem 1."""
    if not eta.all():
        raise InputError("the printed theorem divides by eta: give eta > 0, or variant='corrected'")
    f, r, r_e = problem.truth, problem.total_density, problem.density
    scale = 4 * eta * ((r_e**3 / r**2 * f**2) @ problem.weights)
    bias = lam * (problem.slope(rho * problem.slope(f)) / r - (r_e * f / r / scale[:, None]).sum(0))
    variance = (r_e * problem.noise**2 / problem.samples[:, None]).sum(0) / (r * np.sqrt(r * rho)) / np.sqrt(lam)
    return bias, np.asarray(variance, dtype=np.float64)


def _directions(problem: Problem, eta: Array) -> tuple[Array, Array]:
    """Compute h_e = r_e f_*/r, of shape (E, n), and S = (diag(1/(4η)) + A)⁻¹, written so that η_e = 0 is allowed."""
    h = problem.density * problem.truth / problem.total_density
    a = h @ (problem.mass * problem.truth).T
    s = np.linalg.solve(np.eye(len(eta)) + 4 * eta[:, None] * a, np.diag(4 * eta))
    return h, np.asarray(s, dtype=np.float64)


def _interior_bias(problem: Problem, eta: Array, lam: float, rho: Array) -> Array:
    """Compute λ [(ρ f_*')'/r − Σ_e (S b)_e h_e]."""
    flux = rho * problem.slope(problem.truth)
    h, s = _directions(problem, eta)
    b = np.array([-problem.integral(problem.slope(h_e) * flux) for h_e in h])
    return np.asarray(lam * (problem.slope(flux) / problem.total_density - s @ b @ h), dtype=np.float64)


def _depth(problem: Problem, lam: float, rho: Array) -> tuple[Array, Array]:
    """Compute κ = √(r/(λρ)), and ξ = ∫_0^x κ, the distance from the left end in correlation lengths."""
    kappa = np.sqrt(problem.total_density / (lam * rho))
    return kappa, np.asarray(cumulative_trapezoid(kappa, problem.x, initial=0), dtype=np.float64)


def _layer_bias(problem: Problem, lam: float, rho: Array) -> Array:
    """Compute the layers f_*'(0)/κ · e^(−ξ) · √(κρ at 0 / κρ), less the mirror image at 1: there f̂ has no slope."""
    kappa, xi = _depth(problem, lam, rho)
    slope = problem.slope(problem.truth)
    stiffness = np.sqrt(kappa * rho)
    left = slope[0] / kappa[0] * stiffness[0] * np.exp(-xi)
    right = slope[-1] / kappa[-1] * stiffness[-1] * np.exp(xi - xi[-1])
    return np.asarray((left - right) / stiffness, dtype=np.float64)


def _local_variance(problem: Problem, lam: float, rho: Array) -> Array:
    """Compute ¼ λ^(−1/2) Σ_e r_e σ_e²/(N_e r √(rρ)) · [1 + e^(−2ξ)(1 + 2ξ) + mirror]."""
    _, xi = _depth(problem, lam, rho)
    layers = sum(np.exp(-2 * d) * (1 + 2 * d) for d in (xi, xi[-1] - xi))
    r = problem.total_density
    per_sample = (problem.density * problem.noise**2 / problem.samples[:, None]).sum(0)
    return np.asarray(per_sample / (4 * np.sqrt(lam) * r * np.sqrt(r * rho)) * (1 + layers), dtype=np.float64)


def _irm_variance(problem: Problem, eta: Array) -> Array:
    """Compute hᵀ S C S h + 2 hᵀ S c: the noise that the IRM terms carry from everywhere to x."""
    f, r, r_e = problem.truth, problem.total_density, problem.density
    h, s = _directions(problem, eta)
    per_sample = r_e * problem.noise**2 / problem.samples[:, None]
    contrast = np.eye(problem.domains)[:, :, None] - (r_e / r)[:, None]  # δ_aj − r_a/r, of shape (E, E, n)
    c = np.einsum("jn,n,ajn->an", per_sample, f / r, contrast)
    big_c = np.einsum("jn,n,ajn,bjn,n->ab", per_sample, f**2, contrast, contrast, problem.weights)
    through = s @ h
    return np.asarray(np.einsum("an,ab,bn->n", through, big_c, through) + 2 * (through * c).sum(0), dtype=np.float64)


def leading_order(problem: Problem, eta: ArrayLike, rho: ArrayLike) -> tuple[float, float, float]:
    r"""Compute A, a, B of R(f̂) ≈ A λ² + a λ^(3/2) + B λ^(−1/2) + terms without λ, for small λ.

    A = ∫ (bias/λ)² of the interior, a = Σ_ends f_*'² (ρ/r)^(3/2) / 2, B = ¼ ∫ Σ_e r_e σ_e²/(N_e r √(rρ)).

    Example:
        >>> from rpo_lab.theory import problems
        >>> interior, ends, spread = leading_order(problems.get("cosine"), 0.0, 1.0)
        >>> round(interior / (np.pi**4 / 2), 3), ends < 1e-9, round(spread / (0.3**2 / 8000), 3)
        (1.0, True, 1.0)
    """
    eta_e, rho_x = penalties(problem, eta, 1.0, rho)
    slope = problem.slope(problem.truth)[[0, -1]]
    stiffness = (rho_x / problem.total_density)[[0, -1]]
    r = problem.total_density
    per_sample = (problem.density * problem.noise**2 / problem.samples[:, None]).sum(0)
    return (
        problem.integral(_interior_bias(problem, eta_e, 1.0, rho_x) ** 2),
        float(slope**2 @ stiffness**1.5) / 2,
        problem.integral(per_sample / (4 * r * np.sqrt(r * rho_x))),
    )
