"""Sources that break off, lie or send something else: the next one is tried, and nothing half is kept."""

import functools
import gzip
import hashlib
import http.server
import io
import tarfile
import threading
import zlib
from dataclasses import replace

import pytest

from rpo.exceptions import InputError
from rpo_lab.data import cifar, mnist
from rpo_lab.data.fetching import at_most

WHOLE = {name: name.encode() * 50 for name in mnist.SET.files}


class Server(http.server.ThreadingHTTPServer):
    """Answers as `answer(handler, packed content)` says."""

    def __init__(self, answer):
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, answer))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, answer, *rest):
        self.answer = answer
        super().__init__(*rest)

    def do_GET(self):
        name = self.path.strip("/").removesuffix(".gz")
        self.answer(self, gzip.compress(WHOLE.get(name, b"")))

    def log_message(self, *_):
        pass


def send(handler, content, *, status=200, length=None):
    handler.send_response(status)
    if length != "none":
        handler.send_header("Content-Length", str(len(content) if length is None else length))
    handler.end_headers()
    handler.wfile.write(content)


BAD = {
    "cut short": lambda handler, data: send(handler, data[:-20], length=len(data)),
    "without a length, cut short": lambda handler, data: send(handler, data[:-20], length="none"),
    "a bad stream": lambda handler, data: send(handler, data[:12] + bytes(255 - b for b in data[12:])),
    "not packed": lambda handler, data: send(handler, b"<html>sign in</html>"),
    "not found": lambda handler, data: send(handler, b"", status=404),
    "an odd status": lambda handler, data: send(handler, data, status=203),
    "an error of the server": lambda handler, data: send(handler, data, status=503),
    "something else": lambda handler, data: send(handler, gzip.compress(b"something else")),
    "too much": lambda handler, data: send(handler, gzip.compress(b"0" * 5_000_000)),
    "no HTTP at all": lambda handler, data: handler.wfile.write(b"hello"),
    "nothing": lambda handler, data: None,
}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Four short files in place of MNIST, a cache of its own, no npm."""
    monkeypatch.setenv("RPO_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(
        mnist, "SET", replace(mnist.SET, files={name: hashlib.sha256(data).hexdigest() for name, data in WHOLE.items()})
    )
    monkeypatch.setattr(mnist, "MOST_BYTES", 1_000_000)
    return tmp_path / "cache" / "mnist"


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
def test_after_a_bad_mirror_the_next_one_is_tried(small, monkeypatch, answer):
    with Server(answer) as bad, Server(send) as good:
        monkeypatch.setattr(mnist, "MIRRORS", (bad.address, good.address))
        said = []
        assert mnist.fetch_mnist(said.append) == small
        assert [line.rpartition(" ")[2] for line in said] == [bad.address, good.address]
    assert {path.name: path.read_bytes() for path in small.iterdir()} == WHOLE


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
def test_where_every_mirror_is_bad_it_is_one_line_and_nothing_is_kept(small, monkeypatch, answer):
    with Server(answer) as bad:
        monkeypatch.setattr(mnist, "MIRRORS", (bad.address,))
        with pytest.raises(InputError, match="MNIST could not be downloaded") as caught:
            mnist.fetch_mnist()
    assert "\n" not in str(caught.value)
    assert not small.exists() or not list(small.iterdir())


def tar(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            if content is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


PICTURES = {name: name.encode() * 9 for name in cifar.SET.files}


def odd_archive(**changes):
    return tar({**PICTURES, **{f"{name}.bin": content for name, content in changes.items()}})


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.setenv("RPO_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(
        cifar,
        "SET",
        replace(cifar.SET, files={name: hashlib.sha256(data).hexdigest() for name, data in PICTURES.items()}),
    )
    return tmp_path / "cache" / "cifar10"


@pytest.mark.parametrize(
    "content, length",
    [
        pytest.param(odd_archive(test_batch=None), None, id="a folder for a file"),
        pytest.param(odd_archive(test_batch=b"other"), None, id="another file"),
        pytest.param(tar({"readme": b""}), None, id="other files"),
        pytest.param(tar(PICTURES)[:-30], "none", id="cut short without a length"),
        pytest.param(zlib.compress(b"x" * 999), None, id="no archive"),
        pytest.param(b"", None, id="empty"),
    ],
)
def test_an_archive_of_odd_shape_is_refused_and_fetched_anew(photos, monkeypatch, content, length):
    with Server(lambda handler, _: send(handler, content, length=length)) as bad:
        monkeypatch.setattr(cifar, "ADDRESS", f"{bad.address}cifar.tar.gz")
        with pytest.raises(InputError, match="CIFAR-10 could not be downloaded.*is damaged"):
            cifar.fetch_cifar()
    with Server(lambda handler, _: send(handler, tar(PICTURES), length="none")) as good:
        monkeypatch.setattr(cifar, "ADDRESS", f"{good.address}cifar.tar.gz")
        assert cifar.fetch_cifar() == photos
    assert {path.name: path.read_bytes() for path in photos.iterdir() if path.suffix == ".bin"} == PICTURES


def test_a_part_that_does_not_fit_is_begun_anew_and_other_files_are_left_alone(photos, monkeypatch, tmp_path):
    photos.mkdir(parents=True)
    (photos / "mine.tar.gz").write_bytes(b"years of work")
    (photos / "cifar.tar.gz.part").write_bytes(b"x" * 99)

    def answer(handler, _):
        asked = handler.headers.get("Range")
        send(handler, tar(PICTURES), status=416 if asked else 200)

    with Server(answer) as server:
        monkeypatch.setattr(cifar, "ADDRESS", f"{server.address}cifar.tar.gz")
        with pytest.raises(InputError, match="does not match: try again"):
            cifar.fetch_cifar()
        cifar.fetch_cifar()
        # A link under the name of the part is not followed.
        (photos / "test_batch.bin").unlink()
        (tmp_path / "victim").write_bytes(b"years of work")
        (photos / "cifar.tar.gz.part").symlink_to(tmp_path / "victim")
        with pytest.raises(InputError):
            cifar.fetch_cifar()
    assert (photos / "mine.tar.gz").read_bytes() == (tmp_path / "victim").read_bytes() == b"years of work"


def test_a_stream_without_end_is_cut():
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return b"0" * size

    with pytest.raises(OSError, match="more than the expected 3,000,000 bytes"):
        at_most(Endless(), 3_000_000)
