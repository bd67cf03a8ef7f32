"""Picture files: what is wrong with them, and their middle squares."""

import io

import numpy as np
import pytest
import trees
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from rpo_lab.data.pictures import square, trouble_with


def saved(image: Image.Image, form: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


BLACK = Image.new("RGB", (4, 4))


@pytest.mark.parametrize(
    ("content", "name", "trouble"),
    [
        (trees.picture(0), "a.JPG", None),
        (trees.picture(0, "PNG"), "a.png", None),
        (saved(Image.new("P", (4, 4)), "GIF"), "still.gif", None),
        (
            saved(Image.new("RGB", (4, 4)), "MPO", save_all=True, append_images=[Image.new("RGB", (4, 4))]),
            "a.jpg",
            None,
        ),
        (trees.animation(), "a.gif", "animated"),
        (trees.animation(), "a.jpg", "animated"),
        (trees.picture(0, "PNG"), "a.jpg", "misnamed"),
        (trees.picture(0), "a.txt", "misnamed"),
        (trees.picture(0)[:-100], "a.jpg", "truncated"),
        (trees.picture(0, "PNG", (60, 60))[:-4000], "a.png", "truncated"),
        (b"\x89PNG\r\n\x1a\n", "a.png", "unreadable"),
        (b"", "a.jpg", "empty"),
        (trees.header_of(8000, 7000), "a.png", "bomb"),
        (trees.header_of(100_000, 100_000), "a.png", "bomb"),
    ],
)
def test_every_trouble_has_its_name(content, name, trouble):
    assert trouble_with(content, name) == trouble


@given(st.binary(max_size=300), st.integers(0, 400))
def test_no_bytes_raise(garbage, cut):
    whole = trees.picture(3)
    for content in (garbage, whole[:cut] + garbage, whole[: len(whole) - cut] + garbage):
        trouble_with(content, "a.jpg")


def test_the_middle_square_in_three_colours_upright():
    wide = np.zeros((10, 30, 3), dtype=np.uint8)
    wide[:, 10:20] = (10, 200, 30)
    np.testing.assert_array_equal(square(wide, 5), np.full((5, 5, 3), (10, 200, 30)))
    # Grey, palette with transparency, and four colours all become three.
    for mode in ("L", "P", "CMYK", "RGBA"):
        content = saved(Image.fromarray(wide).convert(mode), "JPEG" if mode == "CMYK" else "PNG")
        assert square(content, 5).shape == (5, 5, 3)
    # A camera held upright says so in its notes.
    notes = Image.Exif()
    notes[0x0112] = 6  # turn to the right
    tall = Image.fromarray(np.stack([np.tile(np.arange(0, 240, 8, dtype=np.uint8), (30, 1))] * 3, axis=2))
    turned = square(saved(tall, "JPEG", exif=notes, quality=100), 30)[..., 0].astype(int)
    assert (np.diff(turned.mean(axis=1)) > 0).all()
    assert turned.std(axis=1).max() < 8
