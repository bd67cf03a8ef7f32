"""What several layers share: files written whole, folders that one process holds, the console, lists of names."""

import fcntl
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rpo.exceptions import InputError

if TYPE_CHECKING:
    from rich.console import Console

TEMPORARY = ".partial"
PIPE_WIDTH = 160


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` to write into, which takes its name once the block is done; if that fails nothing is left.

    At any moment the name holds the old content or the new, never half of it, whoever else writes the same file.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}{TEMPORARY}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file whole or not at all, in a folder that is made if it is not there."""
    make_folder(path.parent)
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
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


def console() -> "Console":
    """Where results are printed: as wide as the window; in a pipe there is none to fit, and no cell is cut."""
    from rich.console import Console

    found = Console()
    return found if found.is_terminal else Console(width=PIPE_WIDTH)


def few(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are.

    >>> few(["a", "b", "c"], 3), few(["a", "b", "c"], 2)
    ('a, b, c', 'a, b and 1 more')
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
