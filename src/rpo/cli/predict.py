"""`rpo predict`: a fitted folder on a new table."""

from pathlib import Path
from typing import Annotated

import typer

from rpo.cli.tables import Encoding, TablePath, records, say_notes


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `rpo fit` wrote.")],
    table: TablePath,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write here (CSV, TSV or Parquet, by its ending) instead of printing."),
    ] = None,
    encoding: Encoding = "utf-8",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of CSV.")] = False,
) -> None:
    """A prediction for every row of a table; what the table lacks, and what is new in it, is said.

    [bold]Examples[/bold]

        rpo predict homes-model new-homes.csv --out predictions.csv

        rpo predict homes-model new-homes.csv --json
    """
    import json

    from rpo.io import check_not_input
    from rpo.tables import read_table, write_table
    from rpo.tables.folder import load_model
    from rpo.tables.model import predict_table

    check_not_input(out, "--out", table)
    model = load_model(folder)
    found, notes = predict_table(model, read_table(table, encoding=encoding))
    if out is not None:
        write_table(found, out)
    say_notes(notes)
    if as_json:
        typer.echo(json.dumps({"notes": notes, "predictions": records(found)}, ensure_ascii=False, indent=1))
    elif out is None:
        typer.echo(found.to_csv(index=False), nl=False)
    else:
        typer.echo(f"{len(found):,} predictions are in {out}.")
