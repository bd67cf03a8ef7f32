"""The figures of the study: a dot for every table on a log axis, and the gain of weights against unevenness."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rpo_lab.real.planting import CLEAN, SETTINGS
from rpo_lab.real.results import RealResults
from rpo_lab.real.study import CONTROLS, MAIN, QUALITY, ROWS
from rpo_lab.runner.drawing import INKS, MARKS, WIDTH

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

DOT, HIGHLIGHT, MEAN = "#9aa4af", "#1f5fa8", "#b2182b"
FARTHEST = 10.0  # ratios beyond are drawn at the edge, as triangles
FIRST = 0.002  # as wide as the bin of none is drawn
KINDS = {
    CLEAN: "as they are",
    "domains": "bad domains",
    "cells": "bad cells",
    "scarce": "scarce domains",
    "confounder": "a confounder",
}


def dots_figure(results: RealResults) -> "Figure":
    """Draw a panel for each main setting: each row's ratios, a dot per table, and their geometric mean with interval.

    Controls are left out: they are compared with what they control in the other figure.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

    settings = [name for name in MAIN if (results.ratios["setting"] == name).any()]
    known = set(results.ratios["row"])
    rows = [name for name in ROWS if name in known and ROWS[name].section != CONTROLS][::-1]
    figure = Figure(figsize=(WIDTH, 1.2 + 0.22 * len(rows)), layout="constrained")
    axes = figure.subplots(1, len(settings), sharey=True, squeeze=False)[0]
    least = min(0.5, 0.95 * float(results.ratios["ratio"].min()))
    for axis, setting in zip(axes, settings, strict=True):
        axis.axvline(1, color="#555555", linewidth=0.9)
        for place, row in enumerate(rows):
            ratio = results.ratios.query("setting == @setting and row == @row")["ratio"].to_numpy()
            inside, far = ratio[ratio <= FARTHEST], ratio[ratio > FARTHEST]
            ink = HIGHLIGHT if ROWS[row].section == QUALITY else DOT
            axis.plot(inside, np.full(len(inside), place), "o", color=ink, markersize=3.6, alpha=0.55, linewidth=0)
            axis.plot(np.full(len(far), FARTHEST), np.full(len(far), place), ">", color=ink, markersize=5, alpha=0.55)
            line = results.summary.query("setting == @setting and row == @row")
            if len(line):
                mean, low, high = line[["mean", "low", "high"]].to_numpy()[0]
                if np.isfinite([low, high]).all():
                    axis.plot([min(low, FARTHEST), min(high, FARTHEST)], [place] * 2, color=MEAN, linewidth=2)
                axis.plot([min(mean, FARTHEST)], [place], "D", color=MEAN, markersize=4.2)
        axis.set_xscale("log")
        axis.set_xlim(least, FARTHEST * 1.12)
        axis.set_xticks([tick for tick in (0.25, 0.5, 1, 2, 5, 10) if tick >= least])
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_title(SETTINGS[setting], fontsize=10)
        axis.tick_params(axis="both", labelsize=8)
        axis.grid(axis="y", color="#eeeeee", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(rows)), [ROWS[row].label for row in rows])
    figure.supxlabel(
        "error over that of the best stock learner (below 1 is better); diamonds: geometric mean, 95 %", fontsize=9
    )
    return figure


def curve_figure(results: RealResults) -> "Figure":
    """Draw the ratio of errors, quality weights over uniform ones, against unevenness, with means by bins of it.

    There is a point for each table and setting; means are geometric, with their intervals.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

    gains = results.gains.dropna(subset=["quality"])
    estimators = list(dict.fromkeys(gains["estimator"]))
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    axes = figure.subplots(1, max(1, len(estimators)), sharey=True, squeeze=False)[0]
    kinds = dict.fromkeys(_kind(name) for name in gains["setting"])
    for axis, estimator in zip(axes, estimators, strict=False):
        own = gains[gains["estimator"] == estimator]
        axis.axhline(1, color="#555555", linewidth=0.9)
        for kind, ink, mark in zip(kinds, INKS, MARKS, strict=False):
            points = own[[_kind(name) == kind for name in own["setting"]]]
            style: dict[str, Any] = {"color": ink, "markersize": 4.5, "alpha": 0.65, "linewidth": 0, "clip_on": False}
            axis.plot(points["unevenness"], points["quality"], mark, label=KINDS[kind], **style)
        for line in results.curve[results.curve["estimator"] == estimator].to_dict("records"):
            ends = [line["from"], line["to"] if line["to"] > 0 else FIRST]
            axis.plot(ends, [line["ratio"]] * 2, color=MEAN, linewidth=2)
            axis.fill_between(ends, line["low"], line["high"], color=MEAN, alpha=0.15, linewidth=0)
        axis.set_xscale("function", functions=(_root, np.square))  # most tables are close to zero
        axis.set_xlim(0, 1)
        axis.set_xticks([0, 0.02, 0.1, 0.25, 0.5, 1])
        axis.set_yscale("log")
        axis.set_yticks([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2])
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            side.set_minor_formatter(NullFormatter())
        axis.set_ylim(min(0.85, 0.95 * gains["quality"].min()), max(1.1, 1.05 * gains["quality"].max()))
        axis.set_title(f"Quality, {estimator}", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(axis="both", which="both", labelsize=8)
    if estimators:
        axes[0].set_ylabel("error, quality weights over uniform ones", fontsize=9)
        figure.supxlabel("unevenness: share of the rows that the weights cost; bars: geometric mean, 95 %", fontsize=9)
        figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside right upper")
    return figure


def _kind(setting: str) -> str:
    return setting if setting in KINDS else setting.partition("-")[0]


def _root(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return the square root; of what lies left of an axis, which is asked for too, that of zero."""
    return np.sqrt(np.maximum(values, 0))
