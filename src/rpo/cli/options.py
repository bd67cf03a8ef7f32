"""Options shared by the commands on a table, early checks, and printing."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpo import _io as io

if TYPE_CHECKING:
    import pandas as pd

    from rpo._table.dataset import Dataset
    from rpo._table.passes import Running


def _check_scheduler(address: str | None) -> str | None:
    """Check that a scheduler answers, before anything is computed; return the address."""
    if address is None:
        return None
    from rpo._cluster import check_scheduler

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


def open_table(table: str, *, encoding: str, skip_bad: bool, all_rows: bool) -> "pd.DataFrame | Dataset":
    """Read the table into memory, or open it as a dataset if it is too large."""
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
def open_run(checkpoint: Path | None, jobs: int | None, cluster: str | None, skip_bad: bool) -> "Iterator[Running]":
    """Yield how passes over a dataset are run; the folder of finished parts is locked meanwhile."""
    from functools import partial

    from joblib import cpu_count

    from rpo._cluster import GO_ON, on_cluster
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
