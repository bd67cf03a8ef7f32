"""`rpo quality`: which domains, strata and rows of a table are poor. Also the options that all table commands share."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    import pandas as pd

    from rpo.tables.quality import Quality

TablePath = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A CSV, TSV or Parquet file; CSV and TSV also as .gz.")
]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
Domain = Annotated[str | None, typer.Option("--domain", "-d", help="The column that says where a row comes from.")]
Group = Annotated[
    list[str] | None,
    typer.Option("--group", "-g", help="A column that strata are made of; may be repeated."),
]
AskedTask = Annotated[
    Literal["auto", "regression", "classification"], typer.Option(help="Whether the target is a number or a class.")
]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")]
Category = Annotated[list[str] | None, typer.Option(help="A column of numbers that are mere names.")]
Encoding = Annotated[str, typer.Option(help="Of a text file: utf-8, latin-1, cp1252, utf-16.")]
Steps = Annotated[int, typer.Option(help="Steps of training.", min=1)]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.", min=0)]
Report = Annotated[Path | None, typer.Option(help="Write the data-quality page (HTML) here.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

SHOWN = 10


def quality(
    table: TablePath,
    target: Target,
    domain: Domain = None,
    group: Group = None,
    task: AskedTask = "auto",
    report: Report = None,
    drop: Drop = None,
    category: Category = None,
    encoding: Encoding = "utf-8",
    steps: Steps = 400,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Which domains and strata are noisy or scarce, how sure that is, and which rows to look at first.

    [bold]Examples[/bold]

        rpo quality homes.csv --target radon --domain county --report homes.html

        rpo quality visits.parquet -t outcome -d hospital --group ward --group sex --json
    """
    from rpo.tables import read_table
    from rpo.tables.quality import quality as judge

    check_report(report)
    frame = read_table(table, encoding=encoding)
    found = judge(
        frame,
        target=target,
        domain=domain,
        groups=group or (),
        task=task,
        drop=drop or (),
        category=category or (),
        steps=steps,
        random_state=seed,
    )
    if report is not None:
        from rpo.report import write_report

        write_report(found, report, title=table.name)
    if as_json:
        typer.echo(json.dumps(quality_json(found), ensure_ascii=False, indent=1))
        return
    say_notes(found.prepared.notes)
    show_quality(found)
    if report is not None:
        typer.echo(f"The page is {report}.")


def check_report(report: Path | None) -> None:
    """Refuse a page that cannot be written before anything is computed."""
    from rpo.exceptions import InputError

    if report is None:
        return
    if report.is_dir():
        raise InputError(f"{report} is a directory: give the path of the page, such as quality.html")
    if report.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report {report} does not end in .html: the page is HTML")


def say_notes(notes: Iterable[str]) -> None:
    """What was recognised or left out, on standard error: it is no part of the result."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def show_quality(found: "Quality") -> None:
    """The two sentences, then the worst of everything."""
    for sentence in found.summary:
        typer.echo(sentence)
    for title, table, columns in (
        (
            "Domains, poorest first",
            found.domains,
            ("rank", "domain", "n", "noise", "low", "high", "eta", "noisy", "scarce"),
        ),
        (
            "Strata, noisiest first",
            found.strata,
            ("rank", "stratum", "n", "share", "noise", "low", "high", "ratio", "noisy"),
        ),
        ("Rows to look at first", found.rows, tuple(found.rows.columns)),
    ):
        show(table.head(SHOWN), columns, title, len(table))


def show(table: "pd.DataFrame", columns: Sequence[str], title: str, total: int) -> None:
    """A table in the terminal, its cells as text and never as markup."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    more = f" ({len(table)} of {total:,})" if total > len(table) else ""
    drawn = Table(title=f"{title}{more}", title_justify="left")
    for name in columns:
        drawn.add_column(escape(name), justify="right" if table[name].dtype.kind in "iufI" else "left")
    for values in table[list(columns)].itertuples(index=False):
        drawn.add_row(*(escape(cell(value)) for value in values))
    console = Console()
    # In a pipe there is no window to fit: let no cell be cut.
    (console if console.is_terminal else Console(width=160)).print(drawn)


def cell(value: Any) -> str:
    """A value as a table shows it."""
    if value is True or value is False or type(value).__name__ == "bool":
        return "yes" if value else ""
    if isinstance(value, float):
        return "–" if value != value else f"{value:.3g}"
    return "–" if str(value) == "<NA>" else str(value)


def quality_json(found: "Quality") -> dict[str, Any]:
    """Everything that was found, as plain values."""
    return {
        "summary": list(found.summary),
        "task": found.prepared.task,
        "notes": list(found.prepared.notes),
        "p_domains": found.p_domains,
        "p_strata": found.p_strata,
        **{name: records(getattr(found, name)) for name in ("domains", "strata", "cells", "rows")},
    }


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows of a table as dictionaries; what is missing is null."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=10))
    return rows
