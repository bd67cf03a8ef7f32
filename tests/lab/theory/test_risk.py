from dataclasses import replace

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.theory import Problem, exact_risk, expected_risk, make_problem, problems, solve_1d
from rpo_lab.theory.solver import make_functional


def distance(problem: Problem, a: np.ndarray, b: np.ndarray) -> float:
    """‖a − b‖ / ‖b‖ in L2."""
    return float(np.sqrt(problem.integral((a - b) ** 2) / problem.integral(b**2)))


@pytest.mark.parametrize("lam", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("rho", ["one", "rising"])
def test_quarter_variance_in_the_interior(smooth: Problem, lam: float, rho: str) -> None:
    weight = np.ones_like(smooth.x) if rho == "one" else 1 + smooth.x
    inside = (smooth.x > 0.2) & (smooth.x < 0.8)
    quarter = expected_risk(smooth, 1.0, lam, weight, variant="paper").variance / 4
    exact = exact_risk(smooth, 0.0, lam, weight).variance
    assert np.abs(quarter / exact - 1)[inside].max() < 0.03


@pytest.mark.parametrize("eta", [0.0, 0.1, 1.0, 1000.0])
@pytest.mark.parametrize("rho", ["one", "rising"])
def test_corrected_bias_within_five_per_cent_of_the_solver(smooth: Problem, eta: float, rho: str) -> None:
    weight = np.ones_like(smooth.x) if rho == "one" else 1 + smooth.x
    solver = solve_1d(smooth, eta, 1e-4, weight).f - smooth.truth
    assert distance(smooth, expected_risk(smooth, eta, 1e-4, weight).bias, solver) < 0.05


def test_every_term_of_the_corrected_bias_is_needed() -> None:
    """Without the layers, or with the printed IRM term, the bias is nowhere near the solver's."""
    tilted = problems.get("tilted")
    solver = solve_1d(tilted, 1.0, 1e-4, 1.0).f - tilted.truth
    assert distance(tilted, expected_risk(tilted, 1.0, 1e-4, 1.0, variant="paper").bias, solver) > 0.5
    two = problems.get("cosine-two-domains")
    solver = solve_1d(two, 1000.0, 1e-4, 1.0).f - two.truth
    assert distance(two, expected_risk(two, 0.0, 1e-4, 1.0).bias, solver) > 0.5


def test_ten_times_the_lam_is_outside_the_regime() -> None:
    """λ = 1e-2 is too large for the expansion where the truth has slope at the ends: docs/theory.md says so."""
    tilted = problems.get("tilted")
    solver = solve_1d(tilted, 1.0, 1e-2, 1.0).f - tilted.truth
    assert 0.2 < distance(tilted, expected_risk(tilted, 1.0, 1e-2, 1.0).bias, solver) < 0.5


def test_constant_truth_needs_no_correction_and_the_printed_term_invents_one() -> None:
    problem = problems.get("constant")
    assert np.abs(expected_risk(problem, 1.0, 1e-3, 1.0).bias).max() < 1e-12
    np.testing.assert_allclose(expected_risk(problem, 1.0, 1e-3, 1.0, variant="paper").bias, -0.125e-3)


def test_the_corrected_theorem_keeps_the_symmetry_and_the_printed_one_breaks_it(smooth: Problem) -> None:
    pairs = [(1e-3, 1.0), (0.25e-3, 4.0)]
    one, other = (expected_risk(smooth, 1.0, lam, rho) for lam, rho in pairs)
    np.testing.assert_allclose(other.bias, one.bias, rtol=0, atol=1e-14)
    np.testing.assert_allclose(other.variance, one.variance, rtol=1e-12)
    one, other = (expected_risk(smooth, 0.1, lam, rho, variant="paper") for lam, rho in pairs)
    assert distance(smooth, other.bias, one.bias) > 0.04


@pytest.mark.parametrize("eta", [0.0, 1.0, 1000.0])
def test_exact_variance_is_the_response_to_unit_noise(eta: float) -> None:
    """The linear-time variance against brute force: nudge every label and solve again."""
    problem = problems.get("tilted-two-domains", nodes=41)
    nudge, base = 1e-5, np.tile(problem.truth, (2, 1))
    variance = np.zeros(41)
    for e in range(2):
        for i in range(41):
            up, down = base.copy(), base.copy()
            up[e, i] += nudge
            down[e, i] -= nudge
            response = (solve_1d(problem, eta, 1e-2, 1.0, y=up).f - solve_1d(problem, eta, 1e-2, 1.0, y=down).f) / (
                2 * nudge
            )
            variance += response**2 * problem.label_variance[e, i]
    np.testing.assert_allclose(exact_risk(problem, eta, 1e-2, 1.0).variance, variance, rtol=1e-4)


def test_without_irm_the_estimator_is_linear_and_its_variance_is_dense_algebra() -> None:
    problem = problems.get("tilted-two-domains", nodes=101)
    functional = make_functional(problem, 0.0, 1e-3, 1.0)
    ends = np.pad(functional.spring, 1)
    dense = np.diag(problem.mass.sum(0) + ends[1:] + ends[:-1])
    dense -= np.diag(functional.spring, 1) + np.diag(functional.spring, -1)
    inverse = np.linalg.inv(dense)
    expected = inverse**2 @ (problem.mass**2 * problem.label_variance).sum(0)
    np.testing.assert_allclose(exact_risk(problem, 0.0, 1e-3, 1.0).variance, expected, rtol=1e-9)


def test_variance_is_inverse_in_the_number_of_samples(smooth: Problem) -> None:
    larger = replace(smooth, samples=10 * smooth.samples)
    for variant in ("paper", "corrected"):
        few, many = (expected_risk(p, 1.0, 1e-3, 1.0, variant=variant) for p in (smooth, larger))
        np.testing.assert_allclose(many.variance, few.variance / 10, rtol=1e-10)
        np.testing.assert_array_equal(many.bias, few.bias)


def test_order_of_the_domains_does_not_matter() -> None:
    problem = problems.get("tilted-two-domains")
    swapped = replace(problem, density=problem.density[::-1], noise=problem.noise[::-1], samples=problem.samples[::-1])
    for evaluate in (expected_risk, exact_risk):
        one, other = evaluate(problem, [0.5, 2.0], 1e-3, 1.0), evaluate(swapped, [2.0, 0.5], 1e-3, 1.0)
        np.testing.assert_allclose(other.bias, one.bias, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.variance, one.variance, rtol=1e-9)


def test_the_printed_theorem_is_the_displayed_formula_for_one_uniform_domain() -> None:
    """r = 1: bias = λ (f'' − f/(4η ∫f²)), var = σ²/(N √λ)."""
    problem = make_problem("unit", truth=lambda x: 1 + x**2, noise=[0.5], samples=[100])
    risk = expected_risk(problem, 2.0, 1e-2, 1.0, variant="paper")
    np.testing.assert_allclose(risk.bias, 1e-2 * (2 - (1 + problem.x**2) / (8 * 28 / 15)), rtol=1e-5)
    np.testing.assert_allclose(risk.variance, 0.25 / (100 * 0.1), rtol=1e-12)


def test_bad_requests_are_refused() -> None:
    problem = problems.get("cosine", nodes=11)
    with pytest.raises(InputError, match="divides by eta"):
        expected_risk(problem, 0.0, 0.1, 1.0, variant="paper")
    with pytest.raises(InputError, match="variant"):
        expected_risk(problem, 1.0, 0.1, 1.0, variant="mine")  # type: ignore[arg-type]
