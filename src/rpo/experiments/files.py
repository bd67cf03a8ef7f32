"""Writing files that are whole or not there."""

import os
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
