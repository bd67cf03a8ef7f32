"""Code shared by all figures: width, inks and marks, names beside lines, and files with reproducible bytes."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rpo._io import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 8.0  # inches, whatever is drawn: at 800 pixels a point of type is a pixel and a half
DPI = 150
# Told apart without colour as well, by their marks.
INKS = ("#1f4e8c", "#c77b0a", "#2a8c62", "#b04a6e", "#6b4fa0", "#4a9bb5", "#7f7f7f")
MARKS = ("o", "D", "^", "s", "v", "P", "X")
FAINT = "#9aa4af"
GAP = 0.06  # between names beside lines, as a share of the height of a panel
# What matplotlib would write into a file about itself, and when.
NOTHING_ELSE: Mapping[str, dict[str, None]] = {
    "png": dict.fromkeys(["Software"]),
    "svg": dict.fromkeys(["Creator", "Date", "Format", "Type"]),
}


def save(figure: "Figure", folder: Path, name: str, kinds: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Save the figure as PNG, SVG or both; the same figure gives the same bytes: no date, no random identifiers."""
    import matplotlib as mpl

    paths = []
    with mpl.rc_context({"svg.hashsalt": "rpo", "svg.fonttype": "path"}):
        for kind in kinds:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=DPI, metadata=NOTHING_ELSE[kind])
            paths.append(folder / f"{name}.{kind}")
            write_whole(paths[-1], buffer.getvalue())
    return paths


def show_rows(axis: "Axes") -> None:
    """Leave nothing of an axis whose rows are named but the figures below it and faint lines above these."""
    axis.tick_params(axis="x", labelsize=8)
    axis.tick_params(axis="y", length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.grid(axis="x", color="#eeeeee", linewidth=0.7)
    axis.set_axisbelow(True)


def name_lines(axis: "Axes", ends: Sequence[tuple[str, str, float]]) -> None:
    """Write names to the right of a panel, each in its ink and at the height of the end of its line, without overlap.

    Call it when the limits of the panel are final; lines without an end (NaN) get no name.
    """
    known = [(label, ink, end) for label, ink, end in ends if not math.isnan(end)]
    to_axes = axis.transData + axis.transAxes.inverted()
    heights = [float(to_axes.transform((axis.get_xlim()[1], end))[1]) for *_, end in known]
    for (label, ink, _), height in zip(known, spread(heights, GAP), strict=True):
        place = (1.04, height)
        axis.annotate(label, place, xycoords="axes fraction", color=ink, fontsize=8, va="center", annotation_clip=False)


def spread(values: Sequence[float], gap: float) -> list[float]:
    """Move values apart as little as it takes for labels beside them not to overlap, in the same order.

    >>> spread([0.5, 0.51, 0.9], gap=0.1)
    [0.455, 0.555, 0.9]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    blocks: list[tuple[float, list[int]]] = []  # centre of a block of labels that touch, and who is in it
    for i in order:
        blocks.append((values[i], [i]))
        while len(blocks) > 1 and _end(blocks[-2], gap, 1) > _end(blocks[-1], gap, -1):
            (_, above), (_, below) = blocks.pop(), blocks.pop()
            members = [*below, *above]
            blocks.append((sum(values[j] for j in members) / len(members), members))
    placed = dict.fromkeys(order, 0.0)
    for centre, members in blocks:
        for place, i in enumerate(members):
            placed[i] = round(centre + (place - (len(members) - 1) / 2) * gap, 9)
    return [placed[i] for i in range(len(values))]


def _end(block: tuple[float, list[int]], gap: float, side: int) -> float:
    return block[0] + side * len(block[1]) * gap / 2 - side * 1e-12
