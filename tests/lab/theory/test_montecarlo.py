import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.theory import Problem, exact_risk, expected_risk, monte_carlo, problems, solve_1d
from rpo_lab.theory.montecarlo import draw_labels, solve_many


@pytest.mark.parametrize("name", problems.names())
@pytest.mark.parametrize("eta", [0.0, 1.0, 1000.0])
def test_the_stacked_solver_is_the_solver(name: str, eta: float) -> None:
    problem = problems.get(name, nodes=201)
    y = draw_labels(problem, 6, np.random.default_rng(1))
    f, failed = solve_many(problem, eta, 1e-3, 1.0, y)
    assert failed == 0
    for row in range(6):
        alone = solve_1d(problem, eta, 1e-3, 1.0, y=y[:, row])
        np.testing.assert_allclose(f[row], alone.f, rtol=0, atol=3e-8)


@pytest.mark.parametrize("name", ["cosine", "cosine-two-domains"])
def test_stacking_does_not_change_the_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problems.get(name, nodes=101)
    whole = monte_carlo(problem, 1.0, 1e-3, 1.0, repetitions=7, seed=5)
    again = monte_carlo(problem, 1.0, 1e-3, 1.0, repetitions=7, seed=5)
    np.testing.assert_array_equal(whole.bias, again.bias)
    assert whole.risk != monte_carlo(problem, 1.0, 1e-3, 1.0, repetitions=7, seed=6).risk
    monkeypatch.setattr("rpo_lab.theory.montecarlo.STACK", 3 * 101)
    parts = monte_carlo(problem, 1.0, 1e-3, 1.0, repetitions=7, seed=5)
    np.testing.assert_allclose(parts.bias, whole.bias, rtol=0, atol=1e-8)


@pytest.mark.parametrize("lam", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("name", ["cosine", "tilted", "cosine-two-domains", "tilted-two-domains"])
def test_the_printed_variance_is_four_times_too_large(name: str, lam: float) -> None:
    """In the interior and without IRM, which the printed variance does not depend on."""
    problem = problems.get(name, nodes=801)
    simulation = monte_carlo(problem, 0.0, lam, 1.0, repetitions=600, seed=2)
    printed = expected_risk(problem, 1.0, lam, 1.0, variant="paper")
    inside = (problem.x > 0.25) & (problem.x < 0.75)
    assert 3.6 < printed.variance[inside].sum() / simulation.variance[inside].sum() < 4.4


@pytest.mark.parametrize("eta", [1.0, 10.0, 1000.0])
@pytest.mark.parametrize("name", ["cosine-two-domains", "tilted-two-domains"])
def test_the_irm_variance(name: str, eta: float) -> None:
    problem = problems.get(name, nodes=501)
    simulation = monte_carlo(problem, eta, 1e-3, 1.0, repetitions=3000, seed=3)
    assert simulation.failed == 0
    assert abs(expected_risk(problem, eta, 1e-3, 1.0).var / simulation.var - 1) < 0.06
    # The bar means something: without the IRM terms the error is several times larger.
    assert abs(expected_risk(problem, 0.0, 1e-3, 1.0).var / simulation.var - 1) > 0.15


def test_standard_errors_cover_the_exact_values(smooth: Problem) -> None:
    problem = problems.get(smooth.name, nodes=401)
    exact = exact_risk(problem, 0.0, 1e-3, 1.0)  # without IRM the linear response is exact
    draws = [monte_carlo(problem, 0.0, 1e-3, 1.0, repetitions=100, seed=seed) for seed in range(40)]
    for value, name in ((exact.var, "var"), (exact.bias2, "bias2"), (exact.risk, "risk")):
        z = [(getattr(d, name) - value) / getattr(d, f"{name}_se") for d in draws]
        assert abs(np.mean(z)) < 0.6
        assert 0.6 < np.std(z) < 1.6


def test_one_repetition_is_refused() -> None:
    with pytest.raises(InputError, match="repetitions"):
        monte_carlo(problems.get("cosine", nodes=11), 1.0, 0.1, 1.0, repetitions=1)


def test_a_repetition_that_does_not_settle_is_solved_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problems.get("bad-second-domain", nodes=101)
    y = draw_labels(problem, 4, np.random.default_rng(0))
    settled, _ = solve_many(problem, 10.0, 1e-3, 1.0, y)
    monkeypatch.setattr("rpo_lab.theory.montecarlo.SWEEPS", 1)
    monkeypatch.setattr("rpo_lab.theory.montecarlo.HELD", 1)
    hurried, failed = solve_many(problem, 10.0, 1e-3, 1.0, y)
    assert failed == 0
    np.testing.assert_allclose(hurried, settled, rtol=0, atol=1e-7)
