"""Picture files read with care: what cannot be trusted is refused, what cannot be used is skipped, both by name."""

import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

# What a file's name may end in, and the format its content must then have.
FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".gif": "GIF"}
MOST_PIXELS = 50_000_000  # no photo has more; a file that says so would fill the memory once unpacked

Trouble = Literal["empty", "bomb", "link", "unreadable", "truncated", "animated", "misnamed"]
REFUSED: tuple[Trouble, ...] = ("empty", "bomb", "link")
"""A folder with one of these is not loaded at all; files with the other troubles are left out."""


def leads_out(path: Path, root: Path) -> bool:
    """Whether a path, its links followed, is outside `root`.

    >>> leads_out(Path("a/../.."), Path("."))
    True
    """
    return not path.resolve().is_relative_to(root.resolve())


def trouble_with(content: bytes, name: str) -> Trouble | None:
    """What is wrong with a picture file, None if it can be used; all of it is decoded to find out.

    >>> trouble_with(b"", "a.jpg"), trouble_with(b"not a picture", "a.jpg"), trouble_with(b"text", "a.txt")
    ('empty', 'unreadable', 'misnamed')
    """
    from PIL import Image

    if not content:
        return "empty"
    wanted = FORMATS.get(os.path.splitext(name)[1].lower())
    if wanted is None:
        return "misnamed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters is checked below
            with Image.open(io.BytesIO(content)) as picture:
                if picture.width * picture.height > MOST_PIXELS:
                    return "bomb"
                # Cameras put a preview behind a JPEG and call it MPO: that is a photo like any other.
                found = "JPEG" if picture.format == "MPO" else picture.format
                if found != "JPEG" and getattr(picture, "is_animated", False):
                    return "animated"
                if found != wanted:
                    return "misnamed"
                picture.load()
    except Image.DecompressionBombError:
        return "bomb"
    except Exception as error:  # decoders raise anything on bytes that are no picture
        return "truncated" if "truncated" in str(error).lower() else "unreadable"
    return None


def square(content: bytes | NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """The picture's middle square at `size` × `size` pixels, upright, in three colours, `(size, size, 3)`.

    >>> square(np.zeros((4, 6, 3), np.uint8), 2).shape
    (2, 2, 3)
    """
    from PIL import Image

    if isinstance(content, bytes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about transparency, which goes
            with Image.open(io.BytesIO(content)) as picture:
                return _resized(_upright(picture), size)
    return _resized(Image.fromarray(content), size)


def _upright(picture: "Image") -> "Image":
    from PIL import ImageOps

    turned = ImageOps.exif_transpose(picture)
    return turned.convert("RGB")


def _resized(picture: "Image", size: int) -> NDArray[np.uint8]:
    from PIL import Image

    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    middle = picture.crop((left, top, left + side, top + side))
    return np.asarray(middle.resize((size, size), Image.Resampling.BICUBIC), dtype=np.uint8)
