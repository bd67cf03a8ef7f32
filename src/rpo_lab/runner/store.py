"""What is kept of a run: its specification, what was measured or why it failed, the time, the versions.

On disk it is one file a run, named by the run's hash.
"""

import json
import math
import os
import platform
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from rpo._io import hold, make_folder, remove_temporaries, write_whole
from rpo.exceptions import InputError
from rpo_lab.runner.specification import Frozen, Run, canonical, sha256

DIGITS = 6  # significant digits kept: fewer than the eight or nine that do not depend on the stack
WRITERS = 8
OURS = ("runs", "learners", "tables")  # what a study, and a comparison on a table, keep in its folder


class Measured(Frozen):
    """Risks by domain: never averaged here, so that any rule can be applied later."""

    validation_risk: list[float]
    validation_irm: list[float]
    """(d/dw R_e(w f))² of each training domain, on its validation rows."""
    left_out_risk: list[float | None] | None = None
    """Risk on each training domain of the model trained without it; None where that training failed."""
    test: dict[str, dict[str, float]]
    """Metrics of each test domain."""

    @model_validator(mode="before")
    @classmethod
    def _round(cls, given: dict[str, Any]) -> dict[str, Any]:
        rounded: dict[str, Any] = rounded_values(given)
        return rounded

    @property
    def finite(self) -> bool:
        """Whether every number of the whole model is one."""
        numbers = [*self.validation_risk, *self.validation_irm]
        numbers += [value for metrics in self.test.values() for value in metrics.values()]
        return all(map(math.isfinite, numbers))


class Record(Frozen):
    """One run, done or failed."""

    run: Run
    status: Literal["done", "failed"]
    reason: str | None = None
    measured: Measured | None = None
    seconds: float = Field(ge=0)
    """CPU seconds of the stack, shared equally by its runs."""
    versions: dict[str, str]


def rounded_values(value: Any) -> Any:
    """Every float in a nest of lists and dictionaries, to six significant digits.

    >>> rounded_values({"a": [1.23456789, None, 2]})
    {'a': [1.23457, None, 2]}
    """
    if isinstance(value, dict):
        return {key: rounded_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded_values(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


@cache
def versions() -> dict[str, str]:
    """What a result may depend on besides its specification.

    >>> sorted(versions())
    ['numpy', 'python', 'rpo', 'torch']
    """
    return {name: version(name) for name in ("rpo", "torch", "numpy")} | {"python": platform.python_version()}


class Store:
    """A folder of records: `runs/<hash>.json`, written whole or not at all.

    One process writes at a time (`lock`). A file that is not what was written is set aside as `*.corrupt` and
    listed (`corrupt` before, `aside` after), and its run counts as not done.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.corrupt: list[Path] = []
        self.aside: list[Path] = []

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder; another process that asks for it meanwhile gets one clear line."""
        make_folder(self.runs)
        with hold(self.folder, "--out"):
            # Nobody else is writing here, so these are left from a process that was killed.
            for folder in (self.folder, *(self.folder / name for name in OURS)):
                remove_temporaries(folder)
            yield

    def read(self, run: Run) -> Record | None:
        """The record of a run, or None if there is none that is whole."""
        path = self._path(run)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from None
        try:
            saved = json.loads(content)
            if sha256(saved["record"]) != saved["sha256"]:
                raise ValueError("the checksum does not match")
            record = Record.model_validate(saved["record"])
            if record.run.digest != run.digest:
                raise ValueError("this is the record of another run")
        except (ValueError, KeyError, TypeError, ValidationError):
            self.corrupt.append(path)
            return None
        return record

    def set_aside(self) -> None:
        """Rename the corrupt files found so far, so that their runs can be done again."""
        for path in self.corrupt:
            aside = path.with_suffix(".json.corrupt")
            os.replace(path, aside)
            self.aside.append(aside)
        self.corrupt.clear()

    def write_all(self, records: Sequence[Record]) -> None:
        """Keep several records. Each waits for the disk, and a disk takes many at once."""
        with ThreadPoolExecutor(WRITERS) as writers:
            list(writers.map(self.write, records))

    def write(self, record: Record) -> None:
        """Keep a record."""
        content = record.model_dump(mode="json")
        write_whole(self._path(record.run), canonical({"record": content, "sha256": sha256(content)}))

    def remove(self, run: Run) -> None:
        """Forget a record, so that its run is done again."""
        self._path(run).unlink(missing_ok=True)

    def _path(self, run: Run) -> Path:
        return self.runs / f"{run.digest}.json"
