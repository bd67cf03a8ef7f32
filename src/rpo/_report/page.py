"""The data-quality page: sections rendered into one self-contained HTML file.

The heat map and the intervals are HTML and SVG, not pictures: their text can be searched, sorted, read aloud and
restyled for dark mode, and 85 domains take 100 kB instead of a megabyte. `Quality.figure` returns the heat map as a
matplotlib figure.
"""

import base64
import hashlib
import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpo._io import p_text
from rpo._report import page_check, page_columns, page_fitted, page_rows
from rpo._report import sections as small
from rpo._report.page_numbers import amount, decimals, number, percent, plain, sortable
from rpo.exceptions import InputError

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

FOLDER = Path(__file__).parent
MOST_BYTES = 1_500_000
# By the name of the template, from top to bottom.
SECTIONS = {
    "summary": small.build_summary,
    "domains": small.build_domains,
    "columns": page_columns.section,
    "strata": small.build_groups,
    "heat": small.build_heat_map,
    "rows": page_rows.section,
    "doubts": small.build_method,
    "paper": small.build_penalties,
}


def render(
    judgement: "Judgement | None",
    *,
    title: str = "table",
    model: page_fitted.Fitted | None = None,
    comparison: small.HeldOut | None = None,
    check: page_check.CheckResult | None = None,
    about: Mapping[str, str | int] | None = None,
) -> str:
    """Render the page as text, shortened to stay below 1.5 MB.

    A `check` of a new table comes first; if the table has no target it is alone (`judgement` is None). A `model` or a
    `comparison` adds its performance on held-out domains.
    """
    rows = {} if judgement is None else {"rows": f"{len(judgement.weight):,}"}
    for shorter in (1, 2, 4, 16):
        sections = {} if judgement is None else {name: build(judgement, shorter) for name, build in SECTIONS.items()}
        order = list(sections)
        if check is not None:
            order.insert(0, "check")
            sections["check"] = page_check.section(check, shorter)
        if model is not None:
            order.insert(-2, "fitted")
            sections["fitted"] = page_fitted.section(model, shorter)
        if comparison is not None:
            order.insert(-2, "held_out")
            sections["held_out"] = small.build_held_out(comparison, shorter)
        page: str = (
            _environment()
            .get_template("page.html")
            .render(
                title=title,
                over="Check" if check is not None else "Data quality",
                target=None if judgement is None else judgement.table.target,
                domain=None if judgement is None else judgement.table.domain,
                sections=[{"kind": name, "id": name, **sections[name]} for name in order],
                about=rows | {"version": version("rpo")} | dict(about or {}),
                style=_text("style.css"),
                script=_text("sort.js"),
                script_hash=_hash(_text("sort.js")),
            )
        )
        if len(page.encode()) < MOST_BYTES:
            return page
    raise InputError("the page would exceed 1.5 MB: shorten the names of domains and strata")


def write_report(
    judgement: "Judgement | None",
    path: str | os.PathLike[str],
    *,
    title: str = "table",
    model: page_fitted.Fitted | None = None,
    comparison: small.HeldOut | None = None,
    check: page_check.CheckResult | None = None,
    about: Mapping[str, str | int] | None = None,
) -> None:
    """Write the page; the file appears only when it is complete."""
    from rpo._io import write_whole

    page = render(judgement, title=title, model=model, comparison=comparison, check=check, about=about)
    write_whole(Path(path), page)


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
    filters = (
        amount,
        decimals,
        number,
        percent,
        plain,
        short,
        sortable,
        page_columns.gap_class,
        page_columns.shift_class,
    )
    environment.filters |= {"p": p_text} | {function.__name__: function for function in filters}
    return environment


@cache
def _text(name: str) -> str:
    return (FOLDER / "template" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Return the hash by which the page's content policy allows its only script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def short(text: Any, most: int = 90) -> str:
    """Shorten text to fit a cell.

    >>> short("a" * 100, 5)
    'aaaa…'
    """
    words = str(text)
    return words if len(words) <= most else f"{words[: most - 1]}…"
