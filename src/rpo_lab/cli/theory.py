"""`rpo theory`: Theorem 1 as printed and as corrected, against the exact solver and Monte-Carlo."""

from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpo._io import console

if TYPE_CHECKING:
    from rpo_lab.theory import Problem

Tables = dict[str, list[dict[str, Any]]]


def theory(
    problem: Annotated[
        list[str] | None, typer.Option("--problem", "-p", help="Problem to solve (see --list); may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the figures.")] = Path("out/theory"),
    eta: Annotated[float, typer.Option(help="IRM penalty of every domain; must be above 0.")] = 1.0,
    lam: Annotated[
        list[float] | None, typer.Option("--lam", help="Lipschitz penalty; may be repeated. (default: 1e-4, 1e-3)")
    ] = None,
    nodes: Annotated[int, typer.Option(help="Number of grid nodes, at least 51.")] = 2001,
    repetitions: Annotated[int, typer.Option(help="Number of Monte-Carlo repetitions, at least 2.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the noise.")] = 0,
    figures: Annotated[bool, typer.Option(help="Draw the figures.")] = True,
    list_problems: Annotated[bool, typer.Option("--list", help="List the problems and exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")] = False,
) -> None:
    """Compare Theorem 1 and Proposition 1 with an exact solver, in tables, figures and conclusions.

    [bold]Examples[/bold]

        rpo theory

        rpo theory --problem tilted-two-domains --eta 10 --lam 1e-4 --out figures

        rpo theory --json --no-figures > theory.json
    """
    import json

    from rpo._io import write_whole
    from rpo.exceptions import InputError
    from rpo_lab.theory import compare, problems

    if list_problems:
        for name in problems.names():
            typer.echo(f"{name:20s} {problems.describe(name)}")
        return
    if eta <= 0:
        raise InputError(f"--eta must be above 0 (the printed theorem divides by it), got {eta:g}")
    if nodes < 51:
        raise InputError(f"--nodes must be at least 51, got {nodes}")
    chosen = [problems.get(name, nodes=nodes) for name in problem or problems.names()]
    lambdas = lam or [1e-4, 1e-3]
    tables, written = _solve(chosen, eta, lambdas, out if figures else None, repetitions=repetitions, seed=seed)
    lines = compare.conclusions(tables)
    if written:
        from rpo_lab.theory.figures import page

        write_whole(out / "index.md", page(lines, written, eta=eta, lam=lambdas[0]))
    if as_json:
        more = {"conclusions": lines, "figures": [str(path) for path in written]}
        typer.echo(json.dumps(tables | more, ensure_ascii=False, indent=1))
        return
    _print(tables)
    typer.echo("\n".join(["Conclusions\n", *(f"- {line}" for line in lines)]))
    if written:
        _print_figures(written, out, [each.name for each in chosen])


def _solve(
    problems: "list[Problem]", eta: float, lambdas: list[float], out: Path | None, **simulation: int
) -> tuple[Tables, list[Path]]:
    """Return the tables of all problems, and the files of their figures, if there is a folder for them."""
    from rich.console import Console
    from rich.progress import Progress

    from rpo_lab.theory import compare

    tables: Tables = {"theorem": [], "lambda": [], "rho": [], "eta": []}
    written: list[Path] = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("theory", total=len(problems))
        for problem in problems:
            progress.update(task, description=problem.name)
            for lam in lambdas:
                tables["theorem"] += compare.theorem_rows(problem, eta, lam, **simulation)
            tables["lambda"] += compare.lambda_rows(problem)
            if compare.groups_differ(problem):
                tables["rho"] += compare.rho_rows(problem, **simulation)
            if problem.domains > 1:
                tables["eta"] += compare.eta_rows(problem, **simulation)
            if out is not None:
                from rpo_lab.theory.figures import write

                written += write(problem, eta, lambdas[0], out, **simulation)
            progress.advance(task)
    return tables, written


TITLES = {
    "theorem": "Theorem 1 (ρ = 1; the last three columns: how far from the exact solver)",
    "lambda": "Best λ (η = 0, ρ = 1; excess = risk above that at the best λ)",
    "rho": "ρ compared with uniform ρ in the same form (η = 0, each at its own best λ)",
    "eta": "η compared with η = 1 (ρ = 1, each at its own best λ)",
}

# Column, heading, and how its values are written.
COLUMNS: dict[str, list[tuple[str, str, str]]] = {
    "theorem": [
        ("problem", "problem", "s"),
        ("lam", "λ", "g"),
        ("quantity", "quantity", "s"),
        ("printed", "printed", ".3e"),
        ("corrected", "corrected", ".3e"),
        ("exact", "exact", ".3e"),
        ("monte_carlo", "Monte-Carlo", ".3e"),
        ("monte_carlo_se", "± s.e.", ".0e"),
        ("printed_error", "printed", "+.1%"),
        ("corrected_error", "corrected", "+.1%"),
        ("monte_carlo_deviation", "M.-C. in s.e.", "+.1f"),
    ],
    "lambda": [
        ("problem", "problem", "s"),
        ("printed", "printed", ".2e"),
        ("derived", "derived", ".2e"),
        ("best", "best", ".2e"),
        ("printed_excess", "printed excess", "+.0%"),
        ("derived_excess", "derived excess", "+.1%"),
        ("slope", "slope in N", ".3f"),
    ],
    "rho": [
        ("problem", "problem", "s"),
        ("scheme", "ρ", "s"),
        ("lam", "best λ", ".2e"),
        ("change", "risk", "+.1%"),
        ("monte_carlo_change", "Monte-Carlo", "+.1%"),
        ("monte_carlo_se", "± s.e.", ".1%"),
    ],
}
COLUMNS["eta"] = [COLUMNS["rho"][0], ("scheme", "η", "s"), *COLUMNS["rho"][2:]]


def _print(tables: Tables) -> None:
    from rich.table import Table

    screen = console()
    for name, rows in tables.items():
        if not rows:
            continue
        table = Table(title=TITLES[name], title_justify="left")
        for _, heading, form in COLUMNS[name]:
            table.add_column(heading, justify="left" if form == "s" else "right", no_wrap=True)
        for _, group in groupby(rows, key=itemgetter("problem")):
            for row in group:
                table.add_row(*("–" if row[key] is None else format(row[key], form) for key, _, form in COLUMNS[name]))
            if name != "lambda":  # there each problem has one row
                table.add_section()
        screen.print(table)


def _print_figures(files: list[Path], out: Path, names: list[str]) -> None:
    from rpo_lab.theory.figures import FIGURES

    typer.echo(f"\n{len(files)} figures in {out}, all of them on the page {out / 'index.md'}:\n")
    for name, words in FIGURES.items():
        typer.echo(f"- PROBLEM-{name}.svg: {words}")
    typer.echo(f"\nPROBLEM is one of {', '.join(names)}.")
