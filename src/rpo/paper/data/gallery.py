"""What contexts look like: a few pictures of each kind before each context."""

from typing import TYPE_CHECKING

import numpy as np

from rpo.paper.data.album import LABELS, Album

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIDE = 48  # pixels of a picture in the figure


def draw_contexts(album: Album, each: int = 5, seed: int = 0) -> "Figure":
    """One row a kind, one block of columns a context, with how many pictures of both there are."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(seed)
    order = sorted(range(len(album.kinds)), key=lambda kind: (int(album.label[album.kind == kind][0]), kind))
    width = len(album.contexts)
    figure = Figure(figsize=(1.6 + 0.52 * each * width, 0.4 + 0.52 * len(order)), layout="constrained")
    axes = figure.subplots(len(order), width, squeeze=False)
    for row, kind in enumerate(order):
        label = LABELS[int(album.label[album.kind == kind][0])]
        for context, name in enumerate(album.contexts):
            axis = axes[row, context]
            cell = np.flatnonzero((album.kind == kind) & (album.context == context))
            strip = np.full((SIDE, SIDE * each, 3), 255, dtype=np.uint8)
            for place, picture in enumerate(rng.permutation(cell)[:each]):
                strip[:, place * SIDE : (place + 1) * SIDE] = album.read(int(picture), SIDE)
            axis.imshow(strip)
            axis.set(xticks=[], yticks=[])
            for spine in axis.spines.values():
                spine.set_visible(False)
            count = f"{len(cell)}" if context else f"{album.kinds[kind]} ({label})   {len(cell)}"
            axis.set_ylabel(count, rotation=0, ha="right", va="center", fontsize=8, labelpad=3)
            if row == 0:
                axis.set_title(name.replace("_", " "), fontsize=10)
    return figure
