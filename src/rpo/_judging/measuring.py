"""Every row of a dataset beside what a sample taught: sums of residuals and columns, and the rows that stand out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpo._io import one_thread
from rpo._judging.column_sums import ColumnRuler
from rpo._judging.frames import MOST_ROWS, beside, least_likely
from rpo._judging.ruler import Ruler
from rpo._judging.sums import Sums, added
from rpo._table.batches import check_finite, filled, known, numbers_of, places
from rpo._table.columns import Array, Column
from rpo._table.dataset import Dataset, Part
from rpo._table.passes import TABLE, Given
from rpo._table.reading import frame_of
from rpo.exceptions import InputError
from rpo.grouping import ColumnStrata, Strata

MOST_TABLES = 8  # of rows that stand out, before the best of all are chosen


@dataclass(frozen=True, eq=False)
class Roles:
    """What the columns of a dataset are, as a sample told it."""

    target: str
    domain: str | None
    columns: tuple[Column, ...]
    domains: tuple[str, ...]
    classes: tuple[str, ...] | None
    strata: tuple[str, ...] = ()

    @property
    def read(self) -> list[str]:
        """The columns to read, each once."""
        names = [column.name for column in self.columns]
        return list(dict.fromkeys([*names, self.target, *([self.domain] if self.domain else []), *self.strata]))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a batch that have a target: numbers of columns, features, target, domain."""

    batch: Any
    place: NDArray[np.intp]
    """Their places in the batch."""
    values: list[Array]
    X: Array
    """What models see of them."""
    y: Array
    domain: NDArray[np.intp]
    lacking: int
    """Rows of a class that the sample lacks."""


def rows_of(batch: Any, roles: Roles) -> Rows | None:
    """Return the rows of a batch as numbers, or None if no row has a target."""
    import pyarrow as pa

    y, lacking = target_of(batch, roles.target, roles.classes)
    place = np.flatnonzero(~np.isnan(y))
    if len(place) == 0:
        return None
    if len(place) < batch.num_rows:
        batch, y = batch.take(pa.array(place)), y[place]
    values = values_of(batch, roles.columns)
    domain = np.zeros(len(y), dtype=np.intp)
    if roles.domain is not None:
        domain = places(batch.column(roles.domain), {name: k for k, name in enumerate(roles.domains)})
    return Rows(batch, place, values, filled(values, roles.columns), y, domain, lacking)


def values_of(batch: Any, columns: Sequence[Column]) -> list[Array]:
    """Return columns of a batch as `typed` has them; one that it lacks is missing in every row."""
    values = []
    for column in columns:
        if column.name not in batch.schema.names:
            values.append(np.full(batch.num_rows, -1.0 if column.kind == "category" else np.nan))
            continue
        values.append(numbers_of(batch.column(column.name), column))
        if column.kind != "category":
            check_finite(values[-1], column.name)
    return values


def target_of(batch: Any, name: str, classes: Sequence[str] | None, other: float = np.nan) -> tuple[Array, int]:
    """Return numbers, or places of classes, with NaN for a gap; and how many rows have a class that is none of these.

    `other` stands for such a class.
    """
    column = batch.column(name)
    if classes is not None:
        place = places(column, {label: k for k, label in enumerate(classes)})
        return np.where(place < 0, np.where(place == -1, other, np.nan), place), int((place == -1).sum())
    y = numbers_of(column, Column(name=name, kind="number"))
    if not np.isfinite(y).all() and (bad := int((~np.isfinite(y) & known(column)).sum())):
        raise InputError(f"the target {name!r} is not a number in {bad:,} rows: correct them or leave them empty")
    return y, 0


@dataclass(frozen=True, eq=False)
class Measuring:
    """Sums of one part, by a sample's models."""

    dataset: Dataset
    roles: Roles
    ruler: Ruler | None
    columns: ColumnRuler
    strata: Strata | ColumnStrata | None
    by_class: bool = False

    def __call__(self, part: Part) -> Given:
        """Return sums, and a table of the rows that stand out most."""
        sums, tops, before = Sums(), list[Any](), part.offset
        with one_thread():
            for batch in self.dataset.batches(part, self.roles.read):
                rows = rows_of(batch, self.roles)
                if rows is not None:
                    self.add(rows, sums, tops, before, part.file)
                before += batch.num_rows
        return {**sums, **({TABLE: best(tops)} if tops else {})}

    def add(self, rows: Rows, sums: Sums, tops: list[Any], before: int, file: str) -> None:
        """Add rows to sums, and those that stand out most to tables of such."""
        frequent = [
            places(rows.batch.column(label.name), {name: k for k, name in enumerate(label.categories)})
            if fence is None
            else None
            for fence, label in zip(self.columns.fences, self.columns.labels, strict=True)
        ]
        added(sums, self.columns.measure(rows.values, frequent, rows.y, rows.domain))
        added(sums, {"lacking": np.array([float(rows.lacking)])})
        if self.ruler is None:
            return
        stratum = self._stratum(rows)
        new = self.ruler.measure(rows.X, rows.y, rows.domain, stratum)
        added(sums, new.sums)
        least = max((top["times"].to_numpy().min() for top in tops if len(top) == MOST_ROWS), default=-1.0)
        large = np.flatnonzero(new.size > least)
        first = large[least_likely(new.size[large])]
        told = {
            "file": np.full(len(first), file),
            "row": before + rows.place[first] + 1,
            "domain": rows.domain[first],
            "stratum": stratum[first],
            **beside(rows.y[first], new.value[first]),
            "times": new.size[first],
        }
        if len(first):
            tops.append(self._table(rows.batch, first, told))
        if len(tops) > MOST_TABLES:
            tops[:] = [best(tops)]

    def _table(self, batch: Any, first: NDArray[np.intp], told: dict[str, NDArray[Any]]) -> Any:
        """Return rows of a batch with what is known of them."""
        import pyarrow as pa

        names = [column.name for column in self.roles.columns]
        own = self.dataset.decoded([batch.select(names).take(pa.array(first))])
        return pa.table([*told.values(), *own.columns], [*told, *(f"column {name}" for name in names)])

    def _stratum(self, rows: Rows) -> NDArray[np.intp]:
        if self.by_class:
            return rows.y.astype(np.intp)
        if isinstance(self.strata, ColumnStrata):
            import pyarrow as pa

            named = rows.batch.select(list(self.roles.strata))
            return self.strata.place(frame_of(pa.Table.from_batches([named])))
        return np.zeros(len(rows.y), dtype=np.intp) if self.strata is None else self.strata.assign(rows.X)


def best(tops: Sequence[Any]) -> Any:
    """Return the hundred rows of some tables that stand out most; of equals those that come first."""
    import pyarrow as pa

    whole = pa.concat_tables(tops)
    return whole.take(pa.array(least_likely(whole["times"].to_numpy())))


def measured(whole: tuple[Sums, Any], given: Given) -> tuple[Sums, Any]:
    """Add the sums of a part, and choose among its rows."""
    sums, top = whole
    added(sums, {name: value for name, value in given.items() if name != TABLE})
    return sums, best([given[TABLE]] if top is None else [top, given[TABLE]]) if TABLE in given else top
