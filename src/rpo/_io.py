"""Input and output shared by all layers: atomic files, locked folders, the console and its progress bar, p-values.

Also arithmetic in one thread: sums in another order differ in their last bits, and trees then split elsewhere.

And arithmetic in one thread: sums in another order differ in their last bits, and trees then split elsewhere.
"""

import errno
import fcntl
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from threadpoolctl import threadpool_limits

from rpo.exceptions import InputError

if TYPE_CHECKING:
    from rich.console import Console

# Choices of the command line, the estimators and the tables.
Grouping = Literal["auto", "search", "class", "none"]
Task = Literal["regression", "classification"]
AskedTask = Literal["auto", "regression", "classification"]
Show = Literal["auto"] | bool

TEMPORARY = re.compile(r"\.rpo-[0-9a-f]{16}\.partial")
PIPE_WIDTH = 160
PATIENCE = 2.0  # seconds before a bar appears


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file atomically: at any moment its name holds the old content or the new."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` once it is on disk; if that fails nothing is left.

    It is in the same folder, under a new random name. Neither it nor `path` is followed if it is a link.
    """
    temporary = path.with_name(f".rpo-{secrets.token_hex(8)}.partial")
    try:
        make_folder(path.parent)
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file: choose the path of a file")
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        try:
            yield temporary
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; the previous file is intact") from None


def remove_temporaries(folder: Path) -> None:
    """Remove our temporary files that a killed process left in a folder."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        if TEMPORARY.fullmatch(entry.name) and stat.S_ISREG(entry.lstat().st_mode):
            entry.unlink(missing_ok=True)


def read_regular(path: Path, most: int) -> bytes:
    """Read a regular file of at most `most` bytes; refuse links, FIFOs and devices.

    >>> read_regular(Path("/dev/null"), 10)
    Traceback (most recent call last):
    rpo.exceptions.InputError: /dev/null is not a regular file
    """
    try:
        # Neither follow a link nor wait for a writer of a FIFO.
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        link = error.errno == errno.ELOOP
        raise InputError(f"{path} {'is a link' if link else f'cannot be read ({error.strerror})'}") from None
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path} is not a regular file")
        if status.st_size > most:
            raise InputError(f"{path} has {status.st_size:,} bytes, more than {most:,}")
        with open(number, "rb", closefd=False) as file:
            return file.read(status.st_size)  # not `most`, which would be allocated at once
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    finally:
        os.close(number)


def check_not_input(out: Path | None, option: str, *inputs: Path) -> None:
    """Raise an error if the output is the input file.

    >>> check_not_input(Path("/tmp/../tmp"), "--out", Path("/tmp"))
    Traceback (most recent call last):
    rpo.exceptions.InputError: --out /tmp/../tmp is the input file: choose another path
    """
    for path in inputs:
        if out is not None and out.exists() and path.exists() and out.samefile(path):
            raise InputError(f"{option} {out} is the input file: choose another path")


def make_folder(folder: Path) -> None:
    """Create the folder; raise a one-line error if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the folder {folder}: {error.strerror}; choose another") from None


@contextmanager
def hold(folder: Path, option: str) -> Iterator[None]:
    """Lock a folder while the context lasts; another process gets an error that names the `option` to change."""
    make_folder(folder)
    place = folder / "lock"
    try:
        number = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        words = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise InputError(f"cannot write to {place}: {words}; choose another folder") from None
    try:
        regular = stat.S_ISREG(os.fstat(number).st_mode)
        holder = os.pread(number, 32, 0).decode(errors="replace").strip() if regular else ""
        try:
            # A record lock: the system releases it when the process ends, in any way, and no child inherits it.
            fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{folder} is in use by process {holder or 'unknown'}: "
                f"wait for it, or choose another folder with {option}"
            ) from None
        if not regular or not re.fullmatch("[0-9]*", holder):
            raise InputError(f"{place} was not written by RPO: choose another folder with {option}")
        try:
            os.ftruncate(number, 0)
            os.pwrite(number, str(os.getpid()).encode(), 0)
        except OSError as error:
            raise InputError(f"cannot write to {folder}: {error.strerror}; choose another folder") from None
        yield
    finally:
        os.close(number)


def console() -> "Console":
    """Return the console for results: as wide as the window; in a pipe, wide enough that no cell is cut."""
    from rich.console import Console

    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=PIPE_WIDTH)


def printable(text: str) -> str:
    """Put text on one line and escape its control characters, so that no file can steer the terminal.

    >>> printable("a\\nb \\x1b[2J")
    'a b \\\\x1b[2J'
    """
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def words_of(error: BaseException, most: int = 120) -> str:
    """Return the message of an error on one line of at most `most` characters; its type if there is none.

    >>> words_of(ValueError("a\\n\\x1b[2J")), words_of(KeyError())
    ('a \\\\x1b[2J', 'KeyError')
    """
    return printable(str(error))[:most] or type(error).__name__


def p_text(p: float) -> str:
    """Format a p-value with two digits; a tiny one by its bound.

    >>> p_text(0.0123), p_text(4e-12), p_text(1.0)
    ('0.012', '< 0.0001', '1')
    """
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def p_equals(p: float) -> str:
    """Format a p-value with its symbol: `p = 0.012`, or `p < 0.0001`.

    >>> p_equals(0.0123), p_equals(4e-12)
    ('p = 0.012', 'p < 0.0001')
    """
    return f"p = {p_text(p)}".replace("= <", "<")


def list_choices(names: Sequence[str]) -> str:
    """Join the names of which one can be chosen.

    >>> list_choices(["a", "b", "c"])
    'a, b or c'
    """
    return f"{', '.join(names[:-1])} or {names[-1]}"


def few(names: Sequence[str], most: int) -> str:
    """List the first names, and how many more there are.

    >>> few(["a", "b", "c"], 3), few(["a", "b", "c"], 2)
    ('a, b, c', 'a, b and 1 more')
    """
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


@contextmanager
def one_thread() -> Iterator[None]:
    """Run linear algebra and trees in the calling thread alone, while the context lasts.

    Trees count their threads per caller. Linear algebra has one setting for the process: of several Python threads, the
    first sets and restores it.

    >>> with one_thread():
    ...     pass
    """
    with threadpool_limits(1):
        yield


class Bar:
    """A progress bar; on a terminal (or with `show=True`) it appears after two seconds, or after `patience`.

    With a `unit` it shows the rate per second; those `done` before are not counted in the rate.
    """

    def __init__(
        self, total: int, label: str, show: Show = "auto", patience: float = PATIENCE, *, unit: str = "", done: int = 0
    ) -> None:
        self.total, self.label, self.done, self.patience, self.unit = total, label, done, patience, unit
        self.wanted = sys.stderr.isatty() if show == "auto" else bool(show)
        self.start, self.before = time.monotonic(), done
        self.bar: object = None

    def __enter__(self) -> Self:
        if self.wanted and self.total and self.patience == 0:
            self._open()
        return self

    def advance(self, steps: int = 1) -> None:
        """Count further steps as done."""
        self.done += steps
        if self.bar is None and self.wanted and time.monotonic() - self.start > self.patience:
            self._open()
        if self.bar is not None:
            rate = (self.done - self.before) / max(time.monotonic() - self.start, 1e-9)
            self.bar.update(  # type: ignore[attr-defined]
                self.task, completed=self.done, rate=f"{rate:,.0f} {self.unit}/s"
            )

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        rate = (TextColumn("{task.fields[rate]}"),) if self.unit else ()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *rate, TimeRemainingColumn())
        console = Console(stderr=True)
        # The bar disappears from a terminal; a log keeps its last state.
        bar = Progress(*columns, console=console, transient=console.is_terminal)
        self.task = bar.add_task(self.label, total=self.total, completed=self.done, rate="")
        bar.start()
        self.bar = bar

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()  # type: ignore[attr-defined]
