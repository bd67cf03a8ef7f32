"""What contexts look like: a few pictures of each kind before each context."""

from typing import TYPE_CHECKING

import numpy as np

from rpo_lab.data.album import LABELS, Album

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE, GAP = 48, 4  # pixels of a picture in the figure, and between two


def draw_contexts(album: Album, each: int = 4, seed: int = 0) -> "Figure":
    """A panel a context, a line a kind, with how many pictures of both there are."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(seed)
    order = sorted(range(len(album.kinds)), key=lambda kind: (int(album.label[album.kind == kind][0]), kind))
    figure = Figure(figsize=(8.0, 0.5 + 0.45 * len(order)), layout="constrained")
    axes = figure.subplots(1, len(album.contexts), squeeze=False)[0]
    pitch = SIDE + GAP
    for context, (axis, name) in enumerate(zip(axes, album.contexts, strict=True)):
        sheet = np.full((pitch * len(order), pitch * each, 3), 255, dtype=np.uint8)
        counts = []
        for row, kind in enumerate(order):
            cell = np.flatnonzero((album.kind == kind) & (album.context == context))
            for place, picture in enumerate(rng.permutation(cell)[:each]):
                sheet[row * pitch : row * pitch + SIDE, place * pitch : place * pitch + SIDE] = album.read(
                    int(picture), SIDE
                )
            label = LABELS[int(album.label[album.kind == kind][0])]
            counts.append(f"{len(cell)}" if context else f"{album.kinds[kind]} ({label})  {len(cell)}")
        axis.imshow(sheet)
        axis.set_xticks([])
        axis.set_yticks([row * pitch + SIDE / 2 for row in range(len(order))], counts, fontsize=8.5)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        axis.set_title(name.replace("_", " "), fontsize=10)
    return figure
