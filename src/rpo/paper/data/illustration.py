"""A setting as a picture: domains by digits, bad cells shaded, as the paper's figure has it."""

import numpy as np

from rpo.paper.data.colored import DOMAINS, ColoredDigits

INKS = np.array([[0.80, 0.15, 0.15], [0.10, 0.55, 0.20]])  # the two colours
GAP = 2  # pixels between two cells of a mosaic


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
