"""A results page: what a command measured, put between two marks of a page whose other text is left alone."""

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from rpo.io import write_whole
from rpo.studies.metrics import METRICS
from rpo.studies.render import cell_text, numbers, to_markdown
from rpo.studies.results import Results


def marks(name: str) -> tuple[str, str]:
    """What stands before and after the section of that name.

    >>> marks("table1")
    ('<!-- table1: begin -->', '<!-- table1: end -->')
    """
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def put(path: Path, name: str, section: str) -> None:
    """Put a section between its marks, or with its marks at the end of a page that has none of that name."""
    begin, end = marks(name)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin not in before:
        before = f"{before.rstrip()}\n\n{begin}\n{end}\n".lstrip()
    head, _, rest = before.partition(begin)
    _, _, tail = rest.partition(end)
    write_whole(path, f"{head}{begin}\n{section}\n{end}{tail}")


def link(figure: Path, page: Path) -> str:
    """A figure as its page finds it."""
    return Path(os.path.relpath(figure, page.parent)).as_posix()


def study_section(by_rule: Sequence[Results], command: str, words: Sequence[str], figure: Path, page: Path) -> str:
    """The first results, their figure, what they say in words, and what the other selection rules give."""
    main = by_rule[0]
    if main.tall:
        return _tall_section(by_rule, command, words, figure, page)
    rules = ["", "### The same records under other selection rules", "", _rules(by_rule)] if len(by_rule) > 1 else []
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


def _tall_section(by_rule: Sequence[Results], command: str, words: Sequence[str], figure: Path, page: Path) -> str:
    """Results, figure and words; of the other rules, means over all settings."""
    main = by_rule[0]
    metrics = list(dict.fromkeys(setting.metric for setting in main.study.settings))
    heads = [f"{METRICS[metric].words}, {results.rule.name}" for metric in metrics for results in by_rule]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}"]
    for row in main.study.rows:
        means = [
            fmean(results.cell(row.label, s.label).mean for s in main.study.settings if s.metric == metric)
            for metric in metrics
            for results in by_rule
        ]
        lines.append(f"| {row.label} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    parts = [f"Made by `{command}`.", "", to_markdown(main), f"![{main.title}]({link(figure, page)})", ""]
    parts += ["### In words", "", *(f"- {line}" for line in words), ""]
    return "\n".join([*parts, "### Means over the settings, by selection rule", "", *lines])


def _against(results: Results) -> str:
    """Every unranked row against the reference: difference, both p-values and effect size."""
    lines = [
        "| | | difference | Welch p | paired p | Hedges' g |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in results.study.rows:
        if not row.ranked:
            for setting in results.study.settings:
                found = numbers(results.cell(row.label, setting.label))
                shown = [found[name] for name in ("difference", "p_welch", "p_paired", "effect_size")]
                texts = ("–" if value is None else f"{value:.2g}" for value in shown)
                lines.append(f"| {row.label} | {setting.label} | {' | '.join(texts)} |")
    return "\n".join(lines)


def _home(results: Results) -> str:
    """Validation risk of every row: a low test error is worth something only if there is something learned here."""
    labels = [setting.label for setting in results.study.settings]
    lines = [f"| | {' | '.join(labels)} |", f"|---|{'---:|' * len(labels)}"]
    for row in results.study.rows:
        risks = (f"{results.cell(row.label, label).validation_risk:.2f}" for label in labels)
        lines.append(f"| {row.label} | {' | '.join(risks)} |")
    return "\n".join(lines)


def _rules(by_rule: Sequence[Results]) -> str:
    """Rows that have a grid, under each rule, one table a setting."""
    parts = []
    for setting in by_rule[0].study.settings:
        names = [results.rule.name for results in by_rule]
        parts += [f"**{setting.label}**", "", f"| | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
        for row in by_rule[0].study.rows:
            if len(row.grid) > 1 or row.label == by_rule[0].study.reference:
                texts = [cell_text(results.cell(row.label, setting.label)).replace("*", r"\*") for results in by_rule]
                parts.append(f"| {row.label} | {' | '.join(texts)} |")
        parts.append("")
    return "\n".join(parts)
