"""A pass over the parts of a dataset: the arrays of all parts are added up in the order of the parts.

Results of finished parts may be kept in a folder: the same command then continues where it was stopped or killed.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rpo._io import Bar, Show, remove_temporaries, write_whole
from rpo._table.dataset import Dataset, Part, UnreadableError
from rpo.exceptions import InputError

Given = dict[str, Any]
"""Arrays by name, and perhaps a table of pyarrow under the name `TABLE`."""
Work = Callable[[Part], Given]
Spread = Callable[[Work, Sequence[Part]], Iterator[tuple[int, Given]]]
Whole = TypeVar("Whole")
TABLE = "table"
BAD, WRONG = "cannot be read", "wrong"  # names of what a part gives whose file is bad, or whose rows are


def one_by_one(work: Work, parts: Sequence[Part]) -> Iterator[tuple[int, Given]]:
    """Process all parts one after another in this process."""
    return ((place, work(part)) for place, part in enumerate(parts))


@dataclass(frozen=True)
class Running:
    """Options of a pass: workers, the folder of results, whether to skip bad files and to show progress."""

    spread: Spread = one_by_one
    checkpoint: Path | None = None
    skip_bad: bool = False
    progress: Show = "auto"


def run_part(work: Work, part: Part) -> Given:
    """Return the result of a part, or its error as a result: a raised error would stop the other parts, too."""
    try:
        return work(part)
    except UnreadableError as error:
        return {BAD: np.array(str(error))}
    except InputError as error:
        return {WRONG: np.array(str(error))}


@dataclass(frozen=True)
class PartFolder:
    """The results of finished parts in a folder, used like a dictionary; removed results stay in their file."""

    folder: Path

    def __contains__(self, name: str) -> bool:
        return (self.folder / f"{name}.npz").exists()

    def __setitem__(self, name: str, given: Given) -> None:
        import pyarrow as pa

        arrays = dict(given)
        if TABLE in given:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, given[TABLE].schema) as writer:
                writer.write_table(given[TABLE])
            arrays[TABLE] = np.frombuffer(sink.getvalue(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        write_whole(self.folder / f"{name}.npz", buffer.getvalue())

    def pop(self, name: str, default: Given | None = None) -> Given | None:
        """Return the result of a part, or the default if it is absent or its file is damaged."""
        import pyarrow as pa

        path = self.folder / f"{name}.npz"
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                result = dict(arrays)
            if TABLE in result:
                result[TABLE] = pa.ipc.open_stream(pa.py_buffer(result[TABLE].tobytes())).read_all()
            return result
        except Exception:  # damaged: it is made again
            path.unlink(missing_ok=True)
            return default


def passed(
    name: str,
    work: Work,
    dataset: Dataset,
    start: Whole,
    add: Callable[[Whole, Given], Whole],
    running: Running,
    digest: str | None = None,
) -> tuple[Whole, list[str]]:
    """Add up the results of all parts, in their order; return bad files, too, if these may be skipped.

    `digest` names dataset, options and version; without it nothing is kept.
    """
    whole, bad = start, dict[str, str]()
    store: dict[str, Given] | PartFolder = {}
    if running.checkpoint is not None and digest is not None:
        store = PartFolder(running.checkpoint / f"{name}-{digest[:16]}")
        remove_temporaries(store.folder)
    left = [part for part in dataset.parts if store.pop(part.name, None) is None]
    results = running.spread(partial(run_part, work), left) if left else iter(())
    done = dataset.rows - sum(part.rows for part in left)
    with Bar(dataset.rows, name, running.progress, patience=0.5, unit="rows", done=done) as bar:
        for part in dataset.parts:
            while part.name not in store and part.name not in bad:
                place, result = next(results)
                if WRONG in result:
                    raise InputError(str(result[WRONG].item()))
                if BAD in result and not running.skip_bad:
                    raise InputError(f"{result[BAD].item()}: repair or remove it, or skip it with --skip-bad")
                if BAD in result:
                    bad[left[place].name] = left[place].file
                else:
                    store[left[place].name] = result  # it may have come before its turn
                bar.advance(left[place].rows)
            if part.name not in bad:
                whole = add(whole, store.pop(part.name, {}) or work(part))
    return whole, list(bad.values())
