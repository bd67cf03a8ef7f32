"""Results as the paper draws its figures: horizontal bars, narrow grey bars for deviations, stars."""

import math
from pathlib import Path
from textwrap import fill

from rpo.studies.curves import dots_figure, save
from rpo.studies.metrics import METRICS
from rpo.studies.results import Results

COLOURS = {True: "#8fa8c8", False: "#d9d2c3"}
HIGHLIGHT = "#1f4e8c"


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
