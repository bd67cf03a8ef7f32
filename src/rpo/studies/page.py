"""A results page: what a command measured, put between two marks of a page whose other text is left alone."""

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from rpo.io import write_whole
from rpo.studies.metrics import METRICS
from rpo.studies.render import cell_text, numbers, to_markdown
from rpo.studies.results import Table


def marks(name: str) -> tuple[str, str]:
    """What stands before and after the block of that name.

    >>> marks("table1")
    ('<!-- table1: begin -->', '<!-- table1: end -->')
    """
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def put(path: Path, name: str, block: str) -> None:
    """Put a block between its marks, or with its marks at the end of a page that has none of that name."""
    begin, end = marks(name)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin not in before:
        before = f"{before.rstrip()}\n\n{begin}\n{end}\n".lstrip()
    head, _, rest = before.partition(begin)
    _, _, tail = rest.partition(end)
    write_whole(path, f"{head}{begin}\n{block}\n{end}{tail}")


def link(figure: Path, page: Path) -> str:
    """A figure as its page finds it."""
    return Path(os.path.relpath(figure, page.parent)).as_posix()


def study_block(tables: Sequence[Table], command: str, words: Sequence[str], figure: Path, page: Path) -> str:
    """The first table, its figure, what it says in words, and what the other selection rules give."""
    main = tables[0]
    if main.tall:
        return _tall_block(tables, command, words, figure, page)
    rules = ["", "### The same records under other selection rules", "", _rules(tables)] if len(tables) > 1 else []
    return "\n".join(
        [
            f"Made by `{command}`.",
            "",
            to_markdown(main),
            f"![{main.title}]({link(figure, page)})",
            "",
            "### In words",
            "",
            *(f"- {line}" for line in words),
            "",
            "### Against the controls",
            "",
            _against(main),
            "",
            "### At home",
            "",
            "Mean risk of the same models on validation rows of their own training domains.",
            "",
            _home(main),
            *rules,
        ]
    )


def _tall_block(tables: Sequence[Table], command: str, words: Sequence[str], figure: Path, page: Path) -> str:
    """Table, figure and words; of the other rules, means over all settings."""
    main = tables[0]
    metrics = list(dict.fromkeys(setting.metric for setting in main.study.settings))
    heads = [f"{METRICS[metric].words}, {table.rule.name}" for metric in metrics for table in tables]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for row in main.study.rows:
        means = [
            fmean(table.cell(row.label, s.label).mean for s in main.study.settings if s.metric == metric)
            for metric in metrics
            for table in tables
        ]
        lines.append(f"| {row.label} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    parts = [f"Made by `{command}`.", "", to_markdown(main), f"![{main.title}]({link(figure, page)})", ""]
    parts += ["### In words", "", *(f"- {line}" for line in words), ""]
    return "\n".join([*parts, "### Means over the settings, by selection rule", "", *lines])


def _against(table: Table) -> str:
    """Every unranked row against the reference: difference, both p-values and effect size."""
    lines = [
        "| | | difference | Welch p | paired p | Hedges' g |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in table.study.rows:
        if not row.ranked:
            for setting in table.study.settings:
                found = numbers(table.cell(row.label, setting.label))
                shown = [found[name] for name in ("difference", "p_welch", "p_paired", "effect_size")]
                texts = ("–" if value is None else f"{value:.2g}" for value in shown)
                lines.append(f"| {row.label} | {setting.label} | {' | '.join(texts)} |")
    return "\n".join(lines)


def _home(table: Table) -> str:
    """Validation risk of every row: a low test error is worth something only if there is something learned here."""
    labels = [setting.label for setting in table.study.settings]
    lines = [f"| | {' | '.join(labels)} |", f"|---|{'---:|' * len(labels)}"]
    for row in table.study.rows:
        risks = (f"{table.cell(row.label, label).validation_risk:.2f}" for label in labels)
        lines.append(f"| {row.label} | {' | '.join(risks)} |")
    return "\n".join(lines)


def _rules(tables: Sequence[Table]) -> str:
    """Rows that have a grid, under each rule, one table a setting."""
    parts = []
    for setting in tables[0].study.settings:
        names = [table.rule.name for table in tables]
        parts += [f"**{setting.label}**", "", f"| | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
        for row in tables[0].study.rows:
            if len(row.grid) > 1 or row.label == tables[0].study.reference:
                texts = [cell_text(table.cell(row.label, setting.label)).replace("*", r"\*") for table in tables]
                parts.append(f"| {row.label} | {' | '.join(texts)} |")
        parts.append("")
    return "\n".join(parts)
