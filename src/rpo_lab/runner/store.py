"""Records of runs: specification, measurements or the reason of failure, time, versions.

On disk it is one file a run, named by the run's hash. To publish with results, it is one file a study: whoever has it
draws them again without training.
"""

import gzip
import hashlib
import io
import json
import math
import os
import platform
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """Round every float in a nest of lists and dictionaries to six significant digits.

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
    """Return what a result may depend on besides its specification.

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
            for folder in (self.folder, self.runs):
                remove_temporaries(folder)
            yield

    def read(self, run: Run) -> Record | None:
        """Read the record of a run, or return None if there is none that is whole."""
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

    def _path(self, run: Run) -> Path:
        return self.runs / f"{run.digest}.json"


KIND, FILE_FORMAT = "rpo records", 1
MOST_BYTES = 2**31  # once unpacked: a small file may claim to be any size


def write_file(path: Path, contents: Mapping[str, Any]) -> None:
    """Write anything that is JSON, by name, into a file of records, to publish with results.

    The file is compressed JSON, a line each: what it is; every record under its name, in the order of the names; the
    SHA-256 of all lines before. It is read without running code, and the same records give the same bytes.
    """
    head = {"kind": KIND, "format": FILE_FORMAT, "records": len(contents), "rpo": version("rpo")}
    lines = [canonical(head), *(canonical([name, contents[name]]) for name in sorted(contents))]
    text = b"".join(line + b"\n" for line in lines)
    end = canonical({"sha256": hashlib.sha256(text).hexdigest()}) + b"\n"
    # Without a time and a name inside, the same content is the same file.
    write_whole(path, gzip.compress(text + end, mtime=0))


def read_file(path: Path) -> tuple[dict[str, Any], str]:
    """Read a file of records: its content by name, and the version of rpo that wrote it; else raise one clear line."""
    try:
        with open(path, "rb") as file:
            packed = file.read()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as unpacked:
            text = unpacked.read(MOST_BYTES + 1)
        first, *lines = text.splitlines()
        head = json.loads(first)
        if not isinstance(head, dict) or head.get("kind") != KIND:
            raise InputError(f"{path} is not a records file (--records-out writes one)")
        if head["format"] != FILE_FORMAT:
            raise InputError(f"{path} has format {head['format']}, but this version of rpo reads format {FILE_FORMAT}")
        end = json.loads(lines.pop())
        body = text[: text.rindex(b"\n", 0, -1) + 1]
        if len(text) > MOST_BYTES or end["sha256"] != hashlib.sha256(body).hexdigest():
            raise ValueError("the checksum does not match")
        records = dict(json.loads(line) for line in lines)
        if len(records) != head["records"]:
            raise ValueError("records are missing")
        return records, str(head["rpo"])
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, EOFError, OSError, RecursionError, zlib.error):
        raise InputError(f"{path} is damaged, or not a records file: download it again") from None


def write_records(path: Path, runs: Iterable[Run], records: Mapping[str, Record]) -> None:
    """Write the records of the runs given into one file."""
    chosen = (records[run.digest] for run in runs)
    write_file(path, {record.run.digest: record.model_dump(mode="json") for record in chosen})


def read_records(path: Path, runs: Iterable[Run]) -> dict[str, Record]:
    """Read the records of all the runs, by hash; for a file that lacks some, raise an error that says how many.

    Of rows that were judged under other rules than today's, the file has what it has: results that were published stay
    readable when a rule changes. Their own `run` names the rules that they were made under.
    """
    lines, author = read_file(path)
    runs = list(runs)
    earlier = _under_earlier_rules(path, lines) if any(run.data.rules for run in runs) else {}
    place = {
        run.digest: run.digest if run.digest in lines else earlier.get(_whatever_rules(run), run.digest) for run in runs
    }
    missing = [run for run in runs if place[run.digest] not in lines]
    if missing:
        run = missing[0]
        raise InputError(
            f"{path} lacks {len(missing):,} of the {len(runs):,} requested runs (the first: {run.method} on "
            f"{run.data.name}, seed {run.seed}). It was written by rpo {author}, this is rpo {version('rpo')}: use the "
            "options it was written with, or omit --records to train the missing runs"
        )
    records = {digest: _record(path, lines[name]) for digest, name in place.items()}
    if wrong := [name for digest, name in place.items() if records[digest].run.digest != name]:
        raise InputError(f"{path} contains another run's record under the name {wrong[0]}: download it again")
    return records


def _record(path: Path, content: Any) -> Record:
    try:
        return Record.model_validate(content)
    except ValidationError:
        raise InputError(f"{path} contains records that this version of rpo cannot read") from None


def _under_earlier_rules(path: Path, found: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of runs on judged rows, by what they are whatever the rules."""
    records = {name: _record(path, content) for name, content in found.items()}
    return {_whatever_rules(record.run): name for name, record in records.items() if record.run.data.rules}


def _whatever_rules(run: Run) -> str:
    return run.model_copy(update={"data": run.data.model_copy(update={"rules": ""})}).digest
