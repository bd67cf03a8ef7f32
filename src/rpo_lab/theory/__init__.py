"""Theorem 1 as printed and as it holds, and the exact one-dimensional solver that tells them apart.

Problems live in :mod:`rpo_lab.theory.problems`; tables in :mod:`rpo_lab.theory.compare`; figures in
:mod:`rpo_lab.theory.figures`.
"""

from rpo_lab.theory import problems
from rpo_lab.theory.montecarlo import Simulation, monte_carlo
from rpo_lab.theory.optimal import optimal_lambda, optimal_rho, proposition_1
from rpo_lab.theory.problems import Problem, make_problem
from rpo_lab.theory.risk import Risk, exact_risk, expected_risk
from rpo_lab.theory.solver import Solution, solve_1d

__all__ = [
    "Problem",
    "Risk",
    "Simulation",
    "Solution",
    "exact_risk",
    "expected_risk",
    "make_problem",
    "monte_carlo",
    "optimal_lambda",
    "optimal_rho",
    "problems",
    "proposition_1",
    "solve_1d",
]
