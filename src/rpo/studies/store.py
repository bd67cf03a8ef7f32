"""Records on disk, one file a run, named by the run's hash."""

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from rpo.exceptions import InputError
from rpo.io import hold, make_folder, remove_temporaries, write_whole
from rpo.studies.records import Record
from rpo.studies.specification import Run, canonical, sha256

WRITERS = 8
OURS = ("runs", "learners", "tables")  # what a study, and a comparison on a table, keep in its folder


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
                raise ValueError("the checksum does not fit")
            record = Record.model_validate(saved["record"])
            if record.run.digest != run.digest:
                raise ValueError("this is another run's record")
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
