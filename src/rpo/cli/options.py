"""Options shared by the commands on a table, early checks, and printing."""

import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpo import _io as io
from rpo._io import printable

if TYPE_CHECKING:
    import pandas as pd

    from rpo._streaming import Running
    from rpo._table.dataset import Dataset


def _check_scheduler(address: str | None) -> str | None:
    """Check that a scheduler answers, before anything is computed; return the address."""
    if address is None:
        return None
    from rpo._cluster.scheduler import check_scheduler

    return check_scheduler(address)


Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of a Dask scheduler: run on that cluster instead of this machine.",
        callback=_check_scheduler,
    ),
]
DataPath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A CSV, TSV or Parquet file (CSV and TSV also as .gz), or several Parquet files: a folder, a quoted "
        "pattern, or an address such as s3://bucket/visits.",
    ),
]
SampleRows = Annotated[
    int,
    typer.Option(help="Approximate number of rows that models are trained on, for a million rows or more.", min=1_000),
]
AllRows = Annotated[bool, typer.Option("--all-rows", help="Read all rows into memory and train on all of them.")]
FitAllRows = Annotated[
    bool,
    typer.Option(
        "--all-rows",
        help="Read all rows into memory and train on all of them; trees with --cluster: into its workers' memory.",
    ),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip Parquet files that cannot be read.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(help="Folder for finished parts: the same command continues an interrupted run."),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", help="Number of worker processes for large data. (default: one per core)", min=1),
]

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 80  # columns of the narrowest terminal

# Characters that control a terminal, change the direction of text, or are invisible.
STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")

LONGEST = 480  # characters of a message

TablePath = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A CSV, TSV or Parquet file; CSV and TSV also as .gz.")
]
Target = Annotated[str, typer.Option("--target", "-t", help="Column to predict.")]
_domain = typer.Option("--domain", "-d", help="Column with the domain (the origin) of each row.")
Domain = Annotated[str, _domain]
MaybeDomain = Annotated[str | None, _domain]
Strata = Annotated[
    list[str] | None,
    typer.Option("--strata", "-s", help="Column that defines strata (groups of rows); may be repeated."),
]
Grouping = Annotated[
    io.Grouping,
    typer.Option(help="How strata are found without --strata. (auto: search for regression, none for classification)"),
]
QualityGrouping = Annotated[
    io.Grouping,
    typer.Option(help="How strata are found without --strata. (auto: search among the columns)"),
]
AskedTask = Annotated[
    io.AskedTask, typer.Option(help="Regression or classification. (auto: recognised from the target)")
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns to ignore, separated by commas; may be repeated.")]
Category = Annotated[
    list[str] | None,
    typer.Option(help="Numeric columns to treat as categorical, separated by commas; may be repeated."),
]
Encoding = Annotated[str, typer.Option(help="Encoding of text files, such as utf-8, latin-1, cp1252 or utf-16.")]
Steps = Annotated[int, typer.Option(help="Number of training steps.", min=1)]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same result.", min=0)]


Plugin = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE[:FUNCTION]",
        help="Importable module with your own methods; may be repeated.",
    ),
]
Report = Annotated[Path | None, typer.Option(help="HTML file for the data-quality page.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def load_plugins(names: Sequence[str] | None) -> None:
    """Import the modules named by --plugin."""
    if names:
        from rpo.methods import load_plugin

        for name in names:
            load_plugin(name)


def check_report(report: Path | None) -> None:
    """Raise an error, before anything is computed, if the page cannot be written."""
    from rpo.exceptions import InputError

    if report is None:
        return
    if report.is_dir():
        raise InputError(f"{report} is a directory: choose the path of a file, such as quality.html")
    if report.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report must end in .html, got {report}")


def names_in(options: Sequence[str] | None, columns: Iterable[str]) -> list[str]:
    """Split options into names of columns; an option may hold several, separated by commas.

    >>> names_in(["a,b", "c, d"], ["a", "b", "c, d"])
    ['a', 'b', 'c, d']
    """
    known = {str(name) for name in columns}
    return [name for option in options or () for name in ([option] if option in known else option.split(","))]


def origin(table: Path, seed: int) -> dict[str, str | int]:
    """Return how a result was made, and how to make it again."""
    return {
        "file": table.name,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": shlex.join(["rpo", *sys.argv[1:]]),
        "seed": seed,
        "version": version("rpo"),
    }


def shorten(line: str) -> str:
    """Shorten a long line in its middle: it begins with what is wrong and ends with what to do.

    >>> len(shorten("x" * 5_000))
    480
    """
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 160]} … {line[-157:]}"


def say(text: str, err: bool = False) -> None:
    """Print a sentence, wrapped to 80 columns."""
    typer.echo(fill(printable(text), WIDTH, break_on_hyphens=False), err=err)


def say_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error: they are no part of the result."""
    for note in notes:  # one line each, for programs that read lines
        typer.echo(f"note: {shorten(printable(note))}", err=True)


def show(table: "pd.DataFrame", columns: Sequence[str], title: str, total: int) -> None:
    """Print a table; cells are text, never markup."""
    from rich.markup import escape
    from rich.table import Table

    more = f" ({len(table)} of {total:,})" if total > len(table) else ""
    printed = Table(title=f"{title}{more}", title_justify="left")
    for name in columns:
        printed.add_column(escape(name), justify="right" if table[name].dtype.kind in "iufI" else "left")
    for values in table[list(columns)].itertuples(index=False):
        printed.add_row(*(escape(cell(value, name)) for name, value in zip(columns, values, strict=True)))
    io.console().print(printed)


def cell(value: Any, column: str = "") -> str:
    """Format a value for a table; a column whose name begins with p holds p-values."""
    if value is True or value is False or type(value).__name__ == "bool":
        return "yes" if value else ""
    if isinstance(value, float):
        if value != value:
            return "–"
        if column.split(" ")[0] == "p":
            return io.p_text(value)
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
    return "–" if str(value) == "<NA>" else printable(str(value))


def echo_json(value: Any) -> None:
    """Print strict JSON: numbers that are not finite are null, and control characters are escaped."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, indent=1)
    typer.echo(STEERING.sub(lambda match: json.dumps(match[0])[1:-1], text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Convert the rows of a table to dictionaries; missing values are null."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=10, date_format="iso"))
    return rows


def open_table(table: str, *, encoding: str, skip_bad: bool, all_rows: bool) -> "pd.DataFrame | Dataset":
    """Read the table into memory, or open it as a dataset if it is too large."""
    from rpo._table import reading
    from rpo._table.reading import is_dataset, many_rows_in, read_table

    if not is_dataset(table) and (all_rows or not many_rows_in(table)):
        return read_table(table, encoding=encoding)
    from rpo._table.dataset import open_dataset

    dataset = open_dataset(table, skip_bad=skip_bad)
    if dataset.rows >= reading.STREAMED and not all_rows:
        return dataset
    for name in dataset.bad:
        typer.echo(f"note: {name} was skipped", err=True)
    return dataset.frame()


@contextmanager
def open_run(checkpoint: Path | None, jobs: int | None, cluster: str | None, skip_bad: bool) -> "Iterator[Running]":
    """Yield how passes over a dataset are run; the folder of finished parts is locked meanwhile."""
    from functools import partial

    from joblib import cpu_count

    from rpo._cluster.spread import GO_ON, on_cluster
    from rpo._io import hold
    from rpo._streaming import Running
    from rpo._workers import shared

    again = GO_ON if checkpoint is not None else "run it again, with --checkpoint DIR to keep finished parts"
    number = cpu_count() if jobs is None else jobs
    spread = partial(shared, jobs=number) if cluster is None else on_cluster(cluster, again)
    running = Running(spread, checkpoint, skip_bad)
    if checkpoint is None:
        yield running
        return
    with hold(checkpoint, "--checkpoint"):
        yield running
