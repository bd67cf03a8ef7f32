"""A pass over the parts of a dataset: each gives arrays, which add up in the order of the parts, whoever made them.

What a finished part gave may be kept in a folder: the same command then goes on where it was stopped or killed.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rpo._io import Bar, Show, remove_temporaries, write_whole
from rpo._table.dataset import Dataset, Part, UnreadableError
from rpo.exceptions import InputError

Given = dict[str, NDArray[Any]]
Work = Callable[[Part], Given]
Spread = Callable[[Work, Sequence[Part]], Iterator[tuple[int, Given]]]
Whole = TypeVar("Whole")
BAD, WRONG = "cannot be read", "wrong"  # names of what a part gives whose file is bad, or whose rows are


def one_by_one(work: Work, parts: Sequence[Part]) -> Iterator[tuple[int, Given]]:
    """In this process."""
    return ((place, work(part)) for place, part in enumerate(parts))


@dataclass(frozen=True)
class Guarded:
    """Work whose errors of input are told by what it gives: raised, they would take the other parts with them."""

    work: Work

    def __call__(self, part: Part) -> Given:
        """What the work gives, or why it cannot."""
        try:
            return self.work(part)
        except UnreadableError as error:
            return {BAD: np.array(str(error))}
        except InputError as error:
            return {WRONG: np.array(str(error))}


@dataclass(frozen=True)
class Kept:
    """A folder for what finished parts gave; `digest` says of which dataset, options and version."""

    folder: Path
    digest: str

    def place(self, name: str, part: Part) -> Path:
        """The file of a part."""
        return self.folder / f"{name}-{self.digest[:16]}" / f"{part.name}.npz"

    def read(self, name: str, part: Part) -> Given | None:
        """What a part gave, if it is there and whole."""
        path = self.place(name, part)
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as found:
                return {key: found[key] for key in found.files}
        except FileNotFoundError:
            return None
        except Exception:  # damaged: it is made again
            path.unlink(missing_ok=True)
            return None

    def write(self, name: str, part: Part, given: Given) -> None:
        """Keep it, whole or not at all."""
        buffer = io.BytesIO()
        np.savez(buffer, **given)  # type: ignore[arg-type]
        write_whole(self.place(name, part), buffer.getvalue())


def passed(
    name: str,
    work: Work,
    dataset: Dataset,
    start: Whole,
    add: Callable[[Whole, Given, Part], Whole],
    *,
    spread: Spread = one_by_one,
    kept: Kept | None = None,
    skip_bad: bool = False,
    progress: Show = "auto",
) -> tuple[Whole, list[str]]:
    """What all parts gave, added up in their order; and files that turned out bad, if these may be skipped."""
    parts, bad, whole, guarded = dataset.parts, list[str](), start, Guarded(work)
    waiting = dict[int, Given]()  # what came before its turn; what is kept waits in its file
    if kept is not None:
        remove_temporaries(kept.place(name, parts[0]).parent)
    there = {place for place, part in enumerate(parts) if kept is not None and kept.place(name, part).exists()}
    left = [place for place in range(len(parts)) if place not in there]

    def taken(place: int, given: Given) -> None:
        if WRONG in given:
            raise InputError(str(given[WRONG].item()))
        if BAD in given:
            if not skip_bad:
                raise InputError(f"{given[BAD].item()}: repair or remove it, or skip it with --skip-bad")
            bad.append(parts[place].file)
            waiting[place] = {}
        elif kept is not None:
            kept.write(name, parts[place], given)
            there.add(place)
        else:
            waiting[place] = given

    already = sum(parts[place].rows for place in there)
    with Bar(dataset.rows, name, progress, patience=0.5, unit="rows", done=already) as bar:
        results = spread(guarded, [parts[place] for place in left]) if left else iter(())
        for turn, part in enumerate(parts):
            while turn not in waiting and turn not in there:
                number, given = next(results)
                taken(left[number], given)
                bar.advance(parts[left[number]].rows)
            if kept is not None and turn in there and (found := kept.read(name, part)) is not None:
                waiting[turn] = found
            elif turn not in waiting:  # its file was damaged
                taken(turn, guarded(part))
                waiting.setdefault(turn, {} if kept is None else kept.read(name, part) or {})
            whole = add(whole, waiting.pop(turn), part)
    return whole, bad
