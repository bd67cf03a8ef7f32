"""Arrays in files: what is given on disk stays there, and trains to the same model."""

import os
import tempfile

import numpy as np
import pytest

import rpo
from rpo._mapped import blocks, is_mapped, on_disk
from rpo.exceptions import InputError


def test_blocks_cover_every_row_once():
    rows = np.arange(200_000)
    assert np.array_equal(np.concatenate([rows[some] for some in blocks(200_000)]), rows)
    assert list(blocks(0)) == []


def test_a_mapped_array_gives_the_same_model_and_stays_on_disk(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, domains = rng.normal(size=(1500, 3)), np.arange(1500) % 3
    np.save(tmp_path / "x.npy", X)
    mapped, made = np.load(tmp_path / "x.npy", mmap_mode="r"), []
    monkeypatch.setattr("rpo._networks.base.on_disk", lambda *shape: made.append(on_disk(*shape)) or made[-1])
    models = [rpo.RPORegressor(steps=20).fit(given, X[:, 0], domains=domains) for given in (X, mapped)]
    assert [len(array) for array in made] == [1500]
    assert np.array_equal(models[0].predict(X), models[1].predict(X))


def test_no_room_on_the_disk_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    space = os.statvfs(tmp_path)
    with pytest.raises(InputError, match="set TMPDIR to another folder"):
        on_disk((space.f_bavail * space.f_frsize + 2**40,), np.uint8)
    assert list(tmp_path.iterdir()) == []


def test_a_part_of_a_mapped_array_is_mapped():
    array = on_disk((4, 2), np.float32)
    assert is_mapped(array[1:].T)
    assert is_mapped(np.asarray(array))
    assert not is_mapped(array + 1)
