"""Ratios of the exact theory: cost linear in the grid, far below dense algebra, and stacked repetitions."""

from functools import partial

import numpy as np

from benchmarks.timing import Row, medians, row
from rpo_lab.theory import Problem, monte_carlo, problems, solve_1d, tridiagonal
from rpo_lab.theory.montecarlo import draw_labels
from rpo_lab.theory.problems import Array
from rpo_lab.theory.solver import make_functional

ETA, LAM, RHO = 1.0, 1e-3, 1.0
REPETITIONS = 200


def rows(quick: bool = False) -> list[Row]:
    """Every ratio from one interleaved run, as the median over rounds."""
    rounds = 3 if quick else 9
    small, large = (problems.get("cosine-two-domains", nodes=n) for n in (2001, 20001))
    grid = medians({"small": lambda: _solve(small), "large": lambda: _solve(large)}, rounds, calls=5)
    dense = medians({"banded": lambda: _solve(small), "dense": lambda: dense_newton(small)}, 1 if quick else 3)
    result: list[Row] = [
        row("theory: solve, 20,001 nodes over 2,001", grid["large"] / grid["small"], aim="at most 12"),
        row("theory: dense Newton over solve, 2,001 nodes", dense["dense"] / dense["banded"], aim="at least 50"),
    ]
    # One aim for every grid. 201 nodes resolve λ = 1e-3 (the variance is within 1 % of that on 2,001); on finer grids
    # arithmetic, and no longer the calls, takes the time. The bound shows what is left to gain: the draws, one linear
    # solve a repetition and the averages, as if nothing were nonlinear.
    for name, nodes in (("cosine", 201), ("cosine-two-domains", 201), ("cosine", 501), ("cosine", 2001)):
        problem = problems.get(name, nodes=nodes)
        ways = {"one by one": one_by_one, "stacked": stacked, "bound": linear}
        times = medians({way: partial(run, problem) for way, run in ways.items()}, max(3, rounds // 2))
        for way, aim in (("stacked", "at least 20"), ("bound", "")):
            ratio = times["one by one"] / times[way]
            over = f"{REPETITIONS} repetitions one by one over {way}"
            result.append(row(f"theory: {over}, {name}, {nodes} nodes", ratio, aim=aim))
    return result


def stacked(problem: Problem) -> Array:
    """The variance profile by :func:`rpo_lab.theory.monte_carlo`."""
    return monte_carlo(problem, ETA, LAM, RHO, repetitions=REPETITIONS).variance


def linear(problem: Problem) -> Array:
    """The least that any way must do: the draws, one solve with a shared matrix, and the variance profile."""
    functional = make_functional(problem, ETA, LAM, RHO)
    system = functional.half_hessian(problem.truth, np.zeros(problem.domains))
    assert system is not None
    labels = draw_labels(problem, REPETITIONS, np.random.default_rng(0)) * problem.mass[:, None]
    errors = tridiagonal.solve(system.factor, labels.sum(0))
    profile = np.square(errors - errors.mean(0)).sum(0) / (REPETITIONS - 1)
    return np.asarray(profile, dtype=np.float64)


def one_by_one(problem: Problem) -> Array:
    """The same variance profile with a call of the solver for every repetition."""
    rng = np.random.default_rng(0)
    draws = (draw_labels(problem, 1, rng)[:, 0] for _ in range(REPETITIONS))
    fits = np.array([solve_1d(problem, ETA, LAM, RHO, y=y).f for y in draws])
    return np.asarray(fits.var(0, ddof=1), dtype=np.float64)


def dense_newton(problem: Problem, tolerance: float = 1e-11) -> Array:
    """The same Newton iteration with n × n matrices, from the same start."""
    n, m, y = len(problem.x), problem.mass, problem.truth
    difference = np.diff(np.eye(n), axis=0)
    stiffness = LAM * RHO * (n - 1) * difference.T @ difference
    f = np.linalg.solve(np.diag(m.sum(0)) + stiffness, m.sum(0) * y)
    for _ in range(50):
        g = 2 * (m * (f - y)) @ f
        u = m * (2 * f - y)
        gradient = (m * (f - y)).sum(0) + stiffness @ f + 2 * ETA * g @ u
        hessian = np.diag(m.sum(0) + 4 * ETA * g @ m) + stiffness + 4 * ETA * u.T @ u
        step = np.linalg.solve(hessian, gradient)
        f = f - step
        if np.abs(step).max() <= tolerance * np.abs(y).max():
            break
    return f


def _solve(problem: Problem) -> Array:
    return solve_1d(problem, ETA, LAM, RHO).f
