"""What the commands on a table share: their options, checks made before anything is computed, and printing."""

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

    from rpo._table.dataset import Dataset
    from rpo._table.passes import Running


def _reached(address: str | None) -> str | None:
    """The address, once somebody answers there: known before anything is computed."""
    if address is None:
        return None
    from rpo._cluster.scheduler import reached

    return reached(address)


Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of a Dask scheduler: run on that cluster instead of this machine.",
        callback=_reached,
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

# Characters that steer a terminal, turn the direction of what follows, or are not seen at all.
STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")

LONGEST = 480  # characters of a line that says something

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
    """Import what --plugin named."""
    if names:
        from rpo.methods import load_plugin

        for name in names:
            load_plugin(name)


def check_report(report: Path | None) -> None:
    """Refuse a page that cannot be written before anything is computed."""
    from rpo.exceptions import InputError

    if report is None:
        return
    if report.is_dir():
        raise InputError(f"{report} is a directory: choose the path of a file, such as quality.html")
    if report.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report must end in .html, got {report}")


def names_in(given: Sequence[str] | None, columns: Iterable[str]) -> list[str]:
    """Names of columns as options give them, several in one if separated by commas.

    >>> names_in(["a,b", "c, d"], ["a", "b", "c, d"])
    ['a', 'b', 'c, d']
    """
    known = {str(name) for name in columns}
    return [name for one in given or () for name in ([one] if one in known else one.split(","))]


def origin(table: Path, seed: int) -> dict[str, str | int]:
    """What a result was made of, and how to make it again."""
    return {
        "file": table.name,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": shlex.join(["rpo", *sys.argv[1:]]),
        "seed": seed,
        "version": version("rpo"),
    }


def shortened(line: str) -> str:
    """A line that names may have made long, without its middle: it begins with what is wrong and ends with what to do.

    >>> len(shortened("x" * 5_000))
    480
    """
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 160]} … {line[-157:]}"


def say(text: str, err: bool = False) -> None:
    """A sentence, wrapped to 80 columns."""
    typer.echo(fill(printable(text), WIDTH, break_on_hyphens=False), err=err)


def say_notes(notes: Iterable[str]) -> None:
    """What was recognised or left out, on standard error: it is no part of the result."""
    for note in notes:  # a line each, however long: what reads them goes by lines
        typer.echo(f"note: {shortened(printable(note))}", err=True)


def show(table: "pd.DataFrame", columns: Sequence[str], title: str, total: int) -> None:
    """A table in the terminal, its cells as text and never as markup."""
    from rich.markup import escape
    from rich.table import Table

    more = f" ({len(table)} of {total:,})" if total > len(table) else ""
    drawn = Table(title=f"{title}{more}", title_justify="left")
    for name in columns:
        drawn.add_column(escape(name), justify="right" if table[name].dtype.kind in "iufI" else "left")
    for values in table[list(columns)].itertuples(index=False):
        drawn.add_row(*(escape(cell(value, name)) for name, value in zip(columns, values, strict=True)))
    io.console().print(drawn)


def cell(value: Any, column: str = "") -> str:
    """A value as a table shows it; a column whose name begins with p holds probabilities."""
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
    """Print JSON that every reader takes: what is not finite is null, and no character steers the terminal."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, indent=1)
    typer.echo(STEERING.sub(lambda found: json.dumps(found[0])[1:-1], text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """The rows of a table as dictionaries; what is missing is null."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=10, date_format="iso"))
    return rows


def opened(table: str, *, encoding: str, skip_bad: bool, all_rows: bool) -> "pd.DataFrame | Dataset":
    """The table in memory, or the dataset if it has so many rows that it is gone through in parts."""
    from rpo._table import reading
    from rpo._table.reading import is_dataset, read_table, rows_in

    if not is_dataset(table) and (all_rows or rows_in(table) < reading.STREAMED):
        return read_table(table, encoding=encoding)
    from rpo._table.dataset import open_dataset

    dataset = open_dataset(table, skip_bad=skip_bad)
    if dataset.rows >= reading.STREAMED and not all_rows:
        return dataset
    for name in dataset.bad:
        typer.echo(f"note: {name} was skipped", err=True)
    return dataset.frame()


@contextmanager
def run_by(checkpoint: Path | None, jobs: int | None, cluster: str | None, skip_bad: bool) -> "Iterator[Running]":
    """How passes over a dataset are made; the folder of finished parts is held meanwhile."""
    from functools import partial

    from joblib import cpu_count

    from rpo._cluster.spread import GO_ON, on_cluster
    from rpo._io import hold
    from rpo._table.passes import Running
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
