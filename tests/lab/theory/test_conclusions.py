"""Conclusions of hand-made tables: every figure in them can be checked by head."""

from pathlib import Path

from rpo_lab.theory.compare import conclusions
from rpo_lab.theory.figures import index, page


def theorem(quantity, printed, corrected, away):
    return {
        "quantity": quantity,
        "printed_error": printed,
        "corrected_error": corrected,
        "monte_carlo_deviation": away,
    }


def test_they_say_what_the_figures_say():
    tables = {
        "theorem": [
            theorem("variance", 3.0, -0.01, 1.0),
            theorem("variance", 2.0, 0.03, -2.5),
            theorem("bias²", None, None, None),
        ],
        "lambda": [
            {"printed": 0.1, "best": 0.001, "printed_excess": 0.5, "derived_excess": 0.01},
            {"printed": 0.1, "best": 0.01, "printed_excess": 0.2, "derived_excess": 0.0},
        ],
        "rho": [{"scheme": "printed", "change": change} for change in (-0.1, 0.2, 0.001)],
        "eta": [],
    }
    assert conclusions(tables) == [
        "Theorem 1, variance compared with the exact solver: as printed +200.0% to +300.0% (median +250.0%), "
        "as corrected -1.0% to +3.0% (median +1.0%).",
        "Monte Carlo is within 2 standard errors of the exact solver in 1 of 2 figures, at most 2.5 away.",
        "λ: the printed formula gives 10 to 100 times the best λ, and a risk +20.0% to +50.0% above the best one; the "
        "derived formula +0.0% to +1.0%.",
        "ρ, printed: a lower risk than uniform penalties in 1 of 3 problems, a higher one in 1 (-10.0% to +20.0%).",
    ]


def test_nothing_is_said_of_nothing():
    assert conclusions({}) == []


def test_every_figure_is_on_the_page():
    figures = [Path("out/two-words-profiles.svg"), Path("out/two-words-lambda.svg")]
    assert [words.split(":")[0] for _, words in index(figures)] == ["two-words"] * 2
    text = page(["It is so."], figures, eta=1.0, lam=1e-4)
    assert "drawn at η = 1; bias and variance at λ = 0.0001." in text
    assert "- It is so.\n" in text
    assert "](two-words-lambda.svg)" in text
