"""A results page: what a command measured, put between two marks of a page whose other text is left alone."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from rpo._io import write_whole
from rpo_lab.runner.figures import View
from rpo_lab.runner.metrics import METRICS
from rpo_lab.runner.render import markdown, markdown_table, protocol_lines, to_csv, to_html
from rpo_lab.runner.results import Results, seeds_text
from rpo_lab.runner.study import Row, Setting

MOST_ROWS, MOST_CELLS, BEST = 24, 100, 5  # on a page; of more methods to compare with, the best few
LONG = ("- grid:", "- reduction and scheme:")  # beside the page, with the whole table


def marks(name: str) -> tuple[str, str]:
    """Return what stands before and after the section of that name.

    >>> marks("table1")
    ('<!-- table1: begin -->', '<!-- table1: end -->')
    """
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def put(path: Path, name: str, section: str) -> None:
    """Write a section between its marks, or with its marks at the end of a page that has none of that name."""
    begin, end = marks(name)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin not in before:
        before = f"{before.rstrip()}\n\n{begin}\n{end}\n".lstrip()
    head, _, rest = before.partition(begin)
    _, _, tail = rest.partition(end)
    write_whole(path, f"{head}{begin}\n{section}\n{end}{tail}")


def link(figure: Path, page: Path) -> str:
    """Return the path of a figure as its page finds it."""
    return Path(os.path.relpath(figure, page.parent)).as_posix()


def fold(lines: Iterable[str], title: str = "Protocol, seeds and versions") -> str:
    """Return a list that a page shows when its title is clicked."""
    return "\n".join([f'<details markdown="1"><summary>{title}</summary>', "", *lines, "", "</details>"])


def made_by(command: str) -> str:
    """Return the line of a protocol that says how to make the section again."""
    return f"- made by `{command}`; with the study's file of records (`--records FILE`) in seconds, without training"


def put_study(page: Path, view: View, by_rule: Sequence[Results], command: str, figure: Path) -> None:
    """Write the results of a study between its marks, and those without room on the page to files beside it.

    The page has the answer, a table and the figure, and the protocol in a fold. Beside it are a page of its own and a
    table for programs.
    """
    main = by_rule[0]
    words = view.words(main)
    whole, table = (page.parent / "tables" / f"{view.name}.{ending}" for ending in ("html", "csv"))
    write_whole(whole, to_html(*by_rule, words=words))
    write_whole(table, to_csv(*by_rule))
    rest = f"[All rows, rules and p-values]({link(whole, page)}) · [all seeds as CSV]({link(table, page)})"
    blocks = ["\n".join(f"- {line}" for line in words[: view.answers])]
    if view.brief:
        # Whatever many studies on one page share stands once, on the page.
        origin = f"Made by `{command}`: means over seeds {seeds_text(main.study.seeds)}."
        blocks += [means_table(main, view.brief), origin, f"{rest} · [figure]({link(figure, page)})"]
    else:
        protocol = (line for line in protocol_lines(main) if not line.startswith(LONG))
        blocks += [short_table(main), f"![{main.title}]({link(figure, page)})", f"*{view.under(main)}*", rest]
        blocks += [fold([made_by(command), *protocol])]
    put(page, view.name, "\n\n".join(blocks))


def short_table(results: Results) -> str:
    """Return as many rows and columns as fit on a page, and a line about those left out.

    Of many settings their means; of two metrics the first; of many methods to compare with, the best few.
    """
    if results.tall:
        return over_settings(results)
    study = results.study
    if len(study.rows) <= MOST_ROWS and len(study.rows) * len(study.settings) <= MOST_CELLS:
        return markdown_table(results)
    left = []
    first = tuple(setting for setting in study.settings if setting.metric == study.settings[0].metric)
    if len(first) < len(study.settings):
        left.append("other metrics")
    rows = _kept_rows(results, first)
    if more := len(study.rows) - len(rows):
        left.append(f"{more} methods that are not among the best {BEST} by mean rank")
    table = markdown_table(replace(results, study=replace(study, settings=first, rows=rows)))
    return f"{table}\n\nNot shown: {'; '.join(left)}." if left else table


def _kept_rows(results: Results, settings: Sequence[Setting]) -> tuple[Row, ...]:
    """Return the reference's own section, what is not ranked, and the best of the others by their mean rank."""
    rows = results.study.rows
    own = next(row.section for row in rows if row.label == results.study.reference)
    others = [row.label for row in rows if row.ranked and row.section != own]
    ranks = dict.fromkeys(others, 0.0)
    for setting in settings:
        sign = -1 if METRICS[setting.metric].larger_is_better else 1
        means = {label: sign * results.cell(label, setting.label).mean for label in others}
        for rank, label in enumerate(sorted(others, key=lambda label: (math.isnan(means[label]), means[label]))):
            ranks[label] += rank
    best = set(sorted(others, key=lambda label: ranks[label])[:BEST])
    return tuple(row for row in rows if row.label not in ranks or row.label in best)


def over_settings(results: Results) -> str:
    """Return a line a row: of each metric the mean over settings, and in how many the row is surely better or worse."""
    metrics = list(dict.fromkeys(setting.metric for setting in results.study.settings))
    name = results.study.reference
    heads = [text for m in metrics for text in (f"mean {METRICS[m].words}", f"better than {name}", "worse")]
    lines = []
    for row in results.study.rows:
        texts = [row.label]
        for metric in metrics:
            cells = [results.cell(row.label, s.label) for s in results.study.settings if s.metric == metric]
            texts.append(METRICS[metric].text(fmean(cell.mean for cell in cells)))
            for signs in (("+++", "++"), ("***", "**")):
                count = sum(cell.marks in signs for cell in cells)
                texts.append("" if row.label == name else f"{count} of {len(cells)}")
        lines.append(texts)
    return markdown(["", *heads], lines)


def means_table(results: Results, rows: Sequence[str]) -> str:
    """Return a line a setting, with the means alone of the rows given."""
    known = [row for row in rows if row in {row.label for row in results.study.rows}]
    lines = [
        [setting.label, *(METRICS[setting.metric].text(results.cell(row, setting.label).mean) for row in known)]
        for setting in results.study.settings
    ]
    return markdown(["", *known], lines)
