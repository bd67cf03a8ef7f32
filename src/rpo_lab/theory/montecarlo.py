"""Bias and variance of the LipIRM minimiser by simulation, all repetitions at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rpo.exceptions import InputError
from rpo_lab.theory import tridiagonal
from rpo_lab.theory.problems import Array, Problem
from rpo_lab.theory.solver import Functional, make_functional, solve_1d

STACK = 30_000
"""Numbers in one stack (repetitions times nodes): enough to amortise the calls, few enough to stay in the cache."""

SETTLED = 1e-9
"""An error of f this small against the truth ends the iteration: far below the sampling error."""

SWEEPS, HELD = 4, 5
"""Factorisations, and steps with each, before a repetition is solved on its own."""

NEAR = 0.02
"""Pulls this close to those of the noiseless problem are found with its matrix: errors then shrink 25-fold a step."""

LARGEST = 100.0
"""Pulls beyond this mean that the iteration has lost its way; the repetition is then solved on its own."""

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Simulation:
    """Profiles and integrals over repetitions, each integral with its standard error.

    Attributes:
        bias: mean of f̂ − f_* at the nodes, of shape (n,).
        variance: unbiased variance of f̂ at the nodes, of shape (n,).
        bias2, bias2_se: ∫ bias² less the part that is sampling error, and its standard error.
        var, var_se: ∫ variance and its standard error.
        risk, risk_se: R(f̂) and its standard error.
        losses: ∫ (f̂ − f_*)² of each repetition, of shape (B,), for paired comparisons.
        repetitions: how many draws of the noise.
        failed: how many repetitions no solver could bring to convergence (they are left in the averages).
    """

    bias: Array
    variance: Array
    bias2: float
    bias2_se: float
    var: float
    var_se: float
    risk: float
    risk_se: float
    losses: Array
    repetitions: int
    failed: int


def draw_labels(problem: Problem, repetitions: int, rng: np.random.Generator) -> Array:
    """Draw the mean label of the samples at each node, of shape (E, B, n).

        y_e(x_i) = f_*(x_i) + N(0, σ_e²/(N_e r_e w_i))

    Example:
        >>> from rpo_lab.theory import problems
        >>> draw_labels(problems.get("cosine", nodes=11), 3, np.random.default_rng(0)).shape
        (1, 3, 11)
    """
    # Repetition by repetition, so that the draws do not depend on how many are stacked.
    normal = rng.standard_normal((repetitions, problem.domains, len(problem.x))).swapaxes(0, 1)
    y: Array = np.multiply(normal, np.sqrt(problem.label_variance)[:, None], order="C")
    y += problem.truth
    return y


def monte_carlo(
    problem: Problem,
    eta: ArrayLike,
    lam: float,
    rho: ArrayLike,
    *,
    repetitions: int = 200,
    seed: int = 0,
) -> Simulation:
    r"""Estimate E[f̂] − f_*, Var[f̂] and R(f̂) = E ∫ (f̂ − f_*)² (Eq. 3) over draws of the noise.

    Every repetition minimises the full functional of Eq. 1 on its own noisy labels.

    Args:
        problem: densities, noise, truth and grid.
        eta: η_e, a number or of shape (E,).
        lam: λ.
        rho: ρ at the nodes, a number or of shape (n,).
        repetitions: draws of the noise, at least 2.
        seed: of the noise; the same seed gives the same draws for every η, λ and ρ.

    Example:
        >>> from rpo_lab.theory import problems
        >>> simulation = monte_carlo(problems.get("cosine", nodes=201), 1.0, 1e-3, 1.0, repetitions=50)
        >>> simulation.failed
        0
        >>> abs(simulation.risk - simulation.bias2 - simulation.var) < 4 * simulation.risk_se
        True
    """
    if repetitions < 2:
        raise InputError(f"repetitions must be at least 2, got {repetitions}")
    rng = np.random.default_rng(seed)
    errors = np.empty((repetitions, len(problem.x)))
    failed = 0
    start = _noiseless(problem, make_functional(problem, eta, lam, rho))
    for rows in np.array_split(errors, -(-errors.size // STACK)):
        f, unsolved = solve_many(problem, eta, lam, rho, draw_labels(problem, len(rows), rng), start=start)
        failed += unsolved
        np.subtract(f, problem.truth, out=rows)
    return _summarise(problem, errors, failed)


def solve_many(
    problem: Problem, eta: ArrayLike, lam: float, rho: ArrayLike, y: Array, *, start: Array | None = None
) -> tuple[Array, int]:
    r"""Minimise Eq. 1 for stacked labels y of shape (E, B, n); return f of shape (B, n), and how many failed.

    Only E numbers for each repetition are nonlinear, the pulls p_e = 2 η_e G_e: at a stationary point

        T(p) f = Σ_e (1 + p_e) r_e y_e,   T(p) = Σ_e (1 + 2 p_e) r_e − λ d/dx ρ d/dx,   p_e = 2 η_e G_e(f).

    Newton's iteration on p, with T held for a few steps at an anchor: first one for all, then, where that is too
    coarse, each repetition's own. The tridiagonal matrices of all the repetitions are then the blocks of one long
    tridiagonal matrix, so each factorisation and each solve is a single call.
    A repetition that does not settle is given to :func:`solve_1d`. `start` are the pulls of the noiseless problem, if
    they are known.

    Example:
        >>> from rpo_lab.theory import problems
        >>> p = problems.get("cosine", nodes=101)
        >>> y = draw_labels(p, 2, np.random.default_rng(0))
        >>> f, failed = solve_many(p, 1.0, 1e-3, 1.0, y)
        >>> bool(np.abs(f[1] - solve_1d(p, 1.0, 1e-3, 1.0, y=y[:, 1]).f).max() < 1e-8)
        True
    """
    functional = make_functional(problem, eta, lam, rho)
    labels = y * problem.mass[:, None]
    limit = _limit(problem)
    # Where noise moves the pulls little, the matrix of the noiseless problem does for all repetitions.
    anchor = _noiseless(problem, functional) if start is None else start
    f, pull, left = _held(functional, labels, anchor, limit, near=NEAR)
    for _ in range(SWEEPS):
        if (left <= limit).all():
            return f, 0
        f, pull, left = _held(functional, labels, _positive(pull, problem.mass), limit)
    failed = 0
    for row in np.flatnonzero(~(left <= limit)):
        alone = solve_1d(problem, eta, lam, rho, y=y[:, row])
        f[row] = alone.f
        failed += not alone.converged
    return f, failed


def _limit(problem: Problem) -> float:
    """Return how far f may be from settled."""
    return SETTLED * float(np.abs(problem.truth).max())


def _noiseless(problem: Problem, functional: Functional) -> Array:
    """Compute the pulls where labels are the truth, of shape (1, E)."""
    truth = (problem.mass * problem.truth)[:, None]
    _, pull, _ = _held(functional, truth, np.zeros((1, problem.domains)), _limit(problem))
    return _positive(pull, problem.mass)


def _held(
    functional: Functional, labels: Array, anchor: Array, limit: float, near: float = np.inf
) -> tuple[Array, Array, Array]:
    """Take Newton steps on the pulls with T held at the anchor; return f, the pulls, and how far f is from settled.

    The anchor is each repetition's own or one for all. Stops early where f has settled, and where the pulls go further
    than `near` from the anchor, for the matrix held is then a poor one.
    """
    mass, eta = functional.mass, functional.eta
    factor = _block_factor(functional, anchor)
    f = _block_solve(factor, _weighted(1 + anchor, labels), overwrite=True)
    u = 2 * mass[:, None] * f - labels
    v = _block_solve(factor, u)
    newton = np.linalg.inv(np.eye(len(eta)) + 4 * eta[:, None] * np.einsum("ebn,kbn->bek", u, v))
    pull = np.broadcast_to(anchor, (len(f), len(eta)))
    moved, left = np.zeros(len(f)), np.full(len(f), np.inf)
    for _ in range(HELD):
        gap = 2 * eta * _dummy_gradients(mass, labels, f) - pull
        change = np.einsum("bek,bk->be", newton, gap)
        pull = np.clip(pull + change, -LARGEST, LARGEST)
        if np.abs(pull - anchor).max() > near:
            break
        # T(pull) f = T(anchor) f + 2 (pull − anchor) r f, and df/dpull = −v tells the last f beforehand.
        b = _weighted(1 + pull, labels)
        b -= (2 * (pull - anchor)) @ mass * (f - _weighted(change, v))
        b = _block_solve(factor, b, overwrite=True)
        previous, moved = moved, np.abs(b - f).max(1)
        f = b
        # Steps shrink by a constant factor, so the next one will be about moved²/previous.
        left = moved**2 / (np.maximum(previous, moved) + TINY)
        if (left <= limit).all():
            break
    return f, pull, left


def _positive(pull: Array, mass: Array) -> Array:
    """Make pulls smaller where Σ_e (1 + 2 p_e) r_e would fall below r/5 somewhere, so that T stays positive."""
    if pull.min() >= -0.4:  # then it is so everywhere, and the profiles need not be made
        return pull
    lowest = (2 * pull @ mass / mass.sum(0)).min(1, keepdims=True)
    return np.asarray(pull * (0.8 / np.maximum(0.8, -lowest)), dtype=np.float64)


def _block_factor(functional: Functional, pull: Array) -> tridiagonal.Factor:
    """Factorise T(pull_b) for every repetition b, as the blocks of one tridiagonal matrix."""
    ends = np.pad(functional.spring, 1)
    diagonal = (1 + 2 * pull) @ functional.mass + (ends[1:] + ends[:-1])
    factor = tridiagonal.factorise(diagonal.ravel(), -np.tile(ends[1:], len(pull))[:-1])
    if factor is None:
        raise InputError("lam or rho is too small for this grid")
    return factor


def _block_solve(factor: tridiagonal.Factor, b: Array, *, overwrite: bool = False) -> Array:
    """Compute T(pull_b)⁻¹ b for b of shape (B, n) or (m, B, n)."""
    return tridiagonal.solve(factor, b.reshape(-1, len(factor.d)), overwrite=overwrite).reshape(b.shape)


def _weighted(coefficients: Array, labels: Array) -> Array:
    """Compute Σ_e coefficients_be labels_eb, of shape (B, n)."""
    return np.asarray(np.einsum("be,ebn->bn", coefficients, labels), dtype=np.float64)


def _dummy_gradients(mass: Array, labels: Array, f: Array) -> Array:
    """Compute G_e = 2 ∫ r_e (f − y_e) f for every repetition, of shape (B, E)."""
    return np.asarray(2 * ((f * f) @ mass.T - np.einsum("ebn,bn->be", labels, f)), dtype=np.float64)


def _summarise(problem: Problem, errors: Array, failed: int) -> Simulation:
    """Average over repetitions; `errors` is used up."""
    repetitions = len(errors)
    bias = errors.mean(0)
    centred = np.subtract(errors, bias, out=errors)
    # ∫ (c + bias)² = ∫ c² + 2 ∫ c bias + ∫ bias²: one square of the large array serves all.
    influence = 2 * centred @ (problem.weights * bias)
    square = np.square(centred, out=centred)
    variance = square.sum(0) / (repetitions - 1)
    within = square @ problem.weights
    losses = within + influence + problem.integral(bias**2)
    spreads = within * (repetitions / (repetitions - 1))
    # The mean of B draws carries a B-th of the variance; without this ∫ bias² would be too large.
    var = float(spreads.mean())
    return Simulation(
        bias=bias,
        variance=variance,
        bias2=problem.integral(bias**2) - var / repetitions,
        bias2_se=_standard_error(influence),
        var=var,
        var_se=_standard_error(spreads),
        risk=float(losses.mean()),
        risk_se=_standard_error(losses),
        losses=losses,
        repetitions=repetitions,
        failed=failed,
    )


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))
