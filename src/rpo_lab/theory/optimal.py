"""The best λ, ρ and η: as printed (Proposition 1), as derived from the corrected theorem, and found numerically."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize, minimize_scalar

from rpo.exceptions import InputError
from rpo_lab.theory.problems import Array, Problem, penalties
from rpo_lab.theory.risk import Risk, exact_risk, leading_order

if TYPE_CHECKING:
    from rpo.functional.penalties import Penalties

Form = Literal["integral", "sample"]
Lambda = Literal["paper", "derived", "numerical"]
Rho = Literal["paper", "derived", "numerical"]

_SEARCH = (float(np.log(1e-8)), 0.0)
"""Where log λ is looked for."""


def proposition_1(problem: Problem) -> "Penalties":
    r"""Compute the penalties of Proposition 1.

        ρ_k = 4^(−2/5) Σ_e (σ_ek/r̂_ek)^(4/5),  η_e = N_e 4^(−7/5) / Σ_k (σ_ek/r̂_ek)^(4/5),  λ = (Σ_e 1/N_e)^(2/5)

    σ_ek² is the mean noise variance of domain e in group k, r̂_ek its share of the domain's samples (Proposition 1).

    Example:
        >>> from rpo_lab.theory import problems
        >>> printed = proposition_1(problems.get("noise-only"))
        >>> round(float(printed.rho[2] / printed.rho[0]), 2), round(6**0.8, 2)
        (4.19, 4.19)
    """
    # Here and not above: the package of the formula imports torch, which nothing else of the theory needs.
    from rpo.functional.penalties import optimal_penalties

    member = _membership(problem)
    r_hat = problem.mass @ member
    sigma = np.sqrt((problem.mass * problem.noise**2) @ member / r_hat)
    return optimal_penalties(sigma, r_hat, problem.samples)


def _membership(problem: Problem) -> Array:
    """Return a matrix `(n, K)` that is one where node i lies in group k."""
    return np.eye(problem.groups)[problem.group]


def optimal_lambda(
    problem: Problem, eta: ArrayLike = 0.0, rho: ArrayLike = 1.0, *, method: Lambda = "derived"
) -> float:
    r"""Compute the λ that minimises R(f̂).

    method="paper": (Σ_e 1/N_e)^(2/5).
    method="derived": the root of 4 A λ^(5/2) + 3 a λ² = B, the minimum of A λ² + a λ^(3/2) + B λ^(−1/2), where
    A λ² is the interior bias², a λ^(3/2) = Σ_ends f_*'² (λρ/r)^(3/2)/2 the boundary layers, B λ^(−1/2) the variance.
    Without layers it is (B/4A)^(2/5), with layers alone (B/3a)^(1/2).
    method="numerical": the minimum of :func:`exact_risk`.

    Example:
        >>> from rpo_lab.theory import problems
        >>> p = problems.get("cosine")
        >>> derived, best = optimal_lambda(p), optimal_lambda(p, method="numerical")
        >>> abs(derived / best - 1) < 0.1, optimal_lambda(p, method="paper") > 30 * best
        (True, True)
    """
    eta_e, rho_x = penalties(problem, eta, 1.0, rho)
    if method == "paper":
        return proposition_1(problem).lam
    if method == "derived":
        interior, ends, spread = leading_order(problem, eta_e, rho_x)
        if interior + ends == 0 or spread == 0:
            raise InputError(f"{problem.name} has no best lam: its bias or its variance is zero for every lam")
        # Either bias alone would put λ here; together they put it lower, but by less than a factor √2.
        high = min((spread / (4 * a)) ** power for a, power in ((interior, 0.4), (0.75 * ends, 0.5)) if a > 0)
        return float(brentq(lambda lam: 4 * interior * lam**2.5 + 3 * ends * lam**2 - spread, high / 2, high * 1.01))
    if method == "numerical":
        return best_lambda(lambda lam: exact_risk(problem, eta_e, lam, rho_x))[0]
    raise InputError(f"method must be 'paper', 'derived' or 'numerical', got {method!r}")


def best_lambda(risk: Callable[[float], Risk]) -> tuple[float, float]:
    """Find argmin and min over λ of a risk, by a golden-section search on a logarithmic scale.

    Example:
        >>> from rpo_lab.theory import expected_risk, problems
        >>> p = problems.get("cosine", nodes=501)
        >>> lam, lowest = best_lambda(lambda lam: expected_risk(p, 0.0, lam, 1.0))
        >>> lowest <= expected_risk(p, 0.0, 1.1 * lam, 1.0).risk
        True
    """
    minimum = minimize_scalar(
        lambda log: np.log(risk(float(np.exp(log))).risk), bounds=_SEARCH, method="bounded", options={"xatol": 1e-4}
    )
    return float(np.exp(minimum.x)), float(np.exp(minimum.fun))


def optimal_rho(
    problem: Problem,
    eta: ArrayLike = 0.0,
    *,
    method: Rho = "derived",
    form: Form = "integral",
) -> Array:
    r"""Compute ρ on the problem's groups, of shape (K,), scaled to mean one (λ takes the scale).

    method="paper": Σ_e (σ_ek/r̂_ek)^(4/5), Proposition 1.
    method="derived": s^(4/5) r^(3/5) with s² = Σ_e r_e σ_e²/(N_e r), from minimising λ²ρ²f_*''²/r² + s²/(4√(λ r ρ))
    at every x with the curvature of the truth, which is not known, taken as equal everywhere.
    method="numerical": the minimum of :func:`exact_risk` over λρ_1 … λρ_K.

    form="integral" is the penalty λ∫ρf'² of Eq. 1; form="sample" the sum over samples of Eq. 4, whose weight at x
    is ρ r: there the derived exponent of the density is 3/5 − 1 = −2/5. The printed ρ is the same in both.

    Example:
        >>> from rpo_lab.theory import problems
        >>> p = problems.get("density-only")
        >>> rho = optimal_rho(p)
        >>> round(float(np.log(rho[1] / rho[0]) / np.log(5)), 2)  # the density is 5 times higher
        0.6
        >>> sample = optimal_rho(p, form="sample")
        >>> round(float(np.log(sample[1] / sample[0]) / np.log(5)), 2)
        -0.4
    """
    member = _membership(problem)
    width = problem.weights @ member
    density = (problem.weights * problem.total_density) @ member / width
    if method == "paper":
        rho = proposition_1(problem).rho
    elif method == "derived":
        per_sample = problem.density * problem.noise**2 / problem.samples[:, None]
        s2 = (problem.weights * per_sample.sum(0)) @ member / width / density
        rho = s2**0.4 * density**0.6
    elif method == "numerical":
        rho = _numerical_rho(problem, eta)
    else:
        raise InputError(f"method must be 'paper', 'derived' or 'numerical', got {method!r}")
    if form == "sample" and method != "paper":
        rho = rho / density
    elif form not in {"integral", "sample"}:
        raise InputError(f"form must be 'integral' or 'sample', got {form!r}")
    return np.asarray(rho / rho.mean(), dtype=np.float64)


def weight_of(problem: Problem, rho: Array, form: Form = "integral") -> Array:
    """Return the weight of f'(x)² at the nodes, of shape (n,), for group-wise ρ: ρ itself, or ρ r in the sample sum.

    Example:
        >>> from rpo_lab.theory import problems
        >>> p = problems.get("density-only")
        >>> weight_of(p, np.ones(4), "sample")[[0, -1]].round(2)
        array([0.33, 1.67])
    """
    weight = problem.by_group(rho)
    return weight * problem.total_density if form == "sample" else weight


def _numerical_rho(problem: Problem, eta: ArrayLike) -> Array:
    """Minimise the exact risk over log λρ_k; the gradient by differences, for K is small."""
    start = np.log(optimal_rho(problem) * optimal_lambda(problem, eta, method="numerical"))

    def objective(log: Array) -> float:
        return float(np.log(exact_risk(problem, eta, 1.0, problem.by_group(np.exp(log))).risk))

    return np.exp(minimize(objective, start, method="L-BFGS-B", options={"ftol": 1e-12, "gtol": 1e-7}).x)
