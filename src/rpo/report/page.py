"""The page: sections put into one self-contained HTML file.

The heat map and the intervals are HTML and SVG of the template's own, not pictures: their text can be searched, sorted,
read aloud and restyled for the dark, and 85 domains take 100 kB where drawn letters take a megabyte. `Quality.figure`
gives the same heat map as a matplotlib figure.
"""

import base64
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpo.exceptions import InputError
from rpo.io import p_text
from rpo.report import domains, doubts, heat, held_out, rows, strata, summary
from rpo.report.page_numbers import decimals, number, sortable

if TYPE_CHECKING:
    from rpo.judging import Quality

FOLDER = Path(__file__).parent
MOST_BYTES = 1_000_000
SECTIONS = (summary, domains, heat, strata, rows, doubts)


def render(found: "Quality", *, title: str = "table", comparison: held_out.HeldOut | None = None) -> str:
    """The page as text, with the held-out performance if methods were compared; shorter if it would pass a megabyte."""
    for shorter in (1, 2, 4, 16):
        sections = [module.section(found, shorter) for module in SECTIONS]
        if comparison is not None:
            sections.insert(-1, held_out.section(comparison, shorter))
        page: str = (
            _environment()
            .get_template("page.html")
            .render(
                title=title,
                target=found.prepared.target,
                sections=sections,
                style=_text("style.css"),
                script=_text("sort.js"),
                script_hash=_hash(_text("sort.js")),
            )
        )
        if len(page.encode()) < MOST_BYTES:
            return page
    raise InputError("the page would pass a megabyte: the table's domains and strata have names that are too long")


def write_report(
    found: "Quality",
    path: str | os.PathLike[str],
    *,
    title: str = "table",
    comparison: held_out.HeldOut | None = None,
) -> None:
    """Write the page, whole or not at all."""
    from rpo.io import write_whole

    write_whole(Path(path), render(found, title=title, comparison=comparison))


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER / "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "decimals": decimals, "short": short, "sortable": sortable, "p": p_text}
    return environment


@cache
def _text(name: str) -> str:
    return (FOLDER / "template" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """What the page's policy names the one script by that may run in it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def short(text: Any, most: int = 90) -> str:
    """Text that a cell can hold.

    >>> short("a" * 100, 5)
    'aaaa…'
    """
    words = str(text)
    return words if len(words) <= most else f"{words[: most - 1]}…"
