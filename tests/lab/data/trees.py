"""Small NICO folders in each of the layouts seen in the field, and the quirks that come with them."""

import io
import os
from pathlib import Path

import numpy as np
from PIL import Image

CONTEXTS = ("in_forest", "on_beach", "on_grass", "on_snow")
ANIMALS, VEHICLES = ("bear", "cat", "dog"), ("boat", "car", "truck")
LAYOUTS = ("images", "plural", "capital")


def picture(seed: int, kind: str = "JPEG", size: tuple[int, int] = (14, 11)) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def animation() -> bytes:
    frames = [Image.new("RGB", (6, 6), colour) for colour in ("red", "green", "blue")]
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    return buffer.getvalue()


def header_of(width: int, height: int) -> bytes:
    """A PNG of no pixels at all that says it has that many."""
    import struct
    import zlib

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    size = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def place(layout: str, label: str, kind: str, context: str, name: str) -> Path:
    """Where a layout keeps a file; spaces and underscores are the same, and so are letters of either size."""
    spaced = context.replace("_", " ")
    return {
        "images": Path(label, "images", kind, context, name),
        "plural": Path(f"{label}s", kind, spaced, name),
        "capital": Path("NICO", label.capitalize(), kind.capitalize(), spaced.capitalize(), name.upper()),
    }[layout]


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def tree(root: Path, layout: str, *, each: int = 4, quirks: bool = True) -> Path:
    """`each` pictures of every kind in every context; with quirks, one file of each trouble, and a twin."""
    number = 0
    for label, kinds in (("animal", ANIMALS), ("vehicle", VEHICLES)):
        for kind in kinds:
            for context in (*CONTEXTS, "eating"):
                for i in range(each):
                    ending, form = (("jpg", "JPEG"), ("png", "PNG"), ("jpeg", "JPEG"))[i % 3]
                    path = root / place(layout, label, kind, context, f"{i}.{ending}")
                    write(path, picture(number, form))
                    number += 1
    if quirks:
        add_quirks(root, layout)
    return root


QUIRKS = {
    "90.gif": (animation, "animated"),
    "91.jpg": (lambda: picture(1000)[:200], "truncated"),
    "92.jpg": (lambda: b"<html>404</html>", "unreadable"),
    "93.jpg": (lambda: picture(1001, "PNG"), "misnamed"),
    "94.jpg": (lambda: picture(0), "duplicate"),  # the first bear of the forest
}


def add_quirks(root: Path, layout: str) -> None:
    for name, (content, _) in QUIRKS.items():
        write(root / place(layout, "animal", "bear", "in_forest", name), content())
    write(root / place(layout, "animal", "bear", "in_forest", "0.jpg").parent / "Thumbs.db", b"windows")
    write(root / "readme.txt", b"NICO")


def lists(folder: Path, parts: dict[str, list[str]]) -> Path:
    r"""Published lists: no header, `class\context\file,class,context,superclass`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, files in parts.items():
        lines = []
        for file in files:
            kind, context, _ = file.split("/")
            label = "animal" if kind in ANIMALS else "vehicle"
            lines.append(",".join([file.replace("/", "\\"), kind, context, label]))
        (folder / f"env_{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


def link(target: Path, at: Path) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(target, at)
