"""One command in this process, watched: how it ended, what it said, how long it took and how much memory it needed.

A process for each of thousands of inputs would take days. So commands run here, with an alarm for what hangs and a
limit of memory for what would not stop; a process that dies of an input all the same is noticed by whoever started it.
"""

import contextlib
import io
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 60  # of CPU time; a command that takes longer hangs
WAITING = 600  # seconds by the clock, for what waits and computes nothing; the machine may be busy with other things
BEYOND = 1 << 30  # bytes that a command may need beyond what its input holds
ROOM = 4 << 30  # bytes of addresses after which the system refuses more
LONGEST = 700  # characters of an error, paths included
CLEAR = Path("/proc/self/clear_refs")


# The longest command so far in seconds of CPU time, the most memory in bytes, and how many commands succeeded.
worst: dict[str, float] = {"seconds": 0.0, "memory": 0, "code 0": 0}


class Hangs(BaseException):
    """Nobody but the harness may catch this; where a library turns it into its own error, time tells."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it printed, seconds, and bytes of memory at the highest."""

    code: int
    out: str
    err: str
    seconds: float
    memory: int

    def problems(self, own: int = 0) -> list[str]:
        """What must not be; `own` is what the input itself takes, in bytes."""
        found = []
        if self.code not in (0, 2):
            found.append(f"exit code {self.code}: {self.err[-3000:]}")
        if "Traceback (most recent" in self.out + self.err and self.code in (0, 2):
            found.append(f"a traceback with exit code {self.code}: {self.err[-3000:]}")
        if self.seconds > SECONDS:
            found.append(f"it took {self.seconds:.0f} s")
        if self.memory > BEYOND + own:
            found.append(f"it took {self.memory / 2**20:.0f} MB")
        lines = self.err.splitlines()
        if self.code == 2 and (len(lines) != 1 or not lines[0].startswith("rpo: ") or len(lines[0]) > LONGEST):
            found.append(f"an error that is not one line: {self.err[:1000]}")
        if self.code == 2 and "not enough memory" in self.err:
            found.append(f"out of memory: {self.err[:300]}")
        if self.code == 2 and self.out:
            found.append(f"results beside an error: {self.out[:200]}")
        if self.code == 0 and (odd := [line for line in lines if line and not line.startswith("note: ")]):
            found.append(f"words beside the notes: {odd[0][:600]}")
        if control := re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", self.out.replace("\r\n", "\n") + self.err):
            found.append(f"a control character {control[0]!r} reaches the terminal")
        return found


def command(words: list[Any], seconds: int = SECONDS) -> Ended:
    """Run `rpo …` here."""
    from rpo.cli import main

    sys.argv = ["rpo", *map(str, words)]
    return watched(main, seconds)


def watched(call: Callable[[], object], seconds: int = SECONDS) -> Ended:
    """Run anything as a command: what it raises beyond SystemExit counts as exit code 70."""
    out, err = io.StringIO(), io.StringIO()
    before = _peak_from_here()
    start, code = time.process_time(), 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _alarm(seconds):
            warnings.simplefilter("default")
            call()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        if code == 70 and (named := re.search(r"with the file (\S+)$", err.getvalue().strip())):
            err.write(Path(named[1]).read_text())  # the traceback, for whoever mends it
            os.unlink(named[1])
    except Hangs:
        return Ended(124, out.getvalue(), err.getvalue() + "hangs", seconds + 1, 0)
    except BaseException:
        code = 70
        err.write(traceback.format_exc())
    taken, memory = time.process_time() - start, max(0, _memory("VmHWM") - before)
    worst["seconds"], worst["memory"] = max(worst["seconds"], taken), max(worst["memory"], memory)
    worst["code 0"] += code == 0
    return Ended(code, out.getvalue(), err.getvalue(), taken, memory)


@contextlib.contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hangs

    before = [signal.signal(one, ring) for one in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAITING)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for one, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(one, handler)


def limit_memory() -> None:
    """From here on this process is refused more than it has and `ROOM` besides."""
    size = _memory("VmSize") + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _peak_from_here() -> int:
    """Forget the highest memory so far, where the system can; what is used now."""
    with contextlib.suppress(OSError):
        CLEAR.write_text("5")
    return _memory("VmRSS")


def _memory(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) << 10 if found else 0


@contextlib.contextmanager
def place() -> Iterator[Path]:
    """A folder for one case, in memory where there is such a file system."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None, prefix="fuzz-") as folder:
        yield Path(folder)
