"""A substitute for NICO that is free to download: CIFAR-10's animals and vehicles, tied to the background colour.

The context of a small photo is the colour of its border, which is background.
"""

import hashlib
import os
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rpo_lab.data.cifar import KINDS, load_cifar
from rpo_lab.data.pictures import LABELS, Album, square
from rpo_lab.data.tying import Homes, Photos, corrupted, tied

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VEHICLES = ("airplane", "automobile", "ship", "truck")
HOMES: Homes = (("green",), ("blue", "grey"))
# The weakest tie of those tried (see `rpo_lab.nico`) at which ERM on frozen features falls by ten points.
TIES, TEST_TIE = (1.0, 0.98), 0.0
PER_CELL = 300

CONTEXTS = ("blue", "green", "grey")
"""Sky or sea; grass, leaves or earth; road, snow or cloud."""
UNCLEAR = -1
BORDER = 3  # pixels on each side
MAJORITY = 0.5  # share of the border that must have one colour

# In the HSV model: hue in degrees, saturation and value between 0 and 1.
BLUES, GREENS = (170.0, 260.0), (20.0, 170.0)
SATURATED, LIT = 0.15, 0.25
LIT_GREEN = 0.1  # leaves in the shade are darker than any sky
AT_ONCE = 4096  # images: their borders as real numbers are large
SIDE, GAP = 48, 4  # pixels of a picture in a figure, and between two


def photos(
    setting: int = 0,
    *,
    folder: str | os.PathLike[str] | None = None,
    ties: tuple[float, ...] = TIES,
    test_tie: float = TEST_TIE,
    rows: int = 1600,
    test_rows: int = 800,
    per_cell: int = PER_CELL,
    keep: float = 0.1,
    flip: float = 0.3,
    seed: int = 0,
) -> Photos:
    """Draw animals and vehicles of CIFAR-10 before green (animals' home) or before blue and grey (vehicles').

    In training domain e a share `ties[e]` of either is at home, in the test domain a share `test_tie`: the tie is
    reversed. A domain has `rows` rows, of which a fifth for validation. Pictures are drawn from a pool that is the same
    for all seeds: up to `per_cell` of each kind before each context. `setting`, `keep` and `flip` are the corruption
    of `rpo_lab.data.colored_mnist`, with kinds for digits. `folder` holds CIFAR-10, if not the cache.
    """
    album = photo_album(folder, per_cell)
    rng = np.random.default_rng([seed, 8])
    picture, domain, part = tied(album, HOMES, ties=ties, test_tie=test_tie, rows=rows, test_rows=test_rows, rng=rng)
    return corrupted(album, picture, domain, part, setting=setting, keep=keep, flip=flip, rng=rng)


def photo_album(folder: str | os.PathLike[str] | None = None, per_cell: int | None = None) -> Album:
    """Collect CIFAR-10's pictures whose context is clear: all, or up to `per_cell` of each kind and context."""
    return _album(None if folder is None else os.fspath(folder), per_cell)


@lru_cache(maxsize=2)
def _album(folder: str | None, per_cell: int | None) -> Album:
    images, kind = load_cifar(folder)
    context = context_of(images)
    rng = np.random.default_rng(8)
    chosen = np.sort(
        np.concatenate(
            [
                rng.permutation(np.flatnonzero((kind == k) & (context == c)))[:per_cell]
                for k in range(len(KINDS))
                for c in range(len(CONTEXTS))
            ]
        )
    )
    assert UNCLEAR not in context[chosen]
    digest = np.array([hashlib.sha256(images[i].tobytes()).hexdigest() for i in chosen])
    is_vehicle = np.array([name in VEHICLES for name in KINDS])
    return Album(
        kinds=KINDS,
        contexts=CONTEXTS,
        label=is_vehicle[kind[chosen]].astype(np.int8),
        kind=kind[chosen].astype(np.int16),
        context=context[chosen].astype(np.int16),
        digest=digest,
        names=[f"{KINDS[kind[i]]}/{i:05d}" for i in chosen],
        read=lambda picture, size: square(images[chosen[picture]], size),
    )


def context_of(images: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Return the context of each image `(n, h, w, 3)`: what most of its border is coloured as, or `UNCLEAR`.

    A pixel is blue, green (browns and yellows included) or grey by its hue and saturation; one that is too dark, red
    or purple is none of them.

    >>> sky, grass, snow = (80, 140, 220), (70, 110, 50), (235, 235, 240)
    >>> images = np.array([sky, grass, snow], dtype=np.uint8)[:, None, None, :].repeat(8, 1).repeat(8, 2)
    >>> [CONTEXTS[c] for c in context_of(images)]
    ['blue', 'green', 'grey']
    """
    _, height, width, _ = images.shape
    ring = np.ones((height, width), dtype=bool)
    ring[BORDER : height - BORDER, BORDER : width - BORDER] = False
    context = np.empty(len(images), dtype=np.int8)
    for start in range(0, len(images), AT_ONCE):
        block = slice(start, start + AT_ONCE)
        colour = _colour(images[block][:, ring])
        share = np.stack([(colour == c).mean(axis=1) for c in range(len(CONTEXTS))], axis=1)
        context[block] = np.where(share.max(axis=1) >= MAJORITY, share.argmax(axis=1), UNCLEAR)
    return context


def _colour(pixels: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Return the context that each pixel `(..., 3)` is coloured as."""
    red, green, blue = np.moveaxis(pixels.astype(np.float32) / 255, -1, 0)
    value = np.maximum(np.maximum(red, green), blue)
    spread = value - np.minimum(np.minimum(red, green), blue)
    divisor = np.maximum(spread, 1e-6)
    saturation = spread / np.maximum(value, 1e-6)
    hue = 60 * np.select(
        [value == red, value == green],
        [((green - blue) / divisor) % 6, (blue - red) / divisor + 2],
        (red - green) / divisor + 4,
    )
    saturated = saturation >= SATURATED
    return np.select(
        [
            saturated & (value > LIT) & (hue >= BLUES[0]) & (hue <= BLUES[1]),
            saturated & (value > LIT_GREEN) & (hue >= GREENS[0]) & (hue < GREENS[1]),
            ~saturated & (value > LIT),
        ],
        [0, 1, 2],
        UNCLEAR,
    ).astype(np.int8)


def draw_contexts(album: Album, each: int = 4, seed: int = 0) -> "Figure":
    """Draw a panel for each context, with a line of pictures for each kind, and how many there are of both."""
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
