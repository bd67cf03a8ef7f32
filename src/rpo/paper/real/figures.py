"""The figures of the study: a dot for every table on a log axis, and the gain of weights against unevenness."""

from typing import TYPE_CHECKING

import numpy as np

from rpo.paper.real.planting import SETTINGS
from rpo.paper.real.results import RealResults
from rpo.paper.real.study import QUALITY, ROWS
from rpo.studies.figures import INKS, MARKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = ("as-they-are", "domains-30", "confounder")
DOT, HIGHLIGHT, MEAN = "#9aa4af", "#1f5fa8", "#b2182b"
FARTHEST = 10.0  # ratios beyond are drawn at the edge, as triangles
CLOSE = 1e-4  # unevenness that is drawn as none


def dots_figure(results: RealResults) -> "Figure":
    """A panel for each main setting; each row's ratios, one dot per table, and their geometric mean with interval."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

    settings = [name for name in SHOWN if (results.ratios["setting"] == name).any()]
    known = set(results.ratios["row"])
    rows = [name for name in ROWS if name in known][::-1]
    figure = Figure(figsize=(3.2 + 3.4 * len(settings), 1.4 + 0.27 * len(rows)), layout="constrained")
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
            one = results.summary.query("setting == @setting and row == @row")
            if len(one):
                mean, low, high = one[["mean", "low", "high"]].to_numpy()[0]
                if np.isfinite([low, high]).all():
                    axis.plot([min(low, FARTHEST), min(high, FARTHEST)], [place] * 2, color=MEAN, linewidth=2)
                axis.plot([min(mean, FARTHEST)], [place], "D", color=MEAN, markersize=4.2)
        axis.set_xscale("log")
        axis.set_xlim(least, FARTHEST * 1.12)
        axis.set_xticks([tick for tick in (0.25, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10) if tick >= least])
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_title(SETTINGS[setting].words, fontsize=10)
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
    """Error by quality weights over uniform ones, against the measured unevenness; a point per table and setting."""
    from matplotlib.figure import Figure

    gains = results.gains.dropna(subset=["quality"])
    estimators = list(dict.fromkeys(gains["estimator"]))
    figure = Figure(figsize=(2.6 + 3.4 * len(estimators), 4.0), layout="constrained")
    axes = figure.subplots(1, max(1, len(estimators)), sharey=True, squeeze=False)[0]
    kinds = list(dict.fromkeys(SETTINGS[name].kind for name in gains["setting"]))
    words = {"none": "as they are", "domains": "bad domains", "cells": "bad cells", "scarce": "scarce domains"}
    for axis, estimator in zip(axes, estimators, strict=False):
        some = gains[gains["estimator"] == estimator]
        axis.axhline(1, color="#555555", linewidth=0.9)
        for kind, ink, mark in zip(kinds, INKS, MARKS, strict=False):
            of_kind = some[[SETTINGS[name].kind == kind for name in some["setting"]]]
            label = words.get(kind, "a confounder")
            at = of_kind["unevenness"].clip(lower=CLOSE)
            axis.plot(at, of_kind["quality"], mark, color=ink, markersize=4.5, alpha=0.65, linewidth=0, label=label)
        binned = results.curve[results.curve["estimator"] == estimator]
        middle = np.sqrt(np.maximum(binned["from"], CLOSE) * np.maximum(binned["to"], CLOSE))
        axis.plot(middle, binned["ratio"], color=MEAN, linewidth=1.6)
        axis.fill_between(middle, binned["low"], binned["high"], color=MEAN, alpha=0.15, linewidth=0)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(f"Quality, {estimator}", fontsize=10)
        axis.set_xlabel("unevenness: share of the rows that the weights cost", fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(axis="both", which="both", labelsize=8)
    if estimators:
        axes[0].set_ylabel("error, quality weights over uniform ones", fontsize=9)
        figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside right upper")
    return figure
