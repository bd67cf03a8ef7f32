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
from rpo._report import page_check as checked
from rpo._report import page_columns as columns
from rpo._report import page_domains as domains
from rpo._report import page_doubts as doubts
from rpo._report import page_fitted as fitted
from rpo._report import page_heat as heat
from rpo._report import page_held_out as held_out
from rpo._report import page_paper as paper
from rpo._report import page_rows as rows
from rpo._report import page_strata as strata
from rpo._report import page_summary as summary
from rpo._report.page_numbers import amount, decimals, number, percent, plain, sortable
from rpo.exceptions import InputError

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

FOLDER = Path(__file__).parent
MOST_BYTES = 1_500_000
SECTIONS = (summary, domains, columns, strata, heat, rows, doubts, paper)


def render(
    judgement: "Judgement | None",
    *,
    title: str = "table",
    model: fitted.Fitted | None = None,
    comparison: held_out.HeldOut | None = None,
    check: checked.CheckResult | None = None,
    about: Mapping[str, str | int] | None = None,
) -> str:
    """Render the page as text, shortened to stay below 1.5 MB.

    A `check` of a new table comes first; if the table has no target it is alone (`judgement` is None). A `model` or a
    `comparison` adds its performance on held-out domains.
    """
    rows = {} if judgement is None else {"rows": f"{len(judgement.weight):,}"}
    for shorter in (1, 2, 4, 16):
        sections = [] if judgement is None else [module.section(judgement, shorter) for module in SECTIONS]
        if check is not None:
            sections.insert(0, checked.section(check, shorter))
        if model is not None:
            sections.insert(-2, fitted.section(model, shorter))
        if comparison is not None:
            sections.insert(-2, held_out.section(comparison, shorter))
        page: str = (
            _environment()
            .get_template("page.html")
            .render(
                title=title,
                over="Check" if check is not None else "Data quality",
                target=None if judgement is None else judgement.table.target,
                domain=None if judgement is None else judgement.table.domain,
                sections=sections,
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
    model: fitted.Fitted | None = None,
    comparison: held_out.HeldOut | None = None,
    check: checked.CheckResult | None = None,
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
    filters = (amount, decimals, number, percent, plain, short, sortable, columns.gap_class, columns.shift_class)
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
