"""A study's records in one file, to publish with its results: whoever has it draws them again without training.

The file is compressed JSON, a line each: what it is; every record under its name, in the order of the names; the
SHA-256 of all lines before. It is read without running code, and the same records give the same bytes.
"""

import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rpo._io import write_whole
from rpo.exceptions import InputError
from rpo_lab.runner.specification import Run, canonical
from rpo_lab.runner.store import Record

KIND, FORMAT = "rpo records", 1
MOST_BYTES = 2**31  # once unpacked: a small file may claim to be any size


def write_file(path: Path, contents: Mapping[str, Any]) -> None:
    """Anything that is JSON, by name, into a file of records."""
    head = {"kind": KIND, "format": FORMAT, "records": len(contents), "rpo": version("rpo")}
    lines = [canonical(head), *(canonical([name, contents[name]]) for name in sorted(contents))]
    text = b"".join(line + b"\n" for line in lines)
    end = canonical({"sha256": hashlib.sha256(text).hexdigest()}) + b"\n"
    # Without a time and a name inside, the same content is the same file.
    write_whole(path, gzip.compress(text + end, mtime=0))


def read_file(path: Path) -> tuple[dict[str, Any], str]:
    """What a file of records holds, by name, and the version of rpo that wrote it; anything else is one clear line."""
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
        if head["format"] != FORMAT:
            raise InputError(f"{path} has format {head['format']}, but this version of rpo reads format {FORMAT}")
        end = json.loads(lines.pop())
        body = text[: text.rindex(b"\n", 0, -1) + 1]
        if len(text) > MOST_BYTES or end["sha256"] != hashlib.sha256(body).hexdigest():
            raise ValueError("the checksum does not match")
        found = dict(json.loads(line) for line in lines)
        if len(found) != head["records"]:
            raise ValueError("records are missing")
        return found, str(head["rpo"])
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, EOFError, OSError, RecursionError, zlib.error):
        raise InputError(f"{path} is damaged, or not a records file: download it again") from None


def write_records(path: Path, runs: Iterable[Run], records: Mapping[str, Record]) -> None:
    """The records of some runs, into one file."""
    chosen = (records[run.digest] for run in runs)
    write_file(path, {record.run.digest: record.model_dump(mode="json") for record in chosen})


def read_records(path: Path, runs: Iterable[Run]) -> dict[str, Record]:
    """The records of all the runs, by hash; a file that lacks some is an error that says how many.

    Of rows that were judged under other rules than today's, the file has what it has: results that were published stay
    readable when a rule changes. Their own `run` names the rules that they were made under.
    """
    found, author = read_file(path)
    runs = list(runs)
    earlier = _under_earlier_rules(path, found) if any(run.data.rules for run in runs) else {}
    place = {
        run.digest: run.digest if run.digest in found else earlier.get(_whatever_rules(run), run.digest) for run in runs
    }
    missing = [run for run in runs if place[run.digest] not in found]
    if missing:
        run = missing[0]
        raise InputError(
            f"{path} lacks {len(missing):,} of the {len(runs):,} requested runs (the first: {run.method} on "
            f"{run.data.name}, seed {run.seed}). It was written by rpo {author}, this is rpo {version('rpo')}: use the "
            "options it was written with, or omit --records to train the missing runs"
        )
    records = {digest: _record(path, found[name]) for digest, name in place.items()}
    if wrong := [name for digest, name in place.items() if records[digest].run.digest != name]:
        raise InputError(f"{path} contains another run's record under the name {wrong[0]}: download it again")
    return records


def _record(path: Path, content: Any) -> Record:
    try:
        return Record.model_validate(content)
    except ValidationError:
        raise InputError(f"{path} contains records that this version of rpo cannot read") from None


def _under_earlier_rules(path: Path, found: Mapping[str, Any]) -> dict[str, str]:
    """The names of runs on judged rows, by what they are whatever the rules."""
    records = {name: _record(path, content) for name, content in found.items()}
    return {_whatever_rules(record.run): name for name, record in records.items() if record.run.data.rules}


def _whatever_rules(run: Run) -> str:
    return run.model_copy(update={"data": run.data.model_copy(update={"rules": ""})}).digest
