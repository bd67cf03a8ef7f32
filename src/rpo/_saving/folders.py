"""Folders of files that RPO wrote, such as a saved model: replaced as a whole, and read only if complete.

`manifest.json` names every file with its size and SHA-256. A folder with any other file in it, or with one that was
changed since, is somebody's work: it is never replaced, and what was changed is never read.
"""

import ctypes
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from rpo._io import read_regular, words_of
from rpo.exceptions import InputError

MANIFEST = "manifest.json"
MANIFEST_BYTES = 1 << 16
FORMAT = 1
# The new folder waits here, and where folders cannot be exchanged the old one too: beside the place of both.
NEW, OLD = "new", "old"
HERE, SWAP = -100, ctypes.c_uint(2)  # AT_FDCWD; RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS
STALE = 60.0  # seconds after which a folder that nobody holds was left by a killed process


def write_folder(path: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write a folder of files, or replace one that is ours: at any moment the old or the new one is there.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_folder(f"{place}/model", {"a.txt": b"first"})
    ...     write_folder(f"{place}/model", {"a.txt": b"second", "b.txt": b""})
    ...     read_folder(f"{place}/model", {"a.txt": 10})
    {'a.txt': b'second'}
    """
    target = Path(path)
    _finish(target)
    check_place(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix=_prefix(target)))
        lock = _lock(scratch)
        try:
            new = scratch / NEW
            new.mkdir()
            for name, content in {**files, MANIFEST: make_manifest(files)}.items():
                _write(new / name, content)
            _sync(new)
            _put(new, target)
            _sync(target.parent)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            if lock is not None:
                os.close(lock)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from None


def read_folder(path: str | os.PathLike[str], limits: Mapping[str, int], *, made_by: str = "save") -> dict[str, bytes]:
    """Read files of a folder, none larger than its limit, once all fit the manifest.

    >>> read_folder("nowhere", {})
    Traceback (most recent call last):
    rpo.exceptions.InputError: nowhere is not a folder: pass one written by `save`
    """
    folder = Path(path)
    _finish(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: pass one written by `{made_by}`")
    if not os.path.lexists(folder / MANIFEST) and any(os.path.lexists(folder / name) for name in limits):
        raise InputError(
            f"{folder} has no {MANIFEST}, so its files cannot be checked: "
            "load it with the version that wrote it and save it with this one, or fit it again"
        )
    if not os.path.lexists(folder / MANIFEST):
        raise InputError(f"{folder} has no {MANIFEST}: pass a folder written by `{made_by}`")
    known = _read_manifest(folder)
    files = {}
    for name, most in limits.items():
        if name not in known or not os.path.lexists(folder / name):
            raise InputError(f"{folder} has no {name}: pass a folder written by `{made_by}`")
        files[name] = read_regular(folder / name, most)
        if _describe(files[name]) != known[name]:
            raise InputError(
                f"{folder / name} was changed after it was written (its checksum differs): save the model again"
            )
    return files


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a place that cannot be written to, or that holds anything but what we wrote: before the work, not after.

    >>> check_place("new-model")
    """
    target = Path(path)
    if (reason := find_foreign(target)) is not None:
        raise InputError(f"{target} {reason}: choose another path")
    nearest = next(parent for parent in target.absolute().parents if parent.exists())
    try:
        os.rmdir(tempfile.mkdtemp(dir=nearest, prefix=_prefix(target)))
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from None


def find_foreign(target: Path) -> str | None:
    """Return why a folder must not be replaced: the first thing there that we did not write; None if there is nothing.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = Path(place, "thesis.txt").write_text("years of work")
    ...     find_foreign(Path(place)), find_foreign(Path(place, "model"))
    ('holds thesis.txt, which is not part of a saved model', None)
    """
    if not os.path.lexists(target):
        return None
    if target.is_symlink() or not target.is_dir():
        return "exists and is not a folder"
    there = sorted(entry.name for entry in target.iterdir())
    if not there:
        return None
    try:
        known = _read_manifest(target) if MANIFEST in there else {}
    except InputError:
        return f"holds a {MANIFEST} that is not of a saved model"
    for name in there:
        if name != MANIFEST and name not in known:
            return f"holds {name[:80]}, which is not part of a saved model"
    for name in known:
        if name in there and _describe_file(target / name, known[name]["bytes"]) != known[name]:
            return f"holds {name}, which was changed since it was saved"
    return None


def make_manifest(files: Mapping[str, bytes]) -> bytes:
    """Return the manifest of files: size and SHA-256 of each.

    >>> json.loads(make_manifest({"a": b"xyz"}))["files"]["a"]["bytes"]
    3
    """
    content = {"format": FORMAT, "files": {name: _describe(data) for name, data in sorted(files.items())}}
    return (json.dumps(content, indent=2) + "\n").encode()


def _read_manifest(folder: Path) -> dict[str, dict[str, int | str]]:
    """Read the entries of a manifest, once it is seen to be one."""
    place = folder / MANIFEST
    try:
        manifest = json.loads(read_regular(place, MANIFEST_BYTES))
        files = manifest["files"]
        if manifest["format"] != FORMAT:
            raise ValueError(f"unknown format {str(manifest['format'])[:20]}")
        for name, entry in files.items():
            if name in ("", ".", "..", MANIFEST) or "/" in name or "\0" in name:
                raise ValueError("a file name is not valid")
            if set(entry) != {"bytes", "sha256"} or type(entry["bytes"]) is not int:
                raise ValueError("an entry has no size or checksum")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{place} is not a manifest ({words_of(error, 80)}): save the model again") from None
    return dict(files)


def _describe(content: bytes) -> dict[str, int | str]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _describe_file(path: Path, size: int | str) -> dict[str, int | str] | None:
    """Return size and checksum of a regular file of that size; None of anything else."""
    try:
        there = path.lstat()
        if not stat.S_ISREG(there.st_mode) or there.st_size != size:
            return None
        with open(path, "rb") as file:
            return {"bytes": there.st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError:
        return None


def _write(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _put(new: Path, target: Path) -> None:
    """Replace the target by the new folder; the target is never absent, not even after a kill."""
    old = new.with_name(OLD)
    if not os.path.lexists(target) or not any(target.iterdir()):
        os.rename(new, target)
    elif _exchange(new, target):
        if (reason := find_foreign(new)) is not None:  # somebody put something there a moment ago
            _exchange(new, target)
            raise InputError(f"{target} {reason}: choose another path")
    else:  # a kill between the two is finished by whoever looks there next
        os.rename(target, old)
        try:
            os.rename(new, target)
        except OSError:
            os.rename(old, target)
            raise


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}.rpo-"


def _finish(target: Path) -> None:
    """Complete a replacement that was killed between two renames, with both folders beside the missing target."""
    if os.path.lexists(target) or not target.parent.is_dir():
        return
    for scratch in _find_scratches(target):
        if (scratch / OLD).is_dir():
            waiting = scratch / NEW
            if (waiting / MANIFEST).is_file() and find_foreign(waiting) is None:
                try:
                    os.rename(waiting, target)
                except OSError as error:
                    raise InputError(f"cannot finish saving {target} ({error.strerror}): rename {waiting}") from None
                shutil.rmtree(scratch, ignore_errors=True)
                return


def _sweep(target: Path) -> None:
    """Remove folders of killed processes beside the target that no process locks any more."""
    for scratch in _find_scratches(target):
        if time.time() - scratch.stat().st_mtime < STALE or not {e.name for e in scratch.iterdir()} <= {NEW, OLD}:
            continue
        if (lock := _lock(scratch)) is not None:
            shutil.rmtree(scratch, ignore_errors=True)
            os.close(lock)


def _find_scratches(target: Path) -> list[Path]:
    name = re.compile(re.escape(_prefix(target)) + r"\w{8}")
    there = target.parent.iterdir()
    return [entry for entry in there if name.fullmatch(entry.name) and not entry.is_symlink() and entry.is_dir()]


def _lock(folder: Path) -> int | None:
    """Lock a folder, which the system ends with this process; return None if somebody else has it."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        return None
    return number


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; return False if the system or the file system does not support it."""
    old, new = os.fsencode(first), os.fsencode(second)
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return bool(library.renamex_np(old, new, SWAP) == 0)
        return bool(library.renameat2(HERE, old, HERE, new, SWAP) == 0)
    except (OSError, AttributeError):
        return False
