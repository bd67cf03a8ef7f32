"""The data sets of the package: their origin, and checks of their files. Standard library only."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rpo._io import Task
from rpo.exceptions import InputError

FOLDER = Path(__file__).parent / "files"
PROVENANCE = "PROVENANCE.json"
Status = Literal["whole", "missing", "altered"]


@dataclass(frozen=True)
class Listing:
    """A line of `rpo data list`; `set` is "package" for what ships, else what `rpo data get` calls it."""

    name: str
    set: str
    present: bool
    task: Task
    rows: int
    domains: int | None
    licence: str
    source: str
    title: str


@dataclass(frozen=True)
class Entry:
    """One data set: its file, the checksum it must have, and where it comes from (see files/PROVENANCE.json)."""

    name: str
    title: str
    file: str
    sha256: str
    content_sha256: str
    task: Task
    rows: int
    domains: int
    columns: tuple[str, ...]
    package: str
    version: str
    member: str
    original_sha256: str
    changes: str
    licence: str
    terms: str
    reference: str

    @property
    def path(self) -> Path:
        """Path of the file."""
        return FOLDER / self.file

    @property
    def source(self) -> str:
        """Package that the file was taken from, with its version."""
        return f"{self.package} {self.version}"

    @property
    def listing(self) -> Listing:
        """Its line in `rpo data list`."""
        present, licence = self.path.is_file(), self.licence
        return Listing(
            self.name, "package", present, self.task, self.rows, self.domains, licence, self.source, self.title
        )


@cache
def _provenance() -> dict[str, dict[str, Any]]:
    saved: dict[str, dict[str, Any]] = json.loads((FOLDER / PROVENANCE).read_text(encoding="utf-8"))
    return saved


def entries(names: Sequence[str] = ()) -> list[Entry]:
    """Return the data sets of these names, or all of them.

    >>> [entry.name for entry in entries()]
    ['cigar', 'wage', 'radon']
    >>> entries(["radon"])[0].rows
    919
    """
    known = _provenance()
    for name in names:
        if name not in known:
            raise InputError(f"there is no data set {name!r}; choose from {', '.join(known)}")
    return [Entry(**{"name": name, **known[name], "columns": tuple(known[name]["columns"])}) for name in names or known]


def read(entry: Entry) -> bytes:
    """Read the file, and check its SHA-256.

    >>> len(read(entries(["radon"])[0])) > 1000
    True
    """
    try:
        data = entry.path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{entry.path} is missing: reinstall rpo") from None
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != entry.sha256:
        raise InputError(f"{entry.path} has changed: SHA-256 {sha256}, expected {entry.sha256}: reinstall rpo")
    return data


def check(entry: Entry) -> tuple[Status, str]:
    """Return whether the file is whole, missing or altered, and the error message (empty when whole).

    >>> check(entries(["cigar"])[0])
    ('whole', '')
    """
    try:
        read(entry)
    except InputError as error:
        return ("altered" if entry.path.exists() else "missing"), str(error)
    return "whole", ""
