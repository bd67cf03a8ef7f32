"""The context of a small photo, from the colours of its border: what is behind the thing, not the thing."""

import numpy as np
from numpy.typing import NDArray

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


def context_of(images: NDArray[np.uint8]) -> NDArray[np.int8]:
    """The context of each image `(n, h, w, 3)`: what most of its border is coloured as, or `UNCLEAR`.

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
        some = slice(start, start + AT_ONCE)
        colour = _colour(images[some][:, ring])
        share = np.stack([(colour == c).mean(axis=1) for c in range(len(CONTEXTS))], axis=1)
        context[some] = np.where(share.max(axis=1) >= MAJORITY, share.argmax(axis=1), UNCLEAR)
    return context


def _colour(pixels: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Which context each pixel `(..., 3)` is coloured as."""
    red, green, blue = np.moveaxis(pixels.astype(np.float32) / 255, -1, 0)
    value = np.maximum(np.maximum(red, green), blue)
    spread = value - np.minimum(np.minimum(red, green), blue)
    some = np.maximum(spread, 1e-6)
    saturation = spread / np.maximum(value, 1e-6)
    hue = 60 * np.select(
        [value == red, value == green], [((green - blue) / some) % 6, (blue - red) / some + 2], (red - green) / some + 4
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
