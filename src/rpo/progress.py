"""A progress bar that shows itself only where there is something to wait for."""

import sys
import time
from types import TracebackType
from typing import Literal, Self

PATIENCE = 2.0  # seconds after which a person wants to know how long it will take

Show = Literal["auto"] | bool


class Bar:
    """Counts steps; on a terminal (or with `show=True`) a bar appears after two seconds, or after `patience`."""

    def __init__(self, total: int, label: str, show: Show = "auto", patience: float = PATIENCE) -> None:
        self.total, self.label, self.done, self.patience = total, label, 0, patience
        self.wanted = sys.stderr.isatty() if show == "auto" else bool(show)
        self.start = time.monotonic()
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
            self.bar.update(self.task, completed=self.done)  # type: ignore[attr-defined]

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        # A terminal is left clean; a log keeps the last state.
        bar = Progress(*columns, console=console, transient=console.is_terminal)
        self.task = bar.add_task(self.label, total=self.total, completed=self.done)
        bar.start()
        self.bar = bar

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()  # type: ignore[attr-defined]
