"""A progress bar that shows itself only where there is something to wait for."""

import sys
import time
from types import TracebackType
from typing import Literal, Self

PATIENCE = 2.0  # seconds after which a person wants to know how long it will take

Show = Literal["auto"] | bool


class Bar:
    """Counts steps; on a terminal (or with `show=True`) a bar appears after two seconds, or after `patience`.

    With a `unit` it says how many of these are done in a second; those `done` before do not count for that.
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
        """Some more steps are done."""
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
        # A terminal is left clean; a log keeps the last state.
        bar = Progress(*columns, console=console, transient=console.is_terminal)
        self.task = bar.add_task(self.label, total=self.total, completed=self.done, rate="")
        bar.start()
        self.bar = bar

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()  # type: ignore[attr-defined]
