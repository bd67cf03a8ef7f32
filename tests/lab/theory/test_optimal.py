from dataclasses import replace

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.theory import exact_risk, make_problem, monte_carlo, optimal_lambda, optimal_rho, problems, proposition_1
from rpo_lab.theory.optimal import best_lambda, weight_of
from rpo_lab.theory.problems import Problem

COUNTS = np.array([1e3, 1e4, 1e5, 1e6])


def at_its_best(problem: Problem, eta: object = 0.0, rho: object = 1.0) -> float:
    """The exact risk at the best λ of these penalties."""
    return best_lambda(lambda lam: exact_risk(problem, eta, lam, rho))[1]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "slope", "tolerance"),
    [
        ("cosine", -0.4, 0.03),
        ("cosine-two-domains", -0.4, 0.03),
        ("tilted", -0.5, 0.04),
        ("tilted-two-domains", -0.5, 0.04),
    ],
)
def test_slope_of_the_best_lambda(name: str, slope: float, tolerance: float) -> None:
    problem = problems.get(name)
    best = [optimal_lambda(replace(problem, samples=np.full(problem.domains, n)), method="numerical") for n in COUNTS]
    assert abs(np.polyfit(np.log(COUNTS), np.log(best), 1)[0] - slope) < tolerance


def test_derived_lambda_is_the_best_and_the_printed_one_is_not(smooth: Problem) -> None:
    best = optimal_lambda(smooth, method="numerical")
    assert abs(optimal_lambda(smooth, method="derived") / best - 1) < 0.1
    assert optimal_lambda(smooth, method="paper") > 20 * best


def test_derived_lambda_reduces_to_its_two_limits() -> None:
    flat = problems.get("cosine")
    interior, spread = np.pi**4 / 2, 0.3**2 / 8000
    assert optimal_lambda(flat) == pytest.approx((spread / (4 * interior)) ** 0.4, rel=1e-3)
    line = make_problem("line", truth=lambda x: 2 + x, noise=[0.3], samples=[2000])
    assert optimal_lambda(line) == pytest.approx((spread / (3 * 1.0)) ** 0.5, rel=1e-3)


def test_noise_only_problem_rewards_the_penalties() -> None:
    problem = problems.get("noise-only")
    uniform = at_its_best(problem)
    for method in ("paper", "derived"):
        rho = optimal_rho(problem, method=method)
        np.testing.assert_allclose(rho / rho[0], (np.array([1, 1, 6, 1])) ** 0.8, rtol=3e-3)
        assert at_its_best(problem, rho=weight_of(problem, rho)) < 0.88 * uniform


def test_eta_scaled_to_mean_one_helps_and_raw_eta_hurts() -> None:
    problem = problems.get("bad-second-domain")
    eta = proposition_1(problem).eta
    uniform = at_its_best(problem, eta=1.0)
    assert at_its_best(problem, eta=eta / eta.mean()) < 0.94 * uniform
    assert at_its_best(problem, eta=eta) > 1.05 * uniform


def test_simulation_confirms_what_the_exact_risk_says_of_eta() -> None:
    problem = problems.get("bad-second-domain", nodes=501)
    eta = proposition_1(problem).eta
    risks = []
    for value in (np.ones(2), eta / eta.mean(), eta):
        lam = optimal_lambda(problem, value, method="numerical")
        risks.append(monte_carlo(problem, value, lam, 1.0, repetitions=2000, seed=4).risk)
    assert risks[1] < 0.94 * risks[0]
    assert risks[2] > 1.05 * risks[0]


def test_linear_response_fails_where_the_domains_cannot_all_be_content() -> None:
    """Two noisy domains of one density under the printed η*: first order sees a gain, simulation a disaster."""
    problem = problems.get("bad-domain-same-density", nodes=301)
    eta = proposition_1(problem).eta
    lam = optimal_lambda(problem, eta, method="numerical")
    first_order = exact_risk(problem, eta, lam, 1.0).risk / exact_risk(problem, 1.0, lam, 1.0).risk
    simulated = [monte_carlo(problem, value, lam, 1.0, repetitions=300, seed=1) for value in (eta, 1.0)]
    assert first_order < 1.0
    assert simulated[0].failed == 0
    assert simulated[0].risk > 3 * simulated[1].risk


@pytest.mark.parametrize("name", ["density-only", "sparse-is-noisy", "dense-is-noisy"])
def test_derived_rho_is_near_the_numerical_optimum_and_the_printed_one_is_not(name: str) -> None:
    problem = problems.get(name, nodes=801)
    printed, derived, best = (
        at_its_best(problem, rho=weight_of(problem, optimal_rho(problem, method=method)))
        for method in ("paper", "derived", "numerical")
    )
    assert best <= derived * (1 + 1e-6)
    assert derived < 1.02 * best
    assert printed > 1.08 * best


def test_exponents_of_the_numerical_optimum() -> None:
    """Regression over problems of eight half-waves: λρ_k ∝ σ^.8 r^.6 N^−.4, the derived exponents."""
    rng = np.random.default_rng(0)
    rows, values = [], []
    for _ in range(6):
        sigma, density = np.exp(rng.uniform(-1, 1, 4)), np.exp(rng.uniform(-0.8, 0.8, 4))
        count = float(np.exp(rng.uniform(np.log(2e4), np.log(2e6))))
        problem = make_problem(
            "random",
            truth=lambda x: 2 + np.cos(8 * np.pi * x),
            density=lambda x, d=density: d[None, np.minimum((4 * x).astype(int), 3)],
            noise=sigma[None],
            samples=[count],
        )
        rho = optimal_rho(problem, method="numerical")
        lam = optimal_lambda(problem, rho=weight_of(problem, rho), method="numerical")
        share = density / density.mean()
        rows += [[np.log(sigma[k]), np.log(share[k]), np.log(count), 1.0] for k in range(4)]
        values += list(np.log(lam * rho))
    exponents = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0][:3]
    np.testing.assert_allclose(exponents, [0.8, 0.6, -0.4], atol=0.05)


def test_sample_form_and_integral_form_describe_the_same_penalty() -> None:
    problem = problems.get("sparse-is-noisy")
    integral = weight_of(problem, optimal_rho(problem))
    sample = weight_of(problem, optimal_rho(problem, form="sample"), "sample")
    np.testing.assert_allclose(sample / sample[0], integral / integral[0], rtol=1e-2)


def test_proposition_1_by_hand() -> None:
    problem = make_problem("hand", truth=lambda x: 1 + x, noise=[[0.5, 2.0]], samples=[100], groups=2)
    printed = proposition_1(problem)
    ratio = (np.array([0.5, 2.0]) / 0.5) ** 0.8
    np.testing.assert_allclose(printed.rho, 4**-0.4 * ratio, rtol=2e-3)
    np.testing.assert_allclose(printed.eta, [100 * 4**-1.4 / ratio.sum()], rtol=2e-3)
    assert printed.lam == pytest.approx(100**-0.4)


def test_bad_requests_are_refused() -> None:
    problem = problems.get("cosine", nodes=51)
    with pytest.raises(InputError, match="method"):
        optimal_lambda(problem, method="best")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="method"):
        optimal_rho(problem, method="best")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="form"):
        optimal_rho(problem, form="sum")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no best lam"):
        optimal_lambda(problems.get("constant"))
