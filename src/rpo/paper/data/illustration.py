"""A setting as a picture: domains by digits, bad cells shaded, as the paper's figure has it."""

from typing import TYPE_CHECKING

import numpy as np

from rpo.paper.data.colored import DOMAINS, ColoredDigits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INKS = np.array([[0.80, 0.15, 0.15], [0.10, 0.55, 0.20]])  # the two colours
SHADE = "#cfe0f5"
GAP = 2  # pixels between two cells of a mosaic


def draw_setting(data: ColoredDigits, seed: int = 0) -> "Figure":
    """One example of each digit in each domain, with the cell's rows and share of class 1; bad cells in blue shadow."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(seed)
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    axes = figure.subplots(DOMAINS + 1, 10)
    for e in range(DOMAINS + 1):
        for k in range(10):
            axis = axes[e, k]
            axis.set(xticks=[], yticks=[])
            bad = (e, k) in data.setting.cells
            axis.set_facecolor(SHADE if bad else "white")
            rows = np.flatnonzero((data.domain == e) & (data.digit == k))
            if len(rows):
                axis.imshow(_inked(data, int(rng.choice(rows)), bad))
                axis.set_xlabel(f"{len(rows)} · {data.y[rows].mean():.2f}", fontsize=7, labelpad=2)
            for spine in axis.spines.values():
                spine.set(color="#4477bb" if bad else "#cccccc", linewidth=1.5 if bad else 0.8)
        axes[e, 0].set_ylabel("test" if e == DOMAINS else f"domain {e}", fontsize=9)
    for k in range(10):
        axes[0, k].set_title(str(k), fontsize=9)
    number, kind = data.setting.number, data.setting.kind
    title = "clean data" if number == 0 else f"setting {number} ({kind}): bad cells in blue"
    figure.suptitle(f"Colored digits, {title}. Under each cell: rows · share of class 1", fontsize=10)
    return figure


def mosaic(data: ColoredDigits, seed: int = 0) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """One picture of the training domains by digits, bad cells on blue ground: cells of s pixels and a gap each way."""
    rng = np.random.default_rng(seed)
    lines = []
    for e in range(DOMAINS):
        cells = []
        for k in range(10):
            row = int(rng.choice(np.flatnonzero((data.domain == e) & (data.digit == k))))
            cell = _inked(data, row, (e, k) in data.setting.cells)
            cells.append(np.pad(cell, ((0, GAP), (0, GAP), (0, 0)), constant_values=1.0))
        lines.append(np.concatenate(cells, axis=1))
    return np.concatenate(lines)


def _inked(data: ColoredDigits, row: int, bad: bool) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """The digit in its colour on the cell's ground."""
    ground = np.array([0.81, 0.88, 0.96]) if bad else np.ones(3)
    strength = data.images[data.image[row]][:, :, None] / 255
    return np.asarray((1 - strength) * ground + strength * INKS[data.colour[row]])
