"""A sample of a dataset, drawn by domain: first the rows of every domain are counted, then some of each are taken.

A row is taken if its key, made of what it says, is below the share that its domain gives. So the sample does not depend
on how the rows are cut into files, nor on their order, and copies of a row come together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._table.batches import keys, labelled, places
from rpo._table.dataset import Dataset, Part, decoded
from rpo._table.passes import Given
from rpo._table.reading import frame_of
from rpo._table.table import MOST_DOMAINS, WITHOUT_DOMAIN
from rpo.exceptions import InputError

SAMPLE_ROWS = 200_000


@dataclass(frozen=True, eq=False)
class Counting:
    """Rows of each domain that have a target."""

    dataset: Dataset
    target: str | None
    """None counts all rows."""
    domain: str | None

    def __call__(self, part: Part) -> Given:
        """Of one part: the names of domains, their rows, and how many rows lack target or domain."""
        count: dict[str, int] = {}
        lacking = np.zeros(2, dtype=np.int64)
        names = [name for name in (self.target, self.domain) if name is not None]
        for batch in self.dataset.batches(part, list(dict.fromkeys(names)) or self.dataset.columns[:1]):
            known = np.ones(batch.num_rows, dtype=bool) if self.target is None else _known(batch.column(self.target))
            lacking[0] += int((~known).sum())
            if self.domain is None:
                count[WITHOUT_DOMAIN] = count.get(WITHOUT_DOMAIN, 0) + int(known.sum())
                continue
            code, texts = labelled(batch.column(self.domain))
            code = code[known]
            lacking[1] += int((code < 0).sum())
            rows = np.bincount(code[code >= 0], minlength=len(texts))
            for name, number in zip(texts, rows.tolist(), strict=True):
                if number:
                    count[name] = count.get(name, 0) + number
            if len(count) > MOST_DOMAINS:
                break  # enough to refuse
        return {
            "domain": np.array(list(count), dtype=str),
            "rows": np.array(list(count.values()), dtype=np.int64),
            "lacking": lacking,
        }


def counted(whole: dict[str, int], given: Given, part: Part) -> dict[str, int]:  # noqa: ARG001 (as of any pass)
    """Counts of two parts together; under the empty name are rows without a target."""
    if not given:
        return whole
    lacking = given["lacking"].tolist()
    whole[""] = whole.get("", 0) + lacking[0]
    whole["\0"] = whole.get("\0", 0) + lacking[1]
    for name, number in zip(given["domain"].tolist(), given["rows"].tolist(), strict=True):
        whole[name] = whole.get(name, 0) + number
    return whole


def check_counts(count: dict[str, int], target: str, domain: str | None) -> tuple[dict[str, int], int]:
    """The rows of every domain, and how many lack a target; what cannot be judged is refused."""
    without, nameless = count.pop("", 0), count.pop("\0", 0)
    if nameless:
        raise InputError(f"the domain {domain!r} is missing in {nameless:,} rows: fill them in")
    if not count:
        raise InputError(f"the target {target!r} has no values: choose another column")
    if len(count) > MOST_DOMAINS:
        raise InputError(f"the domain {domain!r} has more than {MOST_DOMAINS:,} values: group them into fewer")
    return dict(sorted(count.items())), without


def shares(rows: Sequence[int], most: int) -> NDArray[np.float64]:
    """Of each domain the share to draw, so that all together give about `most` rows, as even as they allow.

    >>> shares([100, 1_000, 10_000], 1_100).round(2).tolist()
    [1.0, 0.5, 0.05]
    """
    count = np.sort(np.asarray(rows, dtype=np.float64))
    level = (most - (np.cumsum(count) - count)) / np.arange(len(count), 0, -1)
    full = count >= level
    quota = float(level[np.argmax(full)]) if full.any() else np.inf
    return np.minimum(1.0, quota / np.asarray(rows, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Drawing:
    """The rows to learn from."""

    dataset: Dataset
    target: str
    domain: str | None
    share: Mapping[str, float]
    columns: tuple[str, ...]
    seed: int

    def __call__(self, part: Part) -> Given:
        """Of one part: the rows drawn (as Arrow writes tables), their keys, and gaps of every column."""
        import pyarrow as pa

        names, share = list(self.share), np.array([*self.share.values(), 0.0, 0.0])
        place = {name: k for k, name in enumerate(names)}
        limit = np.where(share >= 1, np.inf, share * 2.0**64)
        gaps, drawn, kept = np.zeros(len(self.columns), dtype=np.int64), [], []
        for batch in self.dataset.batches(part, self.columns):
            key = keys(batch, self.seed)
            code = self._domains(batch, place)
            chosen = np.flatnonzero(key < limit[code])
            gaps += [column.null_count for column in batch.columns]
            if batch.column(self.target).null_count:
                chosen = chosen[_known(batch.column(self.target))[chosen]]
            if len(chosen):
                drawn.append(batch.take(pa.array(chosen)))
                kept.append(key[chosen])
        table = pa.Table.from_batches([decoded(one) for one in drawn]) if drawn else None
        return {
            "gaps": gaps,
            "key": np.concatenate(kept) if kept else np.zeros(0, np.uint64),
            **({} if table is None else {"table": packed(table)}),
        }

    def _domains(self, batch: Any, place: Mapping[str, int]) -> NDArray[np.intp]:
        if self.domain is None:
            return np.zeros(batch.num_rows, dtype=np.intp)
        return places(batch.column(self.domain), place)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The sample so far: tables of Arrow, keys, and gaps of every column over all rows."""

    tables: tuple[Any, ...] = ()
    key: tuple[NDArray[np.uint64], ...] = ()
    gaps: NDArray[np.int64] | None = None

    def frame(self) -> pd.DataFrame:
        """The sample as a data frame, in the order of its keys: that of the files does not matter."""
        import pyarrow as pa

        order = np.argsort(np.concatenate(self.key), kind="stable")
        whole = pa.concat_tables(self.tables, promote_options="permissive")
        return frame_of(whole.take(pa.array(order)))


def drawn(whole: Drawn, given: Given, part: Part) -> Drawn:  # noqa: ARG001 (as of any pass)
    """Samples of two parts together."""
    if not given:
        return whole
    gaps = given["gaps"] if whole.gaps is None else whole.gaps + given["gaps"]
    if "table" not in given:
        return Drawn(whole.tables, whole.key, gaps)
    return Drawn((*whole.tables, unpacked(given["table"])), (*whole.key, given["key"]), gaps)


def packed(table: Any) -> NDArray[np.uint8]:
    """A table of Arrow as bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def unpacked(content: NDArray[np.uint8]) -> Any:
    """The inverse."""
    import pyarrow as pa

    return pa.ipc.open_stream(pa.py_buffer(content.tobytes())).read_all()


def _known(column: Any) -> NDArray[np.bool_]:
    """Where a column has a value; of numbers, one that is a number."""
    import pyarrow as pa

    if column.null_count == 0 and not pa.types.is_floating(column.type):
        return np.ones(len(column), dtype=bool)
    return ~np.asarray(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
