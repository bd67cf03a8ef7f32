"""Results as CSV, LaTeX, HTML, Markdown, JSON, or for the terminal; each carries the protocol."""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from rpo_lab.runner.metrics import METRICS, decimals
from rpo_lab.runner.results import Cell, Results

if TYPE_CHECKING:
    from rich.console import Group

Write = Callable[[Cell, bool], str]


def cell_text(cell: Cell) -> str:
    """Mean ± deviation and marks; how many seeds, if some failed.

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
    """Column heads: the settings, then what is quoted; or the rows, if the results are tall."""
    oracle = " (ORACLE)" if results.rule.name == "oracle" else ""
    if results.tall:
        return [f"{row.label}{oracle}" for row in results.study.rows]
    return [f"{setting.label}{oracle}" for setting in results.study.settings] + list(results.printed)


def body(results: Results, write: Write) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Sections with their rows of texts."""
    best = {setting.label: results.best(setting) for setting in results.study.settings}
    if results.tall:
        return _tall(results, write, best)
    return [
        (
            section,
            [
                (
                    row.label,
                    [write(results.cell(row.label, label), best[label] == row.label) for label in best]
                    + [quoted.get(row.label, "") for quoted in results.printed.values()],
                )
                for row in rows
            ],
        )
        for section, rows in results.sections().items()
    ]


def _tall(results: Results, write: Write, best: Mapping[str, str]) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """A section for each metric, a line for each setting."""
    sections: dict[str, list[tuple[str, list[str]]]] = {}
    for setting in results.study.settings:
        words = METRICS[setting.metric].words
        rows = (row.label for row in results.study.rows)
        texts = [write(results.cell(row, setting.label), best[setting.label] == row) for row in rows]
        sections.setdefault(words, []).append((setting.label.removesuffix(f", {words}"), texts))
    return list(sections.items())


def to_rich(results: Results) -> "Group":
    """For the terminal: the results, the protocol under them."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=results.title, title_justify="left")
    shown.add_column("", no_wrap=True)
    for name in header(results):
        shown.add_column(name.replace(", ", "\n").replace(" (", "\n("), justify="right", no_wrap=True)
    for section, rows in body(
        results, lambda cell, best: f"[bold]{cell_text(cell)}[/bold]" if best else cell_text(cell)
    ):
        shown.add_row(f"[italic]{section}[/italic]")
        for label, texts in rows:
            shown.add_row(f"  {label}", *texts)
        shown.add_section()
    return Group(shown, Text("\n".join(f"{name}: {words}" for name, words in results.protocol), style="dim"))


def to_markdown(results: Results) -> str:
    """The results, then the protocol as a list."""
    return "\n".join([markdown_table(results), "", *protocol_lines(results), ""])


def markdown_table(results: Results) -> str:
    """The results as a table, the best of each column in bold."""
    names = header(results)
    lines = [f"| | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]

    def write(cell: Cell, best: bool) -> str:
        text = _plain(cell_text(cell))
        return f"**{text}**" if best else text

    for section, rows in body(results, write):
        lines.append(f"| *{section}* |{' |' * len(names)}")
        lines += [f"| {label} | {' | '.join(_marked(texts))} |" for label, texts in rows]
    return "\n".join(lines)


def protocol_lines(results: Results) -> list[str]:
    """The protocol as a list in Markdown."""
    return [f"- {name}: {_plain(words)}" for name, words in results.protocol]


def _marked(texts: list[str]) -> list[str]:
    """Stars of quoted cells escaped, those of our own being so already."""
    return [text if r"\*" in text or text.startswith("**") else _plain(text) for text in texts]


def _plain(text: str) -> str:
    """Stars that Markdown takes for stars."""
    return text.replace("*", r"\*")


def to_latex(results: Results) -> str:
    """A booktabs table; the protocol stands in comments above it."""
    names = header(results)
    lines = [f"% {name}: {words}" for name, words in results.protocol]
    lines += [r"\begin{tabular}{@{}l" + "r" * len(names) + r"@{}}", r"\toprule"]
    lines.append(" & ".join(["", *map(_tex, names)]) + r" \\")
    for section, rows in body(
        results, lambda cell, best: r"\textbf{" + cell_text(cell) + "}" if best else cell_text(cell)
    ):
        lines += [r"\midrule", rf"\multicolumn{{{len(names) + 1}}}{{@{{}}l}}{{\emph{{{_tex(section)}}}}} \\"]
        lines += [" & ".join([_tex(label), *map(_tex, texts)]) + r" \\" for label, texts in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _tex(text: str) -> str:
    for marks in ("***", "**", "*", "+++", "++"):
        if text.rstrip("}").endswith(marks) and "±" in text:
            text = text.replace(marks, f"$^{{{marks}}}$")
            break
    return text.replace(" ± ", r" $\pm$ ").replace("%", r"\%").replace("_", r"\_").replace("λ", r"$\lambda$")


STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.25rem .8rem;text-align:right}
td:first-child,th:first-child{text-align:left}thead th{border-bottom:2px solid #222}
tr.section th{text-align:left;padding-top:.8rem;font-weight:600;border-bottom:1px solid #bbb}
div{overflow-x:auto}dt{font-weight:600}dd{margin:0 0 .5rem 1rem}"""


def to_html(*by_rule: Results, words: Sequence[str] = ()) -> str:
    """A page of its own: what is said in words, the results under each rule, the risk at home, the protocol."""
    main = by_rule[0]
    parts = [_html_list(words)]
    for results in by_rule:
        words_of = results.rule.words
        parts += [f"<h2>{escape(words_of[0].upper() + words_of[1:])}</h2>", _html_table(results, _html_cell)]
    parts += ["<h2>Risk at home</h2><p>On validation rows of the training domains.</p>", _html_table(main, _html_home)]
    protocol = "".join(f"<dt>{escape(name)}</dt><dd>{escape(said)}</dd>" for name, said in main.protocol)
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(main.title)}</title>'
        f"<style>{STYLE}</style></head><body><h1>{escape(main.title)}</h1>\n{body}\n<dl>{protocol}</dl></body></html>\n"
    )


def _html_list(words: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in words)}</ul>" if words else ""


def _html_table(results: Results, write: Write) -> str:
    names = header(results)
    parts = []
    for section, rows in body(results, write):
        parts.append(f'<tr class="section"><th colspan="{len(names) + 1}">{escape(section)}</th></tr>')
        parts += [
            f"<tr><td>{escape(label)}</td>{''.join(f'<td>{t}</td>' for t in texts)}</tr>" for label, texts in rows
        ]
    heads = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = "\n".join(parts)
    return f"<div><table><thead><tr><th></th>{heads}</tr></thead><tbody>\n{lines}\n</tbody></table></div>"


def _html_cell(cell: Cell, best: bool) -> str:
    text = escape(cell_text(cell))
    note = escape(_note(cell), quote=True)
    return f'<span title="{note}">{f"<strong>{text}</strong>" if best else text}</span>'


def _html_home(cell: Cell, _: bool) -> str:
    return "–" if math.isnan(cell.validation_risk) else f"{cell.validation_risk:.3g}"


def _note(cell: Cell) -> str:
    """What a reader sees on hovering: p-values, effect size, and what was chosen."""
    words = []
    if cell.comparison is not None:
        words = [f"{name} {_short(value)}" for name, value in numbers(cell).items() if name not in ("mean", "sd")]
    return "; ".join(words + ([f"chosen: {cell.picked}"] if cell.picked else []) + list(cell.failed))


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def numbers(cell: Cell) -> dict[str, float | None]:
    """The cell's statistics by name; None where there is none.

    >>> numbers(Cell({0: 1.0, 1: 2.0}))["mean"]
    1.5
    """
    found: dict[str, float | None] = {"mean": cell.mean, "sd": cell.deviation, "validation_risk": cell.validation_risk}
    other = cell.comparison
    found |= {
        "difference": None if other is None else other.difference,
        "p_welch": None if other is None else other.p,
        "p_corrected": cell.p,
        "p_paired": None if other is None else other.p_paired,
        "effect_size": None if other is None else other.effect,
    }
    return {
        name: None if value is None or math.isnan(value) else float(f"{value:.5g}") for name, value in found.items()
    }


def records(results: Results) -> list[dict[str, Any]]:
    """A flat line for each cell, every seed's value in it."""
    return [
        {
            "rule": results.rule.name,
            "row": row.label,
            "section": row.section,
            "setting": setting.label,
            "test_domain": setting.test,
            "metric": setting.metric,
            "seeds": len(results.cell(row.label, setting.label).values),
            **numbers(results.cell(row.label, setting.label)),
            "marks": results.cell(row.label, setting.label).marks,
            "chosen": results.cell(row.label, setting.label).picked,
            "values": dict(results.cell(row.label, setting.label).values),
            "failed": list(results.cell(row.label, setting.label).failed),
        }
        for setting in results.study.settings
        for row in results.study.rows
    ]


def to_csv(*by_rule: Results) -> str:
    """One line a cell under each rule, after the protocol as comments."""
    lines = [line for results in by_rule for line in records(results)]
    text = io.StringIO()
    text.writelines(f"# {name}: {words}\n" for name, words in by_rule[0].protocol)
    writer = csv.DictWriter(text, fieldnames=list(lines[0]), lineterminator="\n")
    writer.writeheader()
    for line in lines:
        values = "; ".join(f"{seed}: {value:g}" for seed, value in line["values"].items())
        writer.writerow(line | {"values": values, "failed": "; ".join(line["failed"])})
    return text.getvalue()


def to_json(results: Results) -> dict[str, Any]:
    """Everything, for another program."""
    return {
        "title": results.title,
        "protocol": dict(results.protocol),
        "cells": records(results),
        "printed": results.printed,
    }
