"""The results page: what a command measured, put between two marks of a page whose other text is left alone."""

import os
from collections.abc import Sequence
from pathlib import Path

from rpo.experiments.files import write_whole
from rpo.experiments.render import cell_text, numbers, to_markdown
from rpo.experiments.tables import Table

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def write_page(path: Path, tables: Sequence[Table], command: str, words: Sequence[str], figure: Path) -> None:
    """Put the first table, its figure and what the other selection rules give into the page."""
    main = tables[0]
    link = Path(os.path.relpath(figure, path.parent)).as_posix()
    block = "\n".join(
        [
            BEGIN,
            f"Made by `{command}`.",
            "",
            to_markdown(main),
            f"![{main.title}]({link})",
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
            "",
            "### The same records under other selection rules",
            "",
            _rules(tables),
            END,
        ]
    )
    before = path.read_text(encoding="utf-8") if path.exists() else f"# {main.title}\n\n{BEGIN}\n{END}\n"
    head, _, rest = before.partition(BEGIN)
    _, _, tail = rest.partition(END)
    write_whole(path, f"{head}{block}{tail}")


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
