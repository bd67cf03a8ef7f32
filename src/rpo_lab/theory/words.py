"""What the tables of `rpo theory` say in plain words, made from their figures, and what each of its figures shows."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

Row = Mapping[str, object]

FIGURES = {
    "profiles": "bias and variance along x: printed, corrected, exact solver, Monte Carlo",
    "lambda": "risk as a function of λ, with the printed and the derived λ",
    "rho": "density and noise; ρ printed, derived and at the numerical optimum",
}
WITHIN = 2.0  # standard errors
LEVEL = 0.005  # changes of the risk that are smaller count as none


def conclusions(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """One sentence or two for each table, whichever way its figures fall; nothing of a table that is empty."""
    theorem, lambdas, rho, eta = (tables.get(name, ()) for name in ("theorem", "lambda", "rho", "eta"))
    said = [_errors(theorem, quantity) for quantity in ("bias²", "variance", "risk")]
    return [
        line
        for line in (*said, _simulated(theorem), _lambda(lambdas), *_schemes("ρ", rho), *_schemes("η", eta))
        if line
    ]


def _numbers(rows: Iterable[Row], name: str) -> list[float]:
    return [float(value) for row in rows if isinstance(value := row[name], float | int)]


def _span(values: Sequence[float]) -> str:
    ends = [f"{value:+.1%}" for value in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _errors(rows: Sequence[Row], quantity: str) -> str:
    some = [row for row in rows if row["quantity"] == quantity]
    errors = {name: _numbers(some, f"{name}_error") for name in ("printed", "corrected")}
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


def _schemes(penalty: str, rows: Sequence[Row]) -> list[str]:
    """For each scheme, in how many problems it lowers the risk, and by how much it changes it."""
    said = []
    for scheme in dict.fromkeys(str(row["scheme"]) for row in rows):
        changes = _numbers([row for row in rows if row["scheme"] == scheme], "change")
        lower, higher = (sum(sign * change > LEVEL for change in changes) for sign in (-1, 1))
        said.append(
            f"{penalty}, {scheme}: a lower risk than uniform penalties in {lower} of {len(changes)} problems, "
            f"a higher one in {higher} ({_span(changes)})."
        )
    return said


def index(figures: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each figure with what it shows.

    >>> index([Path("out/cosine-rho.svg")])[0][1]
    'cosine: density and noise; ρ printed, derived and at the numerical optimum'
    """
    found = []
    for path in figures:
        problem, _, kind = path.stem.rpartition("-")
        found.append((path, f"{problem}: {FIGURES[kind]}"))
    return found


def page(lines: Sequence[str], figures: Sequence[Path], *, eta: float, lam: float) -> str:
    """The conclusions and the figures, as a page in the folder of the figures."""
    shown = [f"## {words}\n\n![{words}]({path.name})" for path, words in index(figures)]
    drawn = f"Bias, variance and risk are drawn at η = {eta:g}; bias and variance at λ = {lam:g}."
    title = "# Theorem 1 and Proposition 1, checked"
    return "\n\n".join([title, "\n".join(f"- {line}" for line in lines), drawn, *shown, ""])
