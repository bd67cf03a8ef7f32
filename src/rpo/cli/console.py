"""How the commands print: sentences, tables, notes and JSON, in which no character steers the terminal."""

import json
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import typer

from rpo import _io as io
from rpo._io import printable

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 80  # columns of the narrowest terminal


# Characters that control a terminal, change the direction of text, or are invisible.
STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


LONGEST = 480  # characters of a message


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
