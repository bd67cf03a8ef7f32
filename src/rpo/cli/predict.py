"""`rpo predict`: a fitted folder on a new table."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from rpo.cli import options as o
from rpo.cli.console import STEERING, echo_json, records, say_notes, show

SHOWN = 12


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Model folder written by `rpo fit`.")],
    table: o.TablePath,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write (.csv, .tsv or .parquet). (default: print CSV)"),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            help="Add intervals (sets, for classes) with this coverage in per cent on new domains, such as 90.",
        ),
    ] = None,
    interval_method: Annotated[
        Literal["conformal", "model"],
        typer.Option(
            help="conformal: assumes only that new domains resemble the training domains; model: assumes normally "
            "distributed domain effects."
        ),
    ] = "conformal",
    encoding: o.Encoding = "utf-8",
    plugin: o.Plugin = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of CSV.")] = False,
) -> None:
    """Predict every row of a table; missing columns and unseen categories are reported.

    The column given by `rpo fit --id` is copied to the output. If the table has the target, the error of the
    predictions is printed.

    [bold]Examples[/bold]

        rpo predict homes-model new-homes.csv --out predictions.csv

        rpo predict homes-model new-homes.csv --interval 90 --out predictions.parquet

        rpo predict homes-model new-homes.csv --json
    """
    from rpo._io import check_not_input
    from rpo._models.table_files import load_model
    from rpo._models.table_model import predict_table, score_table
    from rpo._table.reading import read_table, write_table
    from rpo.exceptions import InputError

    o.load_plugins(plugin)
    check_not_input(out, "--out", table)
    if interval is not None and not 0 < interval < 100:
        raise InputError(f"--interval must be between 0 and 100, such as 90, got {interval:g}")
    model = load_model(folder)
    frame = read_table(table, encoding=encoding)
    level = None if interval is None else interval / 100
    predictions, notes = predict_table(model, frame, level=level, method=interval_method)
    score = score_table(model, predictions, frame)
    if out is not None:
        write_table(predictions, out)
    say_notes(notes)
    if as_json:
        answer = {
            "notes": notes,
            "score": None if score is None else records(score),
            "predictions": records(predictions),
        }
        echo_json(answer)
    elif out is None:
        text = predictions.to_csv(index=False)
        # Control characters must not reach a terminal; a file or a pipe gets the text unchanged.
        typer.echo(STEERING.sub("?", text) if sys.stdout.isatty() else text, nl=False)
    else:
        if score is not None:
            show(score.head(SHOWN), tuple(score.columns), "Error of these predictions", len(score))
        typer.echo(f"{len(predictions):,} predictions are in {out}.")
