"""Results as CSV, HTML, Markdown, JSON, or for the terminal; each carries the protocol."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from rpo._stats.significance import Comparison
from rpo_lab.runner.metrics import METRICS, decimals
from rpo_lab.runner.results import Cell, Results

if TYPE_CHECKING:
    from rich.console import Group

Write = Callable[[Cell, bool], str]


def cell_text(cell: Cell) -> str:
    """Write mean ± deviation and marks, with the number of seeds if some failed.

    >>> cell_text(Cell({0: 1.0, 1: 2.0}, marks="**"))
    '1.50 ± 0.71**'
    >>> cell_text(Cell({0: 1.0}, failed=("not finite",)))
    '1.00 (1 of 2 seeds)'
    """
    if not cell.values:
        return "failed"
    digits = decimals(cell.mean, cell.digits)
    spread = "" if math.isnan(cell.deviation) else f" ± {cell.deviation:.{digits}f}"
    missing = f" ({len(cell.values)} of {len(cell.values) + len(cell.failed)} seeds)" if cell.failed else ""
    return f"{cell.mean:.{digits}f}{spread}{cell.marks}{missing}"


def header(results: Results) -> list[str]:
    """Return column heads: the settings, then quoted columns; or the rows, if the results are tall."""
    oracle = " (ORACLE)" if results.rule.name == "oracle" else ""
    if results.tall:
        return [f"{row.label}{oracle}" for row in results.study.rows]
    return [f"{setting.label}{oracle}" for setting in results.study.settings] + list(results.printed)


def body(results: Results, write: Write, quote: Callable[[str], str] = str) -> dict[str, list[tuple[str, list[str]]]]:
    """Return lines of texts by section: a line for each row, or, if the results are tall, for each setting."""
    study = results.study
    best = {setting.label: results.best(setting) for setting in study.settings}
    sections: dict[str, list[tuple[str, list[str]]]] = {}

    def text(row: str, setting: str) -> str:
        return write(results.cell(row, setting), best[setting] == row)

    if results.tall:
        for setting in study.settings:
            words = METRICS[setting.metric].words
            line = (setting.label.removesuffix(f", {words}"), [text(row.label, setting.label) for row in study.rows])
            sections.setdefault(words, []).append(line)
        return sections
    for row in study.rows:
        quoted = [quote(column.get(row.label, "")) for column in results.printed.values()]
        line = (row.label, [text(row.label, setting.label) for setting in study.settings] + quoted)
        sections.setdefault(row.section, []).append(line)
    return sections


def to_rich(results: Results) -> "Group":
    """Return the results for the terminal, the protocol under them."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=results.title, title_justify="left")
    shown.add_column("", no_wrap=True)
    for name in header(results):
        shown.add_column(name.replace(", ", "\n").replace(" (", "\n("), justify="right", no_wrap=True)
    sections = body(results, lambda cell, best: f"[bold]{cell_text(cell)}[/bold]" if best else cell_text(cell))
    for section, lines in sections.items():
        shown.add_row(f"[italic]{section}[/italic]")
        for label, texts in lines:
            shown.add_row(f"  {label}", *texts)
        shown.add_section()
    return Group(shown, Text("\n".join(f"{name}: {words}" for name, words in results.protocol), style="dim"))


def markdown(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, its first column to the left and all others to the right.

    A line of one text is the head of a section.

    >>> print(markdown(["", "mean"], [["*Methods*"], ["ERM", "0.5"]]))
    | | mean |
    |---|---:|
    | *Methods* | |
    | ERM | 0.5 |
    """
    others = len(heads) - 1
    texts = [f"| {' | '.join(heads)} |".replace("|  |", "| |"), f"|---|{'---:|' * others}"]
    for line in lines:
        texts.append(f"| {' | '.join(line)} |" if len(line) > 1 else f"| {line[0]} |{' |' * others}")
    return "\n".join(texts)


def markdown_table(results: Results) -> str:
    """Return the results as a table, the best of each column in bold."""

    def write(cell: Cell, best: bool) -> str:
        text = _escaped(cell_text(cell))
        return f"**{text}**" if best else text

    lines: list[list[str]] = []
    for section, rows in body(results, write, _escaped).items():
        lines += [[f"*{section}*"], *([label, *texts] for label, texts in rows)]
    return markdown(["", *header(results)], lines)


def protocol_lines(results: Results) -> list[str]:
    """Return the protocol as a list in Markdown."""
    return [f"- {name}: {_escaped(words)}" for name, words in results.protocol]


def to_markdown(results: Results) -> str:
    """Return the results, then the protocol as a list."""
    return "\n".join([markdown_table(results), "", *protocol_lines(results), ""])


def _escaped(text: str) -> str:
    """Escape stars for Markdown."""
    return text.replace("*", r"\*")


STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.25rem .8rem;text-align:right}
td:first-child,th:first-child{text-align:left}thead th{border-bottom:2px solid #222}
tr.section th{text-align:left;padding-top:.8rem;font-weight:600;border-bottom:1px solid #bbb}
div{overflow-x:auto}dt{font-weight:600}dd{margin:0 0 .5rem 1rem}"""


def to_html(*by_rule: Results, words: Sequence[str] = ()) -> str:
    """Return a page of its own: the answer in words, the results under each rule, the risk at home, the protocol."""
    main = by_rule[0]
    parts = [f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in words)}</ul>"] if words else []
    for results in by_rule:
        title = results.rule.words[0].upper() + results.rule.words[1:]
        parts += [f"<h2>{escape(title)}</h2>", _html_table(results, _html_cell)]
    parts += ["<h2>Risk at home</h2><p>On validation rows of the training domains.</p>", _html_table(main, _html_home)]
    terms = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in main.protocol)
    content = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(main.title)}</title>'
        f"<style>{STYLE}</style></head><body><h1>{escape(main.title)}</h1>\n{content}\n<dl>{terms}</dl></body></html>\n"
    )


def _html_table(results: Results, write: Write) -> str:
    names = header(results)
    lines = []
    for section, rows in body(results, write).items():
        lines.append(f'<tr class="section"><th colspan="{len(names) + 1}">{escape(section)}</th></tr>')
        lines += [
            f"<tr><td>{escape(label)}</td>{''.join(f'<td>{text}</td>' for text in texts)}</tr>" for label, texts in rows
        ]
    heads = "".join(f"<th>{escape(name)}</th>" for name in ["", *names])
    content = "\n".join(lines)
    return f"<div><table><thead><tr>{heads}</tr></thead><tbody>\n{content}\n</tbody></table></div>"


def _html_cell(cell: Cell, best: bool) -> str:
    """Return a cell that shows p-values, effect size and what was chosen on hovering."""
    notes = (
        []
        if cell.comparison is None
        else [
            f"{name} {'–' if value is None else f'{value:.3g}'}"
            for name, value in numbers(cell).items()
            if name not in ("mean", "sd")
        ]
    )
    notes += [f"chosen: {cell.picked}"] if cell.picked else []
    note, text = escape("; ".join([*notes, *cell.failed]), quote=True), escape(cell_text(cell))
    return f'<span title="{note}">{f"<strong>{text}</strong>" if best else text}</span>'


def _html_home(cell: Cell, _: bool) -> str:
    return "–" if math.isnan(cell.validation_risk) else f"{cell.validation_risk:.3g}"


def numbers(cell: Cell) -> dict[str, float | None]:
    """Return the cell's statistics by name; None where there is none.

    >>> numbers(Cell({0: 1.0, 1: 2.0}))["mean"]
    1.5
    """
    other = cell.comparison or Comparison(math.nan, None, None, None)
    values: dict[str, float | None] = {
        "mean": cell.mean,
        "sd": cell.deviation,
        "validation_risk": cell.validation_risk,
        "difference": other.difference,
        "p_welch": other.p,
        "p_corrected": cell.p,
        "p_paired": other.p_paired,
        "effect_size": other.effect,
    }
    return {name: None if v is None or math.isnan(v) else float(f"{v:.5g}") for name, v in values.items()}


def records(results: Results) -> list[dict[str, Any]]:
    """Return a flat line for each cell, every seed's value in it."""
    study = results.study
    cells = ((setting, row, results.cell(row.label, setting.label)) for setting in study.settings for row in study.rows)
    return [
        {
            "rule": results.rule.name,
            "row": row.label,
            "section": row.section,
            "setting": setting.label,
            "test_domain": setting.test,
            "metric": setting.metric,
            "seeds": len(cell.values),
            **numbers(cell),
            "marks": cell.marks,
            "chosen": cell.picked,
            "values": dict(cell.values),
            "failed": list(cell.failed),
        }
        for setting, row, cell in cells
    ]


def to_csv(*by_rule: Results) -> str:
    """Return one line a cell under each rule, after the protocol as comments."""
    lines = [line for results in by_rule for line in records(results)]
    for line in lines:
        line["values"] = "; ".join(f"{seed}: {value:g}" for seed, value in line["values"].items())
        line["failed"] = "; ".join(line["failed"])
    comments = (f"# {name}: {words}\n" for name, words in by_rule[0].protocol)
    return "".join(comments) + csv_text(lines[0], (line.values() for line in lines))


def csv_text(heads: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """Return a table as CSV.

    >>> csv_text(["row", "mean"], [["ERM", 0.5]])
    'row,mean\\nERM,0.5\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([heads, *lines])
    return text.getvalue()


def to_json(results: Results) -> dict[str, Any]:
    """Return all results as JSON for another program."""
    return {
        "title": results.title,
        "protocol": dict(results.protocol),
        "cells": records(results),
        "printed": results.printed,
    }
