import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rpo.exceptions import InputError
from rpo_lab.theory import Problem, problems, solve_1d
from rpo_lab.theory.solver import make_functional

ETAS = [0.0, 0.1, 1.0, 1000.0]


def noisy(problem: Problem, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return problem.truth + rng.normal(size=problem.mass.shape) * np.sqrt(problem.label_variance)


def dense_newton(problem: Problem, eta: float, lam: float, rho: float, y: np.ndarray) -> np.ndarray:
    """The same minimisation with n × n matrices and none of the shortcuts."""
    n, m = len(problem.x), problem.mass
    difference = np.diff(np.eye(n), axis=0)
    stiffness = lam * rho * (n - 1) * difference.T @ difference
    f = np.linalg.solve(np.diag(m.sum(0)) + stiffness, (m * y).sum(0))
    for _ in range(50):
        g = 2 * (m * (f - y)) @ f
        jac = 2 * m * (2 * f - y)
        gradient = 2 * (m * (f - y)).sum(0) + 2 * stiffness @ f + 2 * eta * g @ jac
        hessian = 2 * np.diag(m.sum(0)) + 2 * stiffness + 2 * eta * (jac.T @ jac) + np.diag(4 * eta * g @ m)
        step = np.linalg.solve(hessian, gradient)
        f = f - step
        if np.abs(step).max() < 1e-13:
            break
    return f


def test_gradient_is_the_derivative_of_the_value() -> None:
    problem = problems.get("tilted-two-domains", nodes=21)
    functional = make_functional(problem, [0.5, 2.0], 0.01, np.linspace(1, 2, 21), noisy(problem))
    f = problem.truth + 0.1 * np.sin(7 * problem.x)
    pull = 2 * functional.eta * functional.dummy_gradient(f)
    numerical = approx_fprime(f, functional.value, 1e-7)
    np.testing.assert_allclose(2 * functional.half_gradient(f, pull), numerical, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("eta", ETAS)
def test_agrees_with_a_dense_newton(smooth: Problem, eta: float) -> None:
    problem = problems.get(smooth.name, nodes=151)
    y = noisy(problem)
    solution = solve_1d(problem, eta, 1e-3, 1.5, y=y)
    assert solution.converged
    np.testing.assert_allclose(solution.f, dense_newton(problem, eta, 1e-3, 1.5, y), rtol=0, atol=1e-8)


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("lam", [1e-4, 1e-2])
def test_constant_truth_without_noise_has_no_bias(eta: float, lam: float) -> None:
    problem = problems.get("constant")
    assert np.abs(solve_1d(problem, eta, lam, 1.0).f - problem.truth).max() < 1e-9


@pytest.mark.parametrize("factor", [4.0, 3.0, 0.1])
@pytest.mark.parametrize("eta", ETAS)
def test_only_the_product_of_lam_and_rho_matters(smooth: Problem, eta: float, factor: float) -> None:
    y = noisy(smooth)
    rho = 1 + smooth.x
    one = solve_1d(smooth, eta, 1e-3, rho, y=y)
    other = solve_1d(smooth, eta, 1e-3 / factor, factor * rho, y=y)
    np.testing.assert_allclose(other.f, one.f, rtol=0, atol=1e-10)


@pytest.mark.parametrize("factor", [10.0, 0.03])
@pytest.mark.parametrize("eta", ETAS)
def test_labels_times_c_and_eta_over_c_squared_give_f_times_c(smooth: Problem, eta: float, factor: float) -> None:
    y = noisy(smooth)
    one = solve_1d(smooth, eta, 1e-3, 1.0, y=y)
    scaled = solve_1d(smooth, eta / factor**2, 1e-3, 1.0, y=factor * y)
    np.testing.assert_allclose(scaled.f / factor, one.f, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", problems.names())
@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("lam", [1e-4, 1e-2])
def test_newton_from_zero_converges_or_says_that_it_did_not(name: str, eta: float, lam: float) -> None:
    problem = problems.get(name)
    solution = solve_1d(problem, eta, lam, 1.0, start=0.0)
    functional = make_functional(problem, eta, lam, 1.0)
    pull = 2 * functional.eta * functional.dummy_gradient(solution.f)
    gradient = np.abs(functional.half_gradient(solution.f, pull) / problem.mass.sum(0)).max()
    assert solution.converged == bool(gradient < 1e-6)
    annealed = solve_1d(problem, eta, lam, 1.0)
    assert annealed.converged
    assert not annealed.collapsed
    if solution.converged and not solution.collapsed:
        np.testing.assert_allclose(solution.f, annealed.f, rtol=0, atol=1e-8)
    if eta <= 1:
        assert solution.converged


def test_the_collapsed_minimum_is_named() -> None:
    """Along f = t f_* a second minimum appears once η E[f_*²] > 2; here η E[f_*²] = 4000."""
    solution = solve_1d(problems.get("constant"), 1000.0, 1e-4, 1.0, start=0.0)
    assert solution.converged
    assert solution.collapsed
    assert solution.loss > 1.0


def test_too_few_steps_are_reported() -> None:
    assert not solve_1d(problems.get("tilted"), 1.0, 1e-3, 1.0, start=0.0, max_steps=2).converged


def test_labels_of_a_wrong_shape_are_refused() -> None:
    with pytest.raises(InputError, match="y must be"):
        solve_1d(problems.get("cosine", nodes=11), 1.0, 0.1, 1.0, y=np.zeros(7))
