"""Results as figures: dots with deviations, or curves with bands; at most three panels, nothing but data in them.

And `View`, how a study is shown: which rules, under which name and title, beside which quoted figures, in which words.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from rpo_lab.runner.drawing import FAINT, INKS, MARKS, WIDTH, name_lines, save, show_rows
from rpo_lab.runner.metrics import METRICS
from rpo_lab.runner.results import Cell, Correction, Results, make_results
from rpo_lab.runner.selection import RULES, Rule, get_rule
from rpo_lab.runner.store import Record
from rpo_lab.runner.study import Setting, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_PANELS = 3
MARKS_A_LINE = 3
LABEL = 30  # characters of a row's name; longer ones take two lines
LETTER, MARK = 4.6, 20.0  # points that a letter beside the axes and a mark take, about
MOST_MARKS = 5  # beyond these, settings of a panel are faint dots about their mean
DECADE = 10.0  # values that span more are on a log axis
CONFIDENCE = 0.95
TEXT, RULE = "#333333", "#dddddd"


@dataclass(frozen=True)
class Curve:
    """What varies, in the data's words and in plain ones, and the values it takes."""

    option: str
    words: str
    values: tuple[float, ...]

    def label(self, value: float) -> str:
        """Name the setting at a value.

        >>> Curve("keep", "rows kept", (0.1, 1.0)).label(0.1)
        'rows kept 0.1'
        """
        return f"{self.words} {value:g}"


def half_width(cell: Cell) -> float:
    """Compute half the width of the confidence interval of a cell's mean by Student's t; NaN below two seeds.

    >>> round(half_width(Cell({0: 1.0, 1: 2.0, 2: 3.0})), 2)
    2.48
    """
    n = len(cell.values)
    if n < 2:
        return float("nan")
    return float(stdtrit(n - 1, (1 + CONFIDENCE) / 2) * cell.deviation / np.sqrt(n))


def curves_figure(results: Results, curves: Sequence[Curve]) -> "Figure":
    """Draw a panel for each curve, settings being points on it; lines are named where they end."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    rows = results.study.rows
    axes = figure.subplots(1, len(curves), sharey=True, squeeze=False)[0]
    for axis, curve in zip(axes, curves, strict=True):
        for row, ink, mark in zip(rows, INKS, MARKS, strict=False):
            cells = [results.cell(row.label, curve.label(value)) for value in curve.values]
            means, widths = [cell.mean for cell in cells], [half_width(cell) for cell in cells]
            low, high = ([m + s * w for m, w in zip(means, widths, strict=True)] for s in (-1, 1))
            axis.plot(curve.values, means, color=ink, marker=mark, markersize=4, linewidth=1.3)
            axis.fill_between(curve.values, low, high, color=ink, alpha=0.12, linewidth=0)
        axis.set_xlabel(curve.words, fontsize=9)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    bottom, top = axes[0].get_ylim()
    axes[0].set_ylim(max(0.0, bottom), min(1.0, top))
    axes[0].set_ylabel("accuracy in the test domain", fontsize=9)
    last = curves[-1]
    ends = [results.cell(row.label, last.label(last.values[-1])).mean for row in rows]
    name_lines(axes[-1], [(row.label, ink, end) for row, ink, end in zip(rows, INKS, ends, strict=False)])
    return figure


def panels_of(results: Results) -> dict[str, list[Setting]]:
    """Return at most three panels with their settings: those of the settings, otherwise one for each metric.

    Results of many settings have their metrics for panels, too.
    """
    panels: dict[str, list[Setting]] = {}
    for setting in results.study.settings:
        panels.setdefault(setting.panel or setting.label, []).append(setting)
    if len(panels) <= MOST_PANELS and not results.tall:
        return panels
    panels = {}
    for setting in results.study.settings:
        panels.setdefault(METRICS[setting.metric].words, []).append(setting)
    return panels


def dots_figure(results: Results) -> "Figure":
    """Draw the mean over seeds with its deviation, rows from top to bottom, on a log axis if values span decades.

    A panel with many settings has a faint dot for each, and a mark for their mean.
    """
    from matplotlib.figure import Figure

    rows, panels = results.study.rows, panels_of(results)
    figure = Figure(figsize=(WIDTH, 0.9 + 0.2 * len(rows)), layout="constrained")
    shares = all(METRICS[setting.metric].larger_is_better for setting in results.study.settings)
    axes = figure.subplots(1, len(panels), sharex=shares, sharey=True, squeeze=False)[0]
    labels = [fill(row.label, LABEL) for row in rows]
    beside = LETTER * max(len(line) for label in labels for line in label.splitlines())
    room = (72 * WIDTH - beside) / len(panels)
    for axis, (name, settings) in zip(axes, panels.items(), strict=True):
        _draw_panel(axis, results, settings, room)
        metric = METRICS[settings[0].metric]
        mixed = len({setting.metric for setting in settings}) > 1
        axis.set_xlabel("" if name == metric.words or mixed else metric.words, fontsize=9)
        axis.set_title(name, fontsize=10, loc="left", pad=4 + 13 * _lines_of_marks(settings, room))
        for place in _borders(results):
            axis.axhline(place, color=RULE, linewidth=0.8)
        axis.set_ylim(len(rows) - 0.4, -0.6)
    axes[0].set_yticks(range(len(rows)), labels, fontsize=8.5, linespacing=0.95)
    for label, row in zip(axes[0].get_yticklabels(), rows, strict=True):
        label.set_color(TEXT)
        label.set_fontweight("bold" if row.label == results.study.reference else "normal")
    return figure


def _lines_of_marks(settings: Sequence[Setting], room: float) -> int:
    """Count the lines that the names of a panel's marks take; none where they need no names."""
    return math.ceil(len(settings) / _marks_a_line(settings, room)) if 1 < len(settings) <= MOST_MARKS else 0


def _marks_a_line(settings: Sequence[Setting], room: float) -> int:
    """Count the names of marks that fit side by side above a panel that is so many points wide."""
    widest = max(MARK + LETTER * len(setting.mark or setting.label) for setting in settings)
    return max(1, min(MARKS_A_LINE, int(room / widest)))


def _borders(results: Results) -> list[float]:
    """Return where one section ends and the next begins."""
    sizes = Counter(row.section for row in results.study.rows).values()
    return [place - 0.5 for place in accumulate(sizes)][:-1]


def _draw_panel(axis: "Axes", results: Results, settings: Sequence[Setting], room: float) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    drawn = _draw_many(axis, results, settings) if len(settings) > MOST_MARKS else _draw_few(axis, results, settings)
    if _lines_of_marks(settings, room):
        _name_marks(axis, settings, room)
    errors = not any(METRICS[setting.metric].larger_is_better for setting in settings)
    if errors and drawn and min(drawn) > 0 and max(drawn) > DECADE * min(drawn):
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
    show_rows(axis)


def _draw_many(axis: "Axes", results: Results, settings: Sequence[Setting]) -> list[float]:
    """Draw a faint dot a setting and a diamond at their mean; return the values drawn."""
    drawn: list[float] = []
    for place, row in enumerate(results.study.rows):
        means = [cell.mean for s in settings if (cell := results.cell(row.label, s.label)).values]
        axis.plot(means, [place] * len(means), "o", color=FAINT, markersize=3.5, alpha=0.6, linewidth=0)
        if means:
            ink = INKS[0] if row.label == results.study.reference else TEXT
            axis.plot([float(np.mean(means))], [place], "D", color=ink, markersize=5)
        drawn += means
    return drawn


def _draw_few(axis: "Axes", results: Results, settings: Sequence[Setting]) -> list[float]:
    """Draw a mark for each setting, with the deviation over seeds; return the values drawn."""
    drawn: list[float] = []
    for lane, (setting, ink, mark) in enumerate(zip(settings, INKS, MARKS, strict=False)):
        cells = [(place, results.cell(row.label, setting.label)) for place, row in enumerate(results.study.rows)]
        known = [(place + 0.5 * ((lane + 0.5) / len(settings) - 0.5), cell) for place, cell in cells if cell.values]
        bars = [(*_ends(cell, setting), height) for height, cell in known]
        # In one line with gaps, and marks together: a file of a tenth of the size.
        ends = [x for low, high, _ in bars for x in (low, high, math.nan)]
        axis.plot(ends, [y for *_, y in bars for _ in range(3)], color=ink, linewidth=0.9, alpha=0.6)
        means = [cell.mean for _, cell in known]
        axis.plot(means, [height for height, _ in known], mark, color=ink, markersize=4, linewidth=0)
        drawn += means
    return drawn


def _ends(cell: Cell, setting: Setting) -> tuple[float, float]:
    """Return a deviation to either side, within what the metric can be."""
    wide = 0.0 if math.isnan(cell.deviation) else cell.deviation
    low, high = cell.mean - wide, cell.mean + wide
    if METRICS[setting.metric].larger_is_better:
        return max(0.0, low), min(1.0, high)
    return max(low, 0.2 * cell.mean), high  # above zero, where a log axis has it too


def _name_marks(axis: "Axes", settings: Sequence[Setting], room: float) -> None:
    """Name the marks of a panel, in their colours, between its title and its first row."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=ink, marker=mark, markersize=4, linewidth=0, label=setting.mark or setting.label)
        for setting, ink, mark in zip(settings, INKS, MARKS, strict=False)
    ]
    axis.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=_marks_a_line(settings, room),
        frameon=False, fontsize=8, labelcolor="linecolor", handletextpad=0.1, columnspacing=0.9, borderpad=0.1,
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """A study with all that its results, figure and page need besides the records."""

    name: str
    """Of the files, and of the marks in a page."""
    study: Study
    title: str
    words: Callable[[Results], list[str]]
    printed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Columns to quote."""
    rule: str | None = None
    """A rule of its own, whichever is asked for."""
    figure: "Callable[[Results], Figure]" = dots_figure
    """How the results are drawn."""
    caption: str = ""
    """What stands under the figure, if it is not of dots."""
    answers: int | None = None
    """How many of the words stand on the page; the others are beside its whole table. None for all."""
    brief: tuple[str, ...] = ()
    """Rows whose means alone stand on the page, if it has many studies."""

    def under(self, results: Results) -> str:
        """Return what stands under the figure."""
        if results.tall:
            return self.caption or "Dots: means over seeds, one per setting. Diamonds: means over the settings."
        return self.caption or "Marks: means over seeds. Lines: ± one standard deviation."

    def draw(self, results: Results, folder: Path) -> list[Path]:
        """Save the figure as PNG and SVG; return the paths."""
        return save(self.figure(results), folder, self.name)

    def by_rule(self, records: Mapping[str, Record], rule: Rule, correction: Correction) -> list[Results]:
        """Return the results under the rule asked for, then every other; one alone if the view has its own."""
        first = rule if self.rule is None else get_rule(self.rule)
        others = [other for other in RULES.values() if other is not first and self.rule is None]
        return [
            make_results(self.study, records, rule, title=self.title, correction=correction, printed=self.printed)
            for rule in (first, *others)
            if self.study.leave_one_out or rule.name != "leave-one-out"
        ]
