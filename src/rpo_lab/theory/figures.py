"""The figures of `rpo theory`: profiles, risk against λ, and the choices of ρ."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rpo_lab.runner.drawing import WIDTH, name_lines, save
from rpo_lab.theory.montecarlo import monte_carlo
from rpo_lab.theory.optimal import optimal_lambda, optimal_rho
from rpo_lab.theory.problems import Problem
from rpo_lab.theory.risk import Risk, exact_risk, expected_risk

PRINTED, CORRECTED, EXACT, SIMULATED = "#c1440e", "#1f7fd0", "#222222", "#757b84"
SIMULATION = "Monte Carlo ± 2 s.e."
STYLES: dict[str, dict[str, Any]] = {
    "printed": {"color": PRINTED, "linewidth": 1.6},
    "exact": {"color": EXACT, "linewidth": 3.0},
    "corrected": {"color": CORRECTED, "linewidth": 1.6, "linestyle": "--"},
}
FIGURES = {
    "profiles": "bias and variance along x: printed, corrected, exact solver, Monte Carlo",
    "lambda": "risk as a function of λ, with the printed and the derived λ",
    "rho": "density and noise; ρ printed, derived and at the numerical optimum",
}
POINTS = 250
"""Points drawn of every curve, which keeps the files small."""


def profiles(problem: Problem, eta: float, lam: float, *, repetitions: int = 400, seed: int = 0) -> Figure:
    """Draw bias and variance against x: printed, corrected, exact, and Monte-Carlo with two standard errors.

    Example:
        >>> from rpo_lab.theory import problems
        >>> figure = profiles(problems.get("cosine", nodes=101), 1.0, 1e-3, repetitions=10)
        >>> [axes.get_ylabel() for axes in figure.axes]
        ['bias', 'variance']
    """
    simulated = monte_carlo(problem, eta, lam, 1.0, repetitions=repetitions, seed=seed)
    deviation = np.sqrt(simulated.variance / repetitions)
    half_width = simulated.variance * np.sqrt(2 / (repetitions - 1))
    curves = _three_ways(problem, eta, lam)
    figure, (left, right) = _canvas(2)
    bands = ((left, simulated.bias, 2 * deviation, "bias"), (right, simulated.variance, 2 * half_width, "variance"))
    keep = _thin(problem)
    for axes, centre, width, label in bands:
        axes.fill_between(
            problem.x[keep], (centre - width)[keep], (centre + width)[keep],
            color=SIMULATED, alpha=0.35, linewidth=0,
        )  # fmt: skip
        for name, risk in curves.items():
            axes.plot(problem.x[keep], getattr(risk, label)[keep], label=name, **STYLES[name])
        axes.set_xlabel("x")
        axes.set_ylabel(label)
    right.set_ylim(bottom=0)
    ends = [(name, STYLES[name]["color"], float(risk.variance[-1])) for name, risk in curves.items()]
    name_lines(right, [*ends, (SIMULATION, SIMULATED, float(simulated.variance[-1]))])
    return figure


def risk_against_lambda(problem: Problem, eta: float) -> Figure:
    """Draw R(f̂) against λ: printed, corrected and exact, with the λ that is printed, derived and best.

    Example:
        >>> from rpo_lab.theory import problems
        >>> risk_against_lambda(problems.get("cosine", nodes=101), 1.0).axes[0].get_xscale()
        'log'
    """
    lambdas = np.geomspace(1e-6, 0.3, 60)
    risks = [_three_ways(problem, eta, float(lam)) for lam in lambdas]
    figure, (axes,) = _canvas(1)
    for name, style in STYLES.items():
        axes.loglog(lambdas, [row[name].risk for row in risks], label=name, **style)
    if np.ptp(problem.truth) > 0:
        choices = (
            (optimal_lambda(problem, eta, method="paper"), PRINTED, "s", "λ printed"),
            (optimal_lambda(problem, eta, method="derived"), CORRECTED, "o", "λ derived"),
        )
        for lam, color, marker, label in choices:
            place = (lam, exact_risk(problem, eta, lam, 1.0).risk)
            axes.plot(*place, marker=marker, color=color, markersize=7, linestyle="none", label=label, zorder=5)
            axes.annotate(label, place, (6, -6), textcoords="offset points", color=color, fontsize=8, va="top")
    axes.set_xlabel("λ")
    axes.set_ylabel("risk")
    axes.margins(y=0.15)  # room for the names of the marks
    name_lines(axes, [(name, style["color"], risks[-1][name].risk) for name, style in STYLES.items()])
    return figure


def rho_choices(problem: Problem) -> Figure:
    """Draw density and noise, and beside them ρ of the integral form printed, derived, and at the numerical optimum.

    Example:
        >>> from rpo_lab.theory import problems
        >>> [axes.get_ylabel() for axes in rho_choices(problems.get("noise-only", nodes=201)).axes]
        ['density and noise', 'ρ, mean one']
    """
    figure, (left, right) = _canvas(2)
    keep = _thin(problem)
    ends: list[tuple[str, str, float]] = []
    for e in range(problem.domains):
        suffix = f", domain {e + 1}" if problem.domains > 1 else ""
        kinds = (("r", problem.density[e], CORRECTED, "-"), ("σ", problem.noise[e], PRINTED, ":"))
        for symbol, values, color, style in kinds:
            left.plot(problem.x[keep], values[keep], color=color, alpha=0.4**e, linestyle=style)
            ends.append((f"{symbol}{suffix}", color, float(values[-1])))
    left.set_ylim(0, 1.1 * max(problem.density.max(), problem.noise.max()))
    left.set_xlabel("x")
    left.set_ylabel("density and noise")
    name_lines(left, ends)
    edges = np.linspace(0, 1, problem.groups + 1)
    choices = {
        "printed": optimal_rho(problem, method="paper"),
        "exact": optimal_rho(problem, method="numerical"),
        "corrected": optimal_rho(problem, method="derived"),
    }
    names = {"exact": "numerical optimum", "corrected": "derived"}
    for name, rho in choices.items():
        right.stairs(rho, edges, label=names.get(name, name), baseline=None, **STYLES[name])
    right.set_ylim(bottom=0)
    right.set_xlabel("x")
    right.set_ylabel("ρ, mean one")
    name_lines(right, [(names.get(name, name), STYLES[name]["color"], float(rho[-1])) for name, rho in choices.items()])
    return figure


def write(
    problem: Problem, eta: float, lam: float, out: Path, *, repetitions: int = 400, seed: int = 0
) -> Iterator[Path]:
    """Draw the three figures of a problem into a directory, as SVG, and name each file when it is written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from rpo_lab.theory import problems
        >>> with TemporaryDirectory() as folder:
        ...     files = list(write(problems.get("cosine", nodes=101), 1.0, 1e-3, Path(folder), repetitions=10))
        >>> [file.name for file in files]
        ['cosine-profiles.svg', 'cosine-lambda.svg', 'cosine-rho.svg']
    """
    drawn: dict[str, Callable[[], Figure]] = {
        "profiles": lambda: profiles(problem, eta, lam, repetitions=repetitions, seed=seed),
        "lambda": lambda: risk_against_lambda(problem, eta),
        "rho": lambda: rho_choices(problem),
    }
    for name, draw in drawn.items():
        yield from save(draw(), out, f"{problem.name}-{name}", kinds=["svg"])


def index(figures: Sequence[Path]) -> list[tuple[Path, str]]:
    """Describe each figure.

    >>> index([Path("out/cosine-rho.svg")])[0][1]
    'cosine: density and noise; ρ printed, derived and at the numerical optimum'
    """
    names = [path.stem.rpartition("-") for path in figures]
    return [(path, f"{problem}: {FIGURES[kind]}") for path, (problem, _, kind) in zip(figures, names, strict=True)]


def page(lines: Sequence[str], figures: Sequence[Path], *, eta: float, lam: float) -> str:
    """Write the conclusions and the figures as a page in the folder of the figures."""
    shown = [f"## {words}\n\n![{words}]({path.name})" for path, words in index(figures)]
    drawn = f"Bias, variance and risk are drawn at η = {eta:g}; bias and variance at λ = {lam:g}."
    title = "# Theorem 1 and Proposition 1, checked"
    return "\n\n".join([title, "\n".join(f"- {line}" for line in lines), drawn, *shown, ""])


def _three_ways(problem: Problem, eta: float, lam: float) -> dict[str, Risk]:
    """Return the risks in the order of drawing: the dashes of the corrected curve lie on the exact one."""
    return {
        "printed": expected_risk(problem, eta, lam, 1.0, variant="paper"),
        "exact": exact_risk(problem, eta, lam, 1.0),
        "corrected": expected_risk(problem, eta, lam, 1.0),
    }


def _canvas(panels: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
    axes = [figure.add_subplot(1, panels, 1 + i) for i in range(panels)]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.tick_params(labelsize=8)
        each.grid(alpha=0.25)
    return figure, axes


def _thin(problem: Problem) -> NDArray[np.intp]:
    """Return the indices of the nodes that are drawn: both ends, and evenly many between."""
    return np.unique(np.linspace(0, len(problem.x) - 1, POINTS).astype(np.intp))
