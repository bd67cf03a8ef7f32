import math

import pytest

from rpo_lab.theory import monte_carlo, problems
from rpo_lab.theory.compare import eta_rows, groups_differ, lambda_rows, rho_rows, theorem_rows


def test_the_theorem_table_tells_the_two_theorems_apart() -> None:
    problem = problems.get("tilted-two-domains", nodes=401)
    bias2, variance, risk = theorem_rows(problem, 1.0, 1e-3, repetitions=200, seed=1)
    assert [row["quantity"] for row in (bias2, variance, risk)] == ["bias²", "variance", "risk"]
    assert abs(variance["corrected_error"] or 1.0) < 0.02
    assert (variance["printed_error"] or 0.0) > 1.5
    assert (bias2["printed_error"] or 0.0) < -0.5
    assert abs(variance["monte_carlo_deviation"] or 9.0) < 4
    assert risk["exact"] == pytest.approx(bias2["exact"] + variance["exact"])
    simulated = monte_carlo(problem, 1.0, 1e-3, 1.0, repetitions=200, seed=1)
    assert (variance["monte_carlo"], variance["monte_carlo_se"]) == (simulated.var, simulated.var_se)


def test_what_is_undefined_is_left_out() -> None:
    constant = problems.get("constant", nodes=101)
    assert theorem_rows(constant, 0.0, 1e-3, repetitions=3)[1]["printed"] is None
    assert theorem_rows(constant, 1.0, 1e-3, repetitions=3)[0]["printed_error"] is None
    assert theorem_rows(constant, 1.0, 1e-3, repetitions=2)[1]["monte_carlo_deviation"] is None
    assert lambda_rows(constant) == []
    assert not groups_differ(constant)


def test_printed_lambda_costs_and_the_derived_one_does_not() -> None:
    (row,) = lambda_rows(problems.get("tilted", nodes=801))
    assert row["printed"] > 50 * row["best"]
    assert row["printed_excess"] > 10
    assert 0 <= row["derived_excess"] < 0.01


@pytest.mark.parametrize("name", ["noise-only", "density-only", "sparse-is-noisy", "dense-is-noisy"])
def test_rho_table(name: str) -> None:
    rows = {row["scheme"]: row for row in rho_rows(problems.get(name, nodes=401), repetitions=300)}
    assert rows["numerical, integral"]["change"] <= min(0.0, rows["derived, integral"]["change"] + 1e-6)
    assert rows["derived, integral"]["change"] < 0.01
    assert rows["derived, sample"]["change"] <= rows["printed, sample"]["change"] + 1e-3
    for row in rows.values():
        assert math.isclose(row["change"], row["monte_carlo_change"], abs_tol=4 * row["monte_carlo_se"] + 0.01)


def test_eta_table_agrees_with_simulation() -> None:
    for row in eta_rows(problems.get("bad-second-domain", nodes=401), repetitions=1000):
        assert math.isclose(row["change"], row["monte_carlo_change"], abs_tol=4 * row["monte_carlo_se"] + 0.02)
