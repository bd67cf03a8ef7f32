"""Writing files that are whole or not there, in folders that one process holds at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rpo.exceptions import InputError

TEMPORARY = ".partial"


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file so that at any moment its name holds the old content or the new, never half of it.

    Into a temporary file beside it, to the disk, then renamed; if that fails nothing is left.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f"{path.name}{TEMPORARY}")
    try:
        make_folder(path.parent)
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}; what was written before is whole") from None


def make_folder(folder: Path) -> None:
    """The folder, or one line about why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}; name another") from None


@contextmanager
def hold(folder: Path, option: str) -> Iterator[None]:
    """Hold a folder; another process that asks for it meanwhile gets one line, which names the `option` to change."""
    make_folder(folder)
    try:
        file = open(folder / "lock", "a+")  # noqa: SIM115 (the `with` is two lines below)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}; name another folder") from None
    with file:
        try:
            # A record lock: the system drops it with the process, however that ends, and no child inherits it.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise InputError(
                f"{folder} is in use by process {file.read().strip() or 'unknown'}: "
                f"wait for it, or give another folder with {option}"
            ) from None
        try:
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), str(os.getpid()).encode())
        except OSError as error:
            raise InputError(f"cannot write to {folder}: {error.strerror}; name another folder") from None
        yield
