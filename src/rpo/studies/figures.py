"""Results as figures: bars as the paper draws them; where there are many settings, dots or curves with bands.

And `View`, how a study is shown: which rules, under which name and title, beside which quoted figures, in which words.
"""

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from rpo.io import write_whole
from rpo.studies.metrics import METRICS
from rpo.studies.results import Cell, Correction, Results, make_results
from rpo.studies.selection import RULES, Rule, get_rule
from rpo.studies.store import Record
from rpo.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Told apart without colour as well, by their marks.
INKS = ("#7f7f7f", "#c77b0a", "#2a8c62", "#1f4e8c", "#b04a6e", "#6b4fa0", "#4a9bb5")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
CONFIDENCE = 0.95
COLOURS = {True: "#8fa8c8", False: "#d9d2c3"}
HIGHLIGHT = "#1f4e8c"


@dataclass(frozen=True)
class Curve:
    """What varies, in the data's words and in plain ones, and the values it takes."""

    option: str
    words: str
    values: tuple[float, ...]

    def label(self, value: float) -> str:
        """The setting's name at a value.

        >>> Curve("keep", "rows kept", (0.1, 1.0)).label(0.1)
        'rows kept 0.1'
        """
        return f"{self.words} {value:g}"


def half_width(cell: Cell) -> float:
    """Half the width of the confidence interval of a cell's mean, by Student's t; NaN below two seeds.

    >>> round(half_width(Cell({0: 1.0, 1: 2.0, 2: 3.0})), 2)
    2.48
    """
    n = len(cell.values)
    if n < 2:
        return float("nan")
    return float(stdtrit(n - 1, (1 + CONFIDENCE) / 2) * cell.deviation / np.sqrt(n))


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """The figure as PNG and SVG; the same figure gives the same bytes: no date, no random identifiers."""
    import matplotlib as mpl

    paths = []
    with mpl.rc_context({"svg.hashsalt": "rpo", "svg.fonttype": "path"}):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
            paths.append(folder / f"{name}.{kind}")
            write_whole(paths[-1], buffer.getvalue())
    return paths


def curves_figure(results: Results, curves: Sequence[Curve]) -> "Figure":
    """A panel for each curve, settings being points on it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.9), layout="constrained")
    for axis, curve in zip(figure.subplots(1, len(curves), sharey=True), curves, strict=True):
        for row, ink, mark in zip(results.study.rows, INKS, MARKS, strict=False):
            cells = [results.cell(row.label, curve.label(value)) for value in curve.values]
            means, widths = [cell.mean for cell in cells], [half_width(cell) for cell in cells]
            low, high = ([m + s * w for m, w in zip(means, widths, strict=True)] for s in (-1, 1))
            axis.plot(curve.values, means, color=ink, marker=mark, markersize=4, label=row.label)
            axis.fill_between(curve.values, low, high, color=ink, alpha=0.13, linewidth=0)
        axis.set(xlabel=curve.words)
        axis.spines[["top", "right"]].set_visible(False)
    first = figure.axes[0]
    bottom, top = first.get_ylim()
    first.set(ylabel="accuracy in the test domain", ylim=(max(0.0, bottom), min(1.0, top)))
    figure.legend(*first.get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside right upper")
    _caption(figure, results, f"bands: {CONFIDENCE:.0%} intervals of the mean over seeds, by Student's t")
    return figure


def dots_figure(results: Results) -> "Figure":
    """A panel for each metric, settings from left to right, every method's mean with its deviation."""
    from matplotlib.figure import Figure

    metrics = list(dict.fromkeys(setting.metric for setting in results.study.settings))
    figure = Figure(figsize=(12, 1.6 + 3.2 * len(metrics)), layout="constrained")
    rows = results.study.rows
    for axis, metric in zip(figure.subplots(len(metrics), 1, squeeze=False)[:, 0], metrics, strict=True):
        settings = [setting for setting in results.study.settings if setting.metric == metric]
        for place, (row, ink, mark) in enumerate(zip(rows, INKS, MARKS, strict=False)):
            cells = [results.cell(row.label, setting.label) for setting in settings]
            at = [x + 0.75 * (place / max(1, len(rows) - 1) - 0.5) for x in range(len(settings))]
            means, spreads = [cell.mean for cell in cells], [cell.deviation for cell in cells]
            axis.errorbar(
                at, means, spreads, fmt=mark, color=ink, markersize=4.5, linewidth=0, elinewidth=1, label=row.label
            )
        short = [setting.label.removesuffix(f", {METRICS[metric].words}") for setting in settings]
        axis.set_xticks(range(len(settings)), [fill(label, 12) for label in short], fontsize=7.5)
        axis.set_ylabel(METRICS[metric].words)
        axis.set_xlim(-0.5, len(settings) - 0.5)
        for edge in range(1, len(settings)):
            axis.axvline(edge - 0.5, color="#e5e5e5", linewidth=0.8)
        axis.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False, fontsize=8, ncols=len(rows), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    _caption(figure, results, "bars: standard deviation over seeds")
    return figure


def _caption(figure: "Figure", results: Results, drawn: str) -> None:
    figure.suptitle(f"{results.title} ({results.rule.name} selection)", fontsize=11)
    said = dict(results.protocol)
    words: Mapping[str, str] = {"drawn": drawn, **{name: said[name] for name in ("values", "selection", "training")}}
    lines: Sequence[str] = [fill(f"{name}: {text}", 190) for name, text in words.items()]
    figure.supxlabel("\n".join(lines), fontsize=7, ha="left", x=0.01, color="#444444")


def write_figure(results: Results, folder: Path, name: str) -> list[Path]:
    """One panel a setting, as PNG and SVG; the protocol is written under the panels. The paths written.

    Tall results are drawn as dots.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    if results.tall:
        return save(dots_figure(results), folder, name)
    rows = results.study.rows
    panels = len(results.study.settings)
    with mpl.rc_context({"font.size": 9}):
        figure = Figure(figsize=(3.4 + 2.9 * panels, 2.4 + 0.3 * len(rows)), layout="constrained")
        axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
        for axis, setting in zip(axes, results.study.settings, strict=True):
            metric = METRICS[setting.metric]
            cells = [results.cell(row.label, setting.label) for row in rows]
            means = [0.0 if math.isnan(cell.mean) else cell.mean for cell in cells]
            spreads = [0.0 if math.isnan(cell.deviation) else cell.deviation for cell in cells]
            colours = [HIGHLIGHT if row.label == results.study.reference else COLOURS[row.ranked] for row in rows]
            axis.barh(range(len(rows)), means, color=colours, height=0.72)
            low = [max(0.0, mean - spread) for mean, spread in zip(means, spreads, strict=True)]
            high = [mean + spread for mean, spread in zip(means, spreads, strict=True)]
            widths = [b - a for a, b in zip(low, high, strict=True)]
            axis.barh(range(len(rows)), widths, left=low, color="#555555", height=0.12)
            reach = max(high, default=1.0) or 1.0
            for place, (cell, end) in enumerate(zip(cells, high, strict=True)):
                text = f"{metric.text(cell.mean)} {cell.marks}" if cell.values else "failed"
                axis.text(end + 0.02 * reach, place, text, va="center", fontsize=8)
            axis.set(title=setting.label, xlim=(0, 1.42 * reach), xlabel=metric.words)
            axis.spines[["top", "right"]].set_visible(False)
            axis.tick_params(axis="y", length=0)
        axes[0].set_yticks(range(len(rows)), [row.label for row in rows])
        axes[0].invert_yaxis()
        figure.suptitle(f"{results.title} ({results.rule.name} selection)", fontsize=11)
        caption = "\n".join(fill(f"{key}: {words}", 62 * panels) for key, words in results.protocol)
        figure.supxlabel(caption, fontsize=7, ha="left", x=0.01, color="#444444")
        return save(figure, folder, name)


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
    figure: "Callable[[Results], Figure] | None" = None
    """How the results are drawn, if not as bars or dots."""

    def draw(self, results: Results, folder: Path) -> list[Path]:
        """The figure as PNG and SVG; the paths."""
        if self.figure is None:
            return write_figure(results, folder, self.name)
        return save(self.figure(results), folder, self.name)

    def by_rule(self, records: Mapping[str, Record], rule: Rule, correction: Correction) -> list[Results]:
        """The results under the rule asked for, then under every other; one alone if the view has a rule of its own."""
        first = rule if self.rule is None else get_rule(self.rule)
        others = [other for other in RULES.values() if other is not first and self.rule is None]
        return [
            make_results(self.study, records, rule, title=self.title, correction=correction, printed=self.printed)
            for rule in (first, *others)
            if self.study.leave_one_out or rule.name != "leave-one-out"
        ]
