"""The figures of `rpo theory`: profiles, risk against λ, and the choices of ρ."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rpo.paper.theory.montecarlo import monte_carlo
from rpo.paper.theory.optimal import optimal_lambda, optimal_rho
from rpo.paper.theory.problem import Problem
from rpo.paper.theory.risk import Risk, exact_risk, expected_risk

PRINTED, CORRECTED, EXACT, SIMULATED = "#c1440e", "#3aa0f0", "#222222", "#8a8f98"
STYLES: dict[str, dict[str, Any]] = {
    "printed": {"color": PRINTED, "linewidth": 1.6},
    "exact": {"color": EXACT, "linewidth": 3.0},
    "corrected": {"color": CORRECTED, "linewidth": 1.6, "linestyle": "--"},
}
POINTS = 250
"""Points drawn of every curve, which keeps the files small."""


def profiles(problem: Problem, eta: float, lam: float, *, repetitions: int = 400, seed: int = 0) -> Figure:
    """Bias and variance against x: printed, corrected, exact solver, and Monte-Carlo with two standard errors.

    Example:
        >>> from rpo.paper.theory import problems
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
            color=SIMULATED, alpha=0.35, linewidth=0, label="Monte-Carlo ± 2 s.e.",
        )  # fmt: skip
        for name, risk in curves.items():
            axes.plot(problem.x[keep], getattr(risk, label)[keep], label=name, **STYLES[name])
        axes.set_xlabel("x")
        axes.set_ylabel(label)
    right.set_ylim(bottom=0)
    _legend(figure, left, f"{problem.name}: η = {eta:g}, λ = {lam:g}")
    return figure


def risk_against_lambda(problem: Problem, eta: float) -> Figure:
    """R(f̂) against λ: printed, corrected and exact, with the λ that is printed, derived and best.

    Example:
        >>> from rpo.paper.theory import problems
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
            axes.plot(
                lam, exact_risk(problem, eta, lam, 1.0).risk,
                marker=marker, color=color, markersize=8, linestyle="none", label=label, zorder=5,
            )  # fmt: skip
    axes.set_xlabel("λ")
    axes.set_ylabel("risk")
    _legend(figure, axes, f"{problem.name}: η = {eta:g}")
    return figure


def rho_choices(problem: Problem) -> Figure:
    """Left: density and noise; right: ρ of the integral form printed, derived, and at the numerical optimum.

    Example:
        >>> from rpo.paper.theory import problems
        >>> [axes.get_ylabel() for axes in rho_choices(problems.get("noise-only", nodes=201)).axes]
        ['density and noise', 'ρ, mean one']
    """
    figure, (left, right) = _canvas(2)
    keep = _thin(problem)
    for e in range(problem.domains):
        shade = 0.4**e
        suffix = f" of domain {e + 1}" if problem.domains > 1 else ""
        left.plot(problem.x[keep], problem.density[e, keep], color=CORRECTED, alpha=shade, label=f"r{suffix}")
        left.plot(
            problem.x[keep], problem.noise[e, keep], color=PRINTED, alpha=shade, linestyle=":", label=f"σ{suffix}"
        )
    left.set_ylim(0, 1.35 * max(problem.density.max(), problem.noise.max()))  # room for the legend
    left.set_xlabel("x")
    left.set_ylabel("density and noise")
    left.legend(loc="upper center", ncols=2, frameon=False, fontsize=8)
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
    _legend(figure, right, problem.name)
    return figure


def write(
    problem: Problem, eta: float, lam: float, out: Path, *, repetitions: int = 400, seed: int = 0
) -> Iterator[Path]:
    """Draw the three figures of a problem into a directory, as SVG, and name each file when it is written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from rpo.paper.theory import problems
        >>> with TemporaryDirectory() as folder:
        ...     files = list(write(problems.get("cosine", nodes=101), 1.0, 1e-3, Path(folder), repetitions=10))
        >>> [file.name for file in files]
        ['cosine-profiles.svg', 'cosine-lambda.svg', 'cosine-rho.svg']
    """
    out.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, Callable[[], Figure]] = {
        "profiles": lambda: profiles(problem, eta, lam, repetitions=repetitions, seed=seed),
        "lambda": lambda: risk_against_lambda(problem, eta),
        "rho": lambda: rho_choices(problem),
    }
    for name, draw in drawn.items():
        path = out / f"{problem.name}-{name}.svg"
        # A fixed salt and no date: the same figure is the same file.
        with rc_context({"svg.hashsalt": "rpo", "svg.fonttype": "path"}):
            draw().savefig(path, metadata={"Date": None})
        yield path


def _three_ways(problem: Problem, eta: float, lam: float) -> dict[str, Risk]:
    """In the order of drawing: the dashes of the corrected curve lie on the exact one."""
    return {
        "printed": expected_risk(problem, eta, lam, 1.0, variant="paper"),
        "exact": exact_risk(problem, eta, lam, 1.0),
        "corrected": expected_risk(problem, eta, lam, 1.0),
    }


def _canvas(panels: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(4.6 * panels, 3.6), layout="constrained")
    axes = [figure.add_subplot(1, panels, 1 + i) for i in range(panels)]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(alpha=0.25)
    return figure, axes


def _legend(figure: Figure, axes: Axes, title: str) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=len(labels) if len(labels) < 5 else 3,
        frameon=False,
        fontsize=9,
    )
    figure.suptitle(title, fontsize=11)


def _thin(problem: Problem) -> NDArray[np.intp]:
    """Indices of the nodes that are drawn: both ends, and equally many between."""
    return np.unique(np.linspace(0, len(problem.x) - 1, POINTS).astype(np.intp))
