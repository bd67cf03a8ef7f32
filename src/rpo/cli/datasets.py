"""What the commands share that take a dataset of many files or rows: their options, and how it is gone through."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rpo.cli.bench.shared import Cluster

if TYPE_CHECKING:
    import pandas as pd

    from rpo.tables.dataset import Dataset
    from rpo.tables.streaming import Running

__all__ = ["AllRows", "Checkpoint", "Cluster", "DataPath", "Jobs", "SampleRows", "SkipBad", "opened", "run_by"]

DataPath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A CSV, TSV or Parquet file (CSV and TSV also as .gz), or Parquet files together: a folder, a pattern "
        "in quotes, an address such as s3://bucket/visits.",
    ),
]
SampleRows = Annotated[
    int,
    typer.Option(help="Of a dataset of a million rows or more, about how many rows models learn from.", min=1_000),
]
AllRows = Annotated[bool, typer.Option("--all-rows", help="Read all rows into memory, and learn from all of them.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out files of a dataset that cannot be read.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(help="A folder for finished parts of a dataset: stopped or killed, the same command goes on."),
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", help="Worker processes for a dataset. (default: one a core)", min=1),
]


def opened(table: str, *, encoding: str, skip_bad: bool, all_rows: bool) -> "pd.DataFrame | Dataset":
    """The table in memory, or the dataset if it has so many rows that it is gone through in parts."""
    from rpo.tables import read_table
    from rpo.tables.dataset import STREAMED, is_dataset, many_rows_in, open_dataset

    if not is_dataset(table) and (all_rows or not many_rows_in(table)):
        return read_table(table, encoding=encoding)
    dataset = open_dataset(table, skip_bad=skip_bad)
    if dataset.rows >= STREAMED and not all_rows:
        return dataset
    for name in dataset.bad:
        typer.echo(f"note: {name} was skipped", err=True)
    return dataset.frame()


@contextmanager
def run_by(checkpoint: Path | None, jobs: int | None, cluster: str | None, skip_bad: bool) -> "Iterator[Running]":
    """How passes over a dataset are made; the folder of finished parts is held meanwhile."""
    from functools import partial

    from joblib import cpu_count

    from rpo.io import hold
    from rpo.studies.spread import GO_ON, on_cluster
    from rpo.studies.workers import shared
    from rpo.tables.streaming import Running

    again = GO_ON if checkpoint is not None else "start it again, with --checkpoint DIR to keep what is done"
    number = cpu_count() if jobs is None else jobs
    spread = partial(shared, jobs=number) if cluster is None else on_cluster(cluster, again)
    running = Running(spread, checkpoint, skip_bad)
    if checkpoint is None:
        yield running
        return
    with hold(checkpoint, "--checkpoint"):
        yield running
