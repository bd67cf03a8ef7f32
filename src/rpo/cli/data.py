"""`rpo data`: which data sets there are, and whether their files are whole."""

import json
from typing import Annotated, Any

import typer

from rpo.exceptions import InputError
from rpo.io import console

app = typer.Typer(help="List, check and fetch the data sets.", no_args_is_help=True, rich_markup_mode="rich")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Names = Annotated[list[str] | None, typer.Argument(help="Which data sets; all of them if none is named.")]


@app.command("list", epilog="Example: rpo data list --json")
def list_(as_json: Json = False) -> None:
    """Which data sets there are, their size, and where they come from."""
    from rpo.datasets.catalogue import entries

    _print(
        [
            {
                "name": entry.name,
                "rows": entry.rows,
                "columns": len(entry.columns),
                "present": entry.path.exists(),
                "source": entry.source,
                "title": entry.title,
            }
            for entry in entries()
        ],
        as_json,
    )


@app.command("check", epilog="Example: rpo data check cigar radon")
def check_(names: Names = None, as_json: Json = False) -> None:
    """Whether the files are whole, by their SHA-256; exit code 2 if one is not."""
    from rpo.datasets.catalogue import check, entries

    rows, wrong = [], []
    for entry in entries(names or []):
        status, line = check(entry)
        rows.append({"name": entry.name, "status": status, "file": entry.file, "sha256": entry.sha256})
        wrong += [line] if line else []
    if as_json or not wrong:
        _print(rows, as_json)
    if wrong:
        raise InputError(" ".join(wrong))


@app.command("get", epilog="Example: rpo data get mnist photos")
def get(
    names: Annotated[list[str], typer.Argument(help="Which data sets to fetch: mnist, photos (CIFAR-10).")],
) -> None:
    """Fetch data sets that do not ship with the package into the cache, checksums verified; idle if they are there."""
    from rpo.paper.data.cifar import fetch_cifar
    from rpo.paper.data.mnist import fetch_mnist

    fetchers = {"mnist": fetch_mnist, "photos": fetch_cifar}
    for name in names:
        if name not in fetchers:
            raise InputError(f"{name!r} is not a data set to fetch; choose from {', '.join(fetchers)}.")
        folder = fetchers[name](lambda line: typer.echo(line, err=True))
        typer.echo(f"{name}: whole, in {folder}")


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.table import Table

    table = Table(*rows[0])
    for row in rows:
        cells = ({True: "yes", False: "no"}[v] if isinstance(v, bool) else str(v) for v in row.values())
        table.add_row(*cells)
    console().print(table)
