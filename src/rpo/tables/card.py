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
VERSIONS = ("rpo", "numpy", "scikit-learn", "pandas")


def card_text(model: "TableModel") -> str:
    """Markdown: data, columns, domains with their penalties, versions, use."""
    estimator = model.estimator
    method = getattr(estimator, "estimator", None) or getattr(estimator, "method", "rpo")
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
    if hasattr(estimator, "expected_error_"):
        at = lines.index("    rpo predict THIS_FOLDER NEW_TABLE.csv --out predictions.csv")
        lines.insert(at + 1, "    rpo check THIS_FOLDER NEW_TABLE.csv")
        lines += ["", *_decided(model)]
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
    used = (*VERSIONS, "torch") if hasattr(estimator, "params_") else VERSIONS
    lines.append(f"Versions: {', '.join(f'{name} {version(name)}' for name in used)}.")
    return "\n".join(lines) + "\n"


def _decided(model: "TableModel") -> list[str]:
    """What a Quality model leaves out, and what to expect of it."""
    estimator = model.estimator
    roles = {model.target: "the target", model.domain: "the domain", model.id: "the id"}
    unused = {name: roles.get(name, estimator.left_out_.get(name, "left out")) for name in estimator.not_features_}
    lines = ["## Not used", "", "| column or feature | why |", "|---|---|"]
    lines += [f"| {plain(name)} | {plain(why)} |" for name, why in unused.items()]
    for row in estimator.dropped_.itertuples():
        figures = f"error on held-out domains {row.error_with:.3g} with, {row.error_without:.3g} without"
        lines.append(f"| {plain(row.feature)} | its relation to the target differs between domains; {figures} |")
    measure = "Brier's score" if model.task == "classification" else "Root mean squared error"
    lines += [
        "",
        "## What to expect on a new domain",
        "",
        f"{measure} on domains that were held out, with its spread over domains.",
        "",
        "| model | error | spread | worst domain |",
        "|---|---:|---:|---|",
    ]
    for name, row in estimator.expected_error_.iterrows():
        worst = f"{row['worst']:.3g} ({plain(row['worst_domain'])})"
        who = "this model" if name == "quality" else plain(name)
        lines.append(f"| {who} | {row['error']:.3g} | {row['spread']:.3g} | {worst} |")
    return lines


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
