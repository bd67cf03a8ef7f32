"""Pictures: safe reading of files, their middle squares, and an album of labels and hashes with access to pixels.

Files that cannot be trusted are refused, those that cannot be used are skipped, both by name.
"""

import io
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpo._io import few

if TYPE_CHECKING:
    from PIL.Image import Image

LABELS = ("animal", "vehicle")
# What a file's name may end in, and the format its content must then have.
FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".gif": "GIF"}
MOST_PIXELS = 50_000_000  # no photo has more; a file that says so would fill the memory once unpacked

Trouble = Literal["empty", "bomb", "link", "unreadable", "truncated", "animated", "misnamed"]
REFUSED: dict[str, str] = {
    "empty": "has no content: fetch it again or delete it",
    "bomb": "unpacks to more pixels than any photo has: delete it",
    "link": "leads out of the folder: put the file itself there",
}
"""What to do about the troubles with which a folder is not loaded at all; files with the others are left out."""


class Skipped(NamedTuple):
    """A file that was left out, and why."""

    name: str
    why: Trouble | str


@dataclass(frozen=True, eq=False)
class Album:
    """Pictures, no two of them the same: label (0 animal, 1 vehicle), kind, context, and content hash of each.

    `read(picture, size)` gives the pixels of one, `(size, size, 3)` bytes.
    """

    kinds: tuple[str, ...]
    contexts: tuple[str, ...]
    label: NDArray[np.int8]
    kind: NDArray[np.int16]
    context: NDArray[np.int16]
    digest: NDArray[np.str_]
    """SHA-256 of each picture's content."""
    names: Sequence[str]
    read: Callable[[int, int], NDArray[np.uint8]]
    skipped: tuple[Skipped, ...] = ()
    aliases: Mapping[str, int] = field(default_factory=dict)
    """Every name that leads to a picture, those of duplicates among them."""

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def place(self) -> dict[str, int]:
        """The picture of each content hash."""
        return {str(digest): place for place, digest in enumerate(self.digest)}

    def pixels(self, pictures: NDArray[Any], size: int) -> NDArray[np.uint8]:
        """Read the pixels of some pictures, `(n, size, size, 3)`."""
        pixels = np.empty((len(pictures), size, size, 3), dtype=np.uint8)
        for row, picture in enumerate(pictures):
            pixels[row] = self.read(int(picture), size)
        return pixels

    def notes(self, most: int = 5) -> list[str]:
        """Return a line for each reason for which files were left out: how many, and the first names."""
        lines = []
        for why in dict.fromkeys(skipped.why for skipped in self.skipped):
            names = [skipped.name for skipped in self.skipped if skipped.why == why]
            lines.append(f"{len(names)} {why}: {few(names, most)}")
        return lines


def unique(digest: NDArray[np.str_]) -> NDArray[np.intp]:
    """Return the first place of every content, in order: a picture under two names is one picture.

    >>> unique(np.array(["b", "a", "b", "c"])).tolist()
    [0, 1, 3]
    """
    return np.sort(np.unique(digest, return_index=True)[1])


def trouble_with(content: bytes, name: str) -> Trouble | None:
    """Return what is wrong with a picture file, None if it can be used; all of it is decoded to find out.

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
                kind = "JPEG" if picture.format == "MPO" else picture.format
                if kind != "JPEG" and getattr(picture, "is_animated", False):
                    return "animated"
                if kind != wanted:
                    return "misnamed"
                picture.load()
    except Image.DecompressionBombError:
        return "bomb"
    except Exception as error:  # decoders raise anything on bytes that are no picture
        return "truncated" if "truncated" in str(error).lower() else "unreadable"
    return None


def square(content: bytes | NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return the picture's middle square at `size` × `size` pixels, upright, in three colours, `(size, size, 3)`.

    >>> square(np.zeros((4, 6, 3), np.uint8), 2).shape
    (2, 2, 3)
    """
    from PIL import Image, ImageOps

    if isinstance(content, bytes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about transparency, which goes
            with Image.open(io.BytesIO(content)) as picture:
                return _resized(ImageOps.exif_transpose(picture).convert("RGB"), size)
    return _resized(Image.fromarray(content), size)


def _resized(picture: "Image", size: int) -> NDArray[np.uint8]:
    from PIL import Image

    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    middle = picture.crop((left, top, left + side, top + side))
    return np.asarray(middle.resize((size, size), Image.Resampling.BICUBIC), dtype=np.uint8)
