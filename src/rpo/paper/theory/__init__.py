"""Theorem 1 as printed and as it holds, and the exact one-dimensional solver that tells them apart.

Problems live in :mod:`rpo.paper.theory.problems`; tables in :mod:`rpo.paper.theory.compare`; figures in
:mod:`rpo.paper.theory.figures`.
"""

from rpo.paper.theory import problems
from rpo.paper.theory.montecarlo import Simulation, monte_carlo
from rpo.paper.theory.optimal import optimal_lambda, optimal_rho, proposition_1
from rpo.paper.theory.problem import Problem, make_problem
from rpo.paper.theory.risk import Risk, exact_risk, expected_risk
from rpo.paper.theory.solver import Solution, solve_1d

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
