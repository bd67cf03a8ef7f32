"""Every row of a dataset beside what a sample taught: sums of residuals and columns, and the rows that stand out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._io import one_thread
from rpo._judging.all_rows import Remarkable
from rpo._judging.column_sums import ColumnRuler
from rpo._judging.frames import MOST_ROWS
from rpo._judging.ruler import Ruler
from rpo._judging.sums import Sums, added
from rpo._table.batches import check_finite, filled, frequent_places, numbers_of, places
from rpo._table.columns import Array, Column
from rpo._table.dataset import Dataset, Part, decoded
from rpo._table.passes import Given
from rpo._table.reading import frame_of
from rpo._table.sampling import packed, unpacked
from rpo.exceptions import InputError
from rpo.grouping import ColumnStrata, Strata

ARRAYS = ("y", "value", "size", "domain", "stratum", "row", "file")


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
    columns: tuple[Column, ...]
    values: list[Array]
    y: Array
    domain: NDArray[np.intp]
    lacking: int
    """Rows of a class that the sample lacks."""

    @cached_property
    def X(self) -> Array:
        """What models see of them."""
        return filled(self.values, self.columns)


def rows_of(batch: Any, roles: Roles) -> Rows | None:
    """The rows of a batch, or None if no row has a target."""
    y, lacking = target_of(batch, roles.target, roles.classes)
    place = np.flatnonzero(~np.isnan(y))
    if len(place) == 0:
        return None
    if len(place) < batch.num_rows:
        import pyarrow as pa

        batch, y = batch.take(pa.array(place)), y[place]
    values = []
    for column in roles.columns:
        values.append(numbers_of(batch.column(column.name), column))
        if column.kind != "category":
            check_finite(values[-1], column.name)
    domain = np.zeros(len(y), dtype=np.intp)
    if roles.domain is not None:
        domain = places(batch.column(roles.domain), {name: k for k, name in enumerate(roles.domains)})
    return Rows(batch, place, roles.columns, values, y, domain, lacking)


def target_of(batch: Any, name: str, classes: Sequence[str] | None) -> tuple[Array, int]:
    """Numbers, or places of classes; NaN where there is none, or none of these; and how many are none of these."""
    column = batch.column(name)
    if classes is not None:
        found = places(column, {one: k for k, one in enumerate(classes)})
        return np.where(found < 0, np.nan, found), int((found == -1).sum())
    y = numbers_of(column, Column(name=name, kind="number"))
    if not np.isfinite(y).all():
        gone = np.asarray(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
        if bad := int((~np.isfinite(y) & ~gone).sum()):
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
        """Sums, and the rows that stand out most."""
        sums, tops, before = Sums(), list[_Top](), part.offset
        with one_thread():
            for batch in self.dataset.batches(part, self.roles.read):
                rows = rows_of(batch, self.roles)
                if rows is not None:
                    self._add(rows, sums, tops, before, part)
                before += batch.num_rows
        top = best(tops)
        return {**sums, **({} if top is None else top.given())}

    def _add(self, rows: Rows, sums: Sums, tops: "list[_Top]", before: int, part: Part) -> None:
        frequent = [
            frequent_places(rows.batch.column(label.name), label) if fence is None else None
            for fence, label in zip(self.columns.fences, self.columns.labels, strict=True)
        ]
        added(sums, self.columns.measure(rows.values, frequent, rows.y, rows.domain))
        added(sums, {"lacking": np.array([float(rows.lacking)])})
        if self.ruler is None:
            return
        stratum = self._stratum(rows)
        found = self.ruler.measure(rows.X, rows.y, rows.domain, stratum)
        added(sums, found.sums)
        least = min((float(one.size.min()) for one in tops if len(one.size) >= MOST_ROWS), default=-1.0)
        some = np.flatnonzero(found.size > least)
        if len(some) == 0:
            return
        some = some[np.argsort(-found.size[some], kind="stable")[:MOST_ROWS]]
        import pyarrow as pa

        taken = rows.batch.take(pa.array(some)).select([column.name for column in self.roles.columns])
        tops.append(
            _Top(
                [taken],
                {
                    "y": rows.y[some],
                    "value": found.value[some],
                    "size": found.size[some],
                    "domain": rows.domain[some],
                    "stratum": stratum[some],
                    "row": before + rows.place[some] + 1,
                    "file": np.full(len(some), part.file),
                },
            )
        )
        if len(tops) > 8:
            tops[:] = [best(tops)]  # type: ignore[list-item]

    def _stratum(self, rows: Rows) -> NDArray[np.intp]:
        if self.by_class:
            return rows.y.astype(np.intp)
        if isinstance(self.strata, ColumnStrata):
            import pyarrow as pa

            named = rows.batch.select(list(self.roles.strata))
            return self.strata.place(frame_of(pa.Table.from_batches([named])))
        return np.zeros(len(rows.y), dtype=np.intp) if self.strata is None else self.strata.assign(rows.X)


@dataclass(frozen=True, eq=False)
class _Top:
    """Rows that stand out, and what is known of them."""

    tables: list[Any]
    arrays: dict[str, NDArray[Any]]

    @property
    def size(self) -> Array:
        return self.arrays["size"]

    def given(self) -> Given:
        import pyarrow as pa

        table = pa.concat_tables([pa.table(decoded(one)) for one in self.tables], promote_options="permissive")
        return {"top": packed(table), **{f"top_{name}": self.arrays[name] for name in ARRAYS}}


def best(tops: "Sequence[_Top]") -> "_Top | None":
    """The hundred that stand out most; of equals those that come first."""
    if not tops:
        return None
    import pyarrow as pa

    arrays = {name: np.concatenate([one.arrays[name] for one in tops]) for name in ARRAYS}
    order = np.argsort(-arrays["size"], kind="stable")[:MOST_ROWS]
    tables = [pa.table(decoded(one)) for top in tops for one in top.tables]
    table = pa.concat_tables(tables, promote_options="permissive").take(pa.array(order))
    return _Top([table], {name: array[order] for name, array in arrays.items()})


@dataclass(frozen=True, eq=False)
class Measures:
    """The sums of all parts so far, and the rows that stand out most."""

    sums: Sums
    top: _Top | None = None

    def remarkable(self) -> Remarkable:
        """The rows as a table."""
        assert self.top is not None
        some: pd.DataFrame = frame_of(self.top.tables[0])
        return Remarkable(some, **self.top.arrays)


def measured(whole: Measures, given: Given, part: Part) -> Measures:  # noqa: ARG001 (as of any pass)
    """Sums of two parts together."""
    if not given:
        return whole
    added(whole.sums, {name: value for name, value in given.items() if not name.startswith("top")})
    if "top" not in given:
        return whole
    new = _Top([unpacked(given["top"])], {name: given[f"top_{name}"] for name in ARRAYS})
    return Measures(whole.sums, best([one for one in (whole.top, new) if one is not None]))
