"""The card of a fitted table model: what it was fitted on and how, for a person to read."""

import re
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rpo.tables.model import TableModel

SHOWN = 12
HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
WORDS = {
    "eta": "Poorest first, then largest: η is the invariance asked of a domain.",
    "weight": "Poorest first, then largest: what a row of a domain's noisiest stratum counts; one on average counts 1.",
}
VERSIONS = ("rpo", "torch", "numpy", "scikit-learn", "pandas")


def card_text(model: "TableModel") -> str:
    """Markdown: data, columns, domains with their penalties, versions, use."""
    estimator = model.estimator
    method = getattr(estimator, "method", "rpo")
    lines = [
        f"# {plain(model.target)} by {method}",
        "",
        f"A {model.task} of `{plain(model.target)}`, fitted to {model.rows:,} rows of {len(model.domains):,} domains"
        + (f" (column `{plain(model.domain)}`)." if model.domain else "."),
        "",
        "    rpo predict THIS_FOLDER NEW_TABLE.csv --out predictions.csv",
        "",
        "## Columns",
        "",
        "| column | taken as | missing value |",
        "|---|---|---|",
    ]
    for column in model.columns:
        if column.kind == "category":
            what = f"{len(column.categories)} categories"
            lines.append(f"| {plain(column.name)} | {what} | a category of its own |")
        else:
            lines.append(f"| {plain(column.name)} | {column.kind} | {column.fill:g} |")
    lines += ["", "## Domains", ""]
    if hasattr(estimator, "penalties_"):
        penalties = estimator.penalties_
        by = "weight" if "weight" in estimator.quality_ else "eta"
        lines += [
            f"{WORDS[by]} λ = {penalties.lam:.3g}, scheme {penalties.scheme}; `model.json` has every cell.",
            "",
            f"| domain | rows | {'least weight' if by == 'weight' else 'η'} |",
            "|---|---:|---:|",
        ]
        least = estimator.quality_.groupby("domain")["weight"].min() if by == "weight" else penalties.eta
        by_size = least.loc[sorted(least.index, key=lambda name: -model.domains[str(name)])]
        lines += [
            f"| {plain(name)} | {model.domains[str(name)]:,} | {value:.3g} |"
            for name, value in by_size.sort_values(kind="stable").head(SHOWN).items()
        ]
    else:
        largest = sorted(model.domains.items(), key=lambda item: -item[1])[:SHOWN]
        lines += ["| domain | rows |", "|---|---:|", *(f"| {plain(name)} | {n:,} |" for name, n in largest)]
    if len(model.domains) > SHOWN:
        lines.append(f"\n{len(model.domains) - SHOWN:,} more are in `table.json`.")
    lines += ["", "## Notes", "", *(f"- {plain(note)}" for note in model.notes), ""]
    lines.append(f"Versions: {', '.join(f'{name} {version(name)}' for name in VERSIONS)}.")
    return "\n".join(lines) + "\n"


def plain(text: object) -> str:
    """Text that Markdown shows as it is, on one line: no markup, and no link that somebody could follow.

    >>> plain("<b>|a")
    '&lt;b&gt;&#124;a'
    >>> plain("[x](http://evil.example) www.evil.example")
    '&#91;x&#93;(http&#58;//evil.example) www&#46;evil.example'
    """
    line = " ".join(str(text).split())
    line = "".join(f"&#{ord(mark)};" if mark in "|`[]@\\" else HTML.get(mark, mark) for mark in line)
    return re.sub(r"(?i)(www)\.", r"\1&#46;", line.replace("://", "&#58;//"))
