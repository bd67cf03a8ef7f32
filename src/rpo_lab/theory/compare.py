"""The tables of `rpo theory` (the theorem, the best λ, the gain by penalties), and sentences that describe them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rpo_lab.theory.montecarlo import monte_carlo
from rpo_lab.theory.optimal import Form, best_lambda, optimal_lambda, optimal_rho, proposition_1, weight_of
from rpo_lab.theory.problems import Array, Problem
from rpo_lab.theory.risk import exact_risk, expected_risk

NOTHING = 1e-20
"""A bias² below this is rounding: no relative error is printed for it."""

WITHIN = 2.0  # standard errors
LEVEL = 0.005  # changes of the risk that are smaller count as none

COUNTS = (1e3, 1e4, 1e5, 1e6)
"""Sample sizes over which the slope of the best λ is fitted."""

Row = dict[str, Any]


def theorem_rows(problem: Problem, eta: float, lam: float, *, repetitions: int = 400, seed: int = 0) -> list[Row]:
    """Compute bias², variance and risk by Theorem 1 as printed and corrected, the exact solver and Monte-Carlo (ρ = 1).

    The errors of both theorems are relative to the exact solver; the deviation of Monte-Carlo from it is in standard
    errors. The printed theorem divides by η and is left out for η = 0.

    Example:
        >>> from rpo_lab.theory import problems
        >>> rows = theorem_rows(problems.get("cosine", nodes=201), 1.0, 1e-3, repetitions=20)
        >>> [row["quantity"] for row in rows]
        ['bias²', 'variance', 'risk']
        >>> 2.7 < rows[1]["printed_error"] < 3.1  # the printed variance is four times the true one
        True
    """
    printed = expected_risk(problem, eta, lam, 1.0, variant="paper") if eta > 0 else None
    corrected = expected_risk(problem, eta, lam, 1.0)
    exact = exact_risk(problem, eta, lam, 1.0)
    simulated = monte_carlo(problem, eta, lam, 1.0, repetitions=repetitions, seed=seed)
    rows = []
    for quantity, name in (("bias²", "bias2"), ("variance", "var"), ("risk", "risk")):
        truth, sampled, spread = (getattr(exact, name), getattr(simulated, name), getattr(simulated, f"{name}_se"))
        values = [None if risk is None else float(getattr(risk, name)) for risk in (printed, corrected)]
        errors = [None if v is None or truth < NOTHING else v / truth - 1 for v in values]
        rows.append(
            {
                "problem": problem.name,
                "eta": eta,
                "lam": lam,
                "quantity": quantity,
                "printed": values[0],
                "corrected": float(getattr(corrected, name)),
                "exact": truth,
                "monte_carlo": sampled,
                "monte_carlo_se": spread,
                "printed_error": errors[0],
                "corrected_error": errors[1],
                "monte_carlo_deviation": (sampled - truth) / spread if spread > 0 else None,
            }
        )
    return rows


def lambda_rows(problem: Problem, *, counts: Sequence[float] = COUNTS) -> list[Row]:
    """Compute λ as printed, as derived and at the numerical optimum (η = 0, ρ = 1); nothing for a constant truth.

    Excess is the risk above that at the optimum, slope is d log λ / d log N of the optimum.

    Example:
        >>> from rpo_lab.theory import problems
        >>> (row,) = lambda_rows(problems.get("cosine", nodes=501))
        >>> round(row["slope"], 1), row["derived_excess"] < 0.01
        (-0.4, True)
        >>> lambda_rows(problems.get("constant"))
        []
    """
    if np.ptp(problem.truth) == 0:
        return []  # without bias the best λ is infinite
    printed, derived, best = (optimal_lambda(problem, method=method) for method in ("paper", "derived", "numerical"))
    lowest = exact_risk(problem, 0.0, best, 1.0).risk
    along = [
        optimal_lambda(replace(problem, samples=np.full(problem.domains, float(count))), method="numerical")
        for count in counts
    ]
    return [
        {
            "problem": problem.name,
            "printed": printed,
            "derived": derived,
            "best": best,
            "printed_excess": exact_risk(problem, 0.0, printed, 1.0).risk / lowest - 1,
            "derived_excess": exact_risk(problem, 0.0, derived, 1.0).risk / lowest - 1,
            "slope": float(np.polyfit(np.log(counts), np.log(along), 1)[0]),
        }
    ]


def groups_differ(problem: Problem) -> bool:
    """Check whether the density or the noise of some domain differs along x, so that there is something for ρ to do.

    Example:
        >>> from rpo_lab.theory import problems
        >>> groups_differ(problems.get("noise-only")), groups_differ(problems.get("cosine"))
        (True, False)
    """
    return bool(np.ptp(problem.noise, axis=1).any() or (np.ptp(problem.density, axis=1) > 1e-9).any())


def rho_rows(problem: Problem, *, repetitions: int = 400, seed: int = 0) -> list[Row]:
    """Compare the risk of ρ printed, derived and numerical with that of ρ = 1 in the same form, without IRM.

    Each is at its own best λ.

    Example:
        >>> from rpo_lab.theory import problems
        >>> rows = rho_rows(problems.get("noise-only", nodes=401), repetitions=20)
        >>> rows[0]["scheme"], rows[0]["change"] < -0.12
        ('printed, integral', True)
    """
    forms: tuple[Form, ...] = ("integral", "sample")
    rows = []
    for form in forms:
        uniform = weight_of(problem, np.ones(problem.groups), form)
        schemes = {
            "printed": weight_of(problem, optimal_rho(problem, method="paper", form=form), form),
            "derived": weight_of(problem, optimal_rho(problem, method="derived", form=form), form),
        }
        if form == "integral":  # the numerical optimum is the same penalty in either form
            schemes["numerical"] = weight_of(problem, optimal_rho(problem, method="numerical"))
        pairs = {f"{name}, {form}": (0.0, rho) for name, rho in schemes.items()}
        rows += _schemes(problem, "rho", (0.0, uniform), pairs, repetitions, seed)
    return rows


def eta_rows(problem: Problem, *, repetitions: int = 400, seed: int = 0) -> list[Row]:
    """Compare the risk of no IRM, η* scaled to mean one, and η* as printed with that of η = 1, for ρ = 1.

    Each is at its own best λ.

    Example:
        >>> from rpo_lab.theory import problems
        >>> rows = eta_rows(problems.get("bad-second-domain", nodes=401), repetitions=20)
        >>> [(row["scheme"], row["change"] < 0) for row in rows]
        [('none', True), ('printed, mean one', True), ('printed, raw', False)]
    """
    eta = proposition_1(problem).eta
    pairs: dict[str, tuple[ArrayLike, ArrayLike]] = {
        "none": (0.0, 1.0),
        "printed, mean one": (eta / eta.mean(), 1.0),
        "printed, raw": (eta, 1.0),
    }
    return _schemes(problem, "eta", (1.0, 1.0), pairs, repetitions, seed)


def _schemes(
    problem: Problem,
    penalty: str,
    uniform: tuple[ArrayLike, ArrayLike],
    schemes: Mapping[str, tuple[ArrayLike, ArrayLike]],
    repetitions: int,
    seed: int,
) -> list[Row]:
    def at_best(eta: ArrayLike, rho: ArrayLike) -> tuple[float, float, Array]:
        lam, risk = best_lambda(lambda value: exact_risk(problem, eta, value, rho))
        # The same seed, so the same noise, for every scheme: the differences are paired.
        return lam, risk, monte_carlo(problem, eta, lam, rho, repetitions=repetitions, seed=seed).losses

    _, reference, reference_losses = at_best(*uniform)
    rows = []
    for name, (eta, rho) in schemes.items():
        lam, risk, losses = at_best(eta, rho)
        ratio = losses.mean() / reference_losses.mean()
        # Standard error of a ratio of paired means, to first order.
        spread = (losses - ratio * reference_losses).std(ddof=1) / reference_losses.mean()
        rows.append(
            {
                "problem": problem.name,
                "penalty": penalty,
                "scheme": name,
                "lam": lam,
                "change": risk / reference - 1,
                "monte_carlo_change": float(ratio - 1),
                "monte_carlo_se": float(spread / np.sqrt(repetitions)),
            }
        )
    return rows


def conclusions(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """Return a sentence or two for each table; none for an empty one."""
    theorem, lambdas, rho, eta = (tables.get(name, ()) for name in ("theorem", "lambda", "rho", "eta"))
    errors = [_errors(theorem, quantity) for quantity in ("bias²", "variance", "risk")]
    lines = [*errors, _simulated(theorem), _lambda(lambdas), *_summaries("ρ", rho), *_summaries("η", eta)]
    return [line for line in lines if line]


def _numbers(rows: Iterable[Row], name: str) -> list[float]:
    return [float(value) for row in rows if isinstance(value := row[name], float | int)]


def _span(values: Sequence[float]) -> str:
    ends = [f"{value:+.1%}" for value in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _errors(rows: Sequence[Row], quantity: str) -> str:
    chosen = [row for row in rows if row["quantity"] == quantity]
    errors = {name: _numbers(chosen, f"{name}_error") for name in ("printed", "corrected")}
    parts = [f"as {name} {_span(known)} (median {median(known):+.1%})" for name, known in errors.items() if known]
    return f"Theorem 1, {quantity} compared with the exact solver: {', '.join(parts)}." if parts else ""


def _simulated(rows: Sequence[Row]) -> str:
    known = [abs(value) for value in _numbers(rows, "monte_carlo_deviation")]
    if not known:
        return ""
    near = sum(value <= WITHIN for value in known)
    return (
        f"Monte Carlo is within {WITHIN:g} standard errors of the exact solver in {near} of {len(known)} figures, "
        f"at most {max(known):.1f} away."
    )


def _lambda(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    times = [p / b for p, b in zip(_numbers(rows, "printed"), _numbers(rows, "best"), strict=True)]
    return (
        f"λ: the printed formula gives {min(times):.3g} to {max(times):.3g} times the best λ, and a risk "
        f"{_span(_numbers(rows, 'printed_excess'))} above the best one; the derived formula "
        f"{_span(_numbers(rows, 'derived_excess'))}."
    )


def _summaries(penalty: str, rows: Sequence[Row]) -> list[str]:
    """Count for each scheme the problems whose risk it lowers or raises, with the range of the changes."""
    lines = []
    for scheme in dict.fromkeys(str(row["scheme"]) for row in rows):
        changes = _numbers([row for row in rows if row["scheme"] == scheme], "change")
        lower, higher = (sum(sign * change > LEVEL for change in changes) for sign in (-1, 1))
        lines.append(
            f"{penalty}, {scheme}: a lower risk than uniform penalties in {lower} of {len(changes)} problems, "
            f"a higher one in {higher} ({_span(changes)})."
        )
    return lines
