from pathlib import Path

import numpy as np
import pytest

from rpo_lab.theory import expected_risk, optimal_rho, problems
from rpo_lab.theory.figures import profiles, rho_choices, risk_against_lambda, write


def test_profiles_draw_what_the_functions_return() -> None:
    problem = problems.get("tilted", nodes=101)
    bias, variance = profiles(problem, 1.0, 1e-3, repetitions=10).axes
    lines = {line.get_label(): line for line in bias.get_lines()}
    assert list(lines) == ["printed", "exact", "corrected"]
    np.testing.assert_allclose(lines["corrected"].get_ydata(), expected_risk(problem, 1.0, 1e-3, 1.0).bias)
    assert variance.get_ylim()[0] == 0


def test_rho_figure_draws_the_three_choices() -> None:
    problem = problems.get("dense-is-noisy", nodes=201)
    drawn = {patch.get_label(): patch for patch in rho_choices(problem).axes[1].patches}
    assert set(drawn) == {"printed", "numerical optimum", "derived"}
    np.testing.assert_allclose(drawn["derived"].get_data().values, optimal_rho(problem))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["constant", "tilted"])
def test_lambda_figure_marks_a_best_lambda_only_where_there_is_one(name: str) -> None:
    labels = [line.get_label() for line in risk_against_lambda(problems.get(name, nodes=101), 1.0).axes[0].get_lines()]
    assert ("λ derived" in labels) == (name == "tilted")


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    problem = problems.get("cosine", nodes=101)
    first, second = (list(write(problem, 1.0, 1e-3, tmp_path / name, repetitions=5)) for name in ("a", "b"))
    assert len(first) == 3
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
