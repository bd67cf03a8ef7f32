"""The stand-in: contexts by the border, domains from a small album in place of CIFAR-10."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from rpo_lab.data import cifar
from rpo_lab.data.photos import CONTEXTS, UNCLEAR, context_of, draw_contexts, photo_album, photos

GROUNDS = np.array([(90, 150, 220), (90, 120, 60), (200, 200, 205), (200, 30, 160)], dtype=np.int16)
SMALL = {"rows": 80, "test_rows": 40, "ties": (0.9, 0.8), "test_tie": 0.1, "per_cell": 30}


def coloured(rng, ground):
    """A picture of noise before a ground of about one colour."""
    image = np.clip(GROUNDS[ground] + rng.integers(-9, 10, (32, 32, 3)), 0, 255).astype(np.uint8)
    image[8:24, 8:24] = rng.integers(0, 256, (16, 16, 3))
    return image


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six files of 200 pictures: twenty of each kind, five before each ground."""
    rng = np.random.default_rng(0)
    path, checksums = tmp_path_factory.mktemp("cifar"), {}
    for name in cifar.SET.files:
        rows = [
            bytes([kind]) + coloured(rng, ground).transpose(2, 0, 1).tobytes()
            for kind in range(10)
            for ground in range(4)
            for _ in range(5)
        ]
        (path / name).write_bytes(b"".join(rows))
        checksums[name] = hashlib.sha256(b"".join(rows)).hexdigest()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cifar, "SET", replace(cifar.SET, files=checksums))
        yield path


def test_the_context_is_the_border_and_not_the_thing():
    rng = np.random.default_rng(1)
    images = np.array([coloured(rng, ground) for ground in (0, 1, 2, 3)] * 5)
    assert context_of(images).tolist() == [0, 1, 2, UNCLEAR] * 5
    half = images[0].copy()
    half[:, :16] = images[1][:, :16]
    half[0, :4] = 0  # now neither has the half
    half[0, -4:] = 0
    assert context_of(half[None]).tolist() == [UNCLEAR]


def test_the_tie_reverses_and_the_pool_is_the_same_for_all_seeds(folder):
    album = photo_album(folder, per_cell=30)
    assert len(album) == 10 * 3 * 30
    draws = [photos(folder=folder, **SMALL, seed=seed) for seed in range(3)]
    for data in draws:
        assert data.album is draws[0].album
        vehicle = np.array([data.album.kinds[k] in ("airplane", "automobile", "ship", "truck") for k in range(10)])
        np.testing.assert_array_equal(data.y, vehicle[data.album.kind[data.picture]])
        green = data.album.context[data.picture] == CONTEXTS.index("green")
        follows = green == (data.y == 0)
        assert [int(follows[data.domain == e].sum()) for e in range(3)] == [72, 64, 4]
        found = [set(data.album.digest[data.picture[data.part == p]]) for p in ("train", "validation", "test")]
        assert sum(map(len, found)) == len(set().union(*found)) == len(data.picture)
    assert not np.array_equal(draws[0].picture, draws[1].picture)


def test_pixels_are_the_pictures(folder):
    data = photos(folder=folder, **SMALL)
    pixels = data.album.pixels(data.picture[:3], 32)
    for row, image in enumerate(pixels):
        assert hashlib.sha256(image.tobytes()).hexdigest() == data.album.digest[data.picture[row]]
    assert data.album.pixels(data.picture[:3], 128).shape == (3, 128, 128, 3)


def test_setting_13_spares_the_test_domain(folder):
    data = photos(13, folder=folder, **SMALL, keep=0.3)
    bad = np.isin(data.album.kind[data.picture], [2, 3, 4]) & (data.domain == 0)
    assert 0 < bad.sum() < 20
    assert not data.flipped[data.part == "test"].any()
    assert data.flipped.any()


def test_the_gallery_has_a_strip_of_pictures_for_every_kind_and_context(folder):
    album = photo_album(folder, per_cell=30)
    figure = draw_contexts(album, each=2)
    assert [axis.get_title() for axis in figure.axes] == list(CONTEXTS)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert (labels[0], labels[-1]) == ("bird (animal)  30", "truck (vehicle)  30")
    sheet = figure.axes[1].images[0].get_array()
    assert sheet.shape == (10 * 52, 2 * 52, 3)
    red, green, blue = sheet[:3, :48].mean((0, 1))
    assert green > max(red, blue)
