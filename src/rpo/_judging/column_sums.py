"""Columns over all rows: what is missing and what is shifted, by fences and categories that a sample gave."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._judging.columns import Columns
from rpo._judging.columns.comparisons import shift_error
from rpo._judging.columns.judge import means_by_domain, shares_by_domain
from rpo._judging.columns.profiles import Labels, Numbers, Rows, differences
from rpo._judging.sums import Grouped, Sums, by_group
from rpo._stats.ridge import Array
from rpo._table.columns import MOST_CATEGORIES, Column
from rpo._table.table import Table


@dataclass(frozen=True, eq=False)
class ColumnRuler:
    """How each column's values are added up: numbers between fences, categories by their place among the frequent."""

    columns: tuple[Column, ...]
    fences: tuple[tuple[float, float, float] | None, ...]
    """Of numbers and dates; None of categories."""
    labels: tuple[Column, ...]
    """Of categories, the frequent ones, so that a value finds its place; of others, the column itself."""
    n_domains: int
    middle: Array
    """Of every feature and, last, of the target: sums are about these, so that squares keep their digits."""
    task: str
    classes: int

    @classmethod
    def of(cls, ready: Table, domain: NDArray[np.intp], n_domains: int) -> "ColumnRuler":
        """From a sample."""
        rows = Rows.of(domain, n_domains)
        fences: list[tuple[float, float, float] | None] = []
        labels: list[Column] = []
        for column in ready.columns:
            values = ready.frame[column.name]
            if column.kind == "category":
                known = Labels.of(values, column.name, rows).labels[:MOST_CATEGORIES]
                labels.append(Column(name=column.name, kind="category", categories=known))
                fences.append(None)
            else:
                labels.append(column)
                numbers = Numbers.of(values, column, rows)
                fences.append(numbers.fences if len(numbers.every) else (-1.0, 0.0, 1.0))
        classes = len(np.unique(ready.y)) if ready.task == "classification" else 0
        middle = np.append(ready.X.mean(0), 0.0 if classes else ready.y.mean())
        return cls(tuple(ready.columns), tuple(fences), tuple(labels), n_domains, middle, ready.task, classes)

    def measure(
        self, values: Sequence[Array], frequent: Sequence[Array | None], y: NDArray[Any], domain: NDArray[np.intp]
    ) -> Sums:
        """Sums of rows: `values` as `typed` has them; `frequent` of categories the places among `labels`, NaN gaps."""
        n, sums = self.n_domains, Sums()
        known, total, squares = np.zeros((n, len(values))), list[Array](), list[Array]()
        features: list[tuple[Array, Array]] = []
        group = Grouped.of(domain, n)
        rows = group.count
        middles = iter(self.middle)
        for j, (value, fence, column) in enumerate(zip(values, self.fences, self.columns, strict=True)):
            if fence is None:
                place = frequent[j]
                assert place is not None
                counts = _counts(place, domain, n, len(self.labels[j].categories))
                known[:, j], total = rows - by_group(domain[np.isnan(place)], None, n), [*total, *counts]
                ones = _counts(value, domain, n, len(column.categories))
                features += [_binary(one, rows, next(middles)) for one in ones]
                continue
            found = _between(value, fence, domain, group)
            known[:, j] = found.known
            total.append(found.total)
            squares.append(found.squares)
            features.append(found.about(next(middles), fence, column.fill, rows))
            if column.gaps:  # where values are missing
                features.append(_binary(rows - found.known, rows, next(middles)))
        sums["known"], sums["total"] = known, np.stack(total, 1)
        sums["squares"] = np.stack(squares, 1) if squares else np.zeros((n, 0))
        sums["features"], sums["feature_squares"] = (np.stack(some, 1) for some in zip(*features, strict=True))
        if self.classes:
            k = by_group(domain * self.classes + y.astype(np.intp), None, n * self.classes)
            sums["classes"] = k.reshape(n, -1)
        else:
            about = group.together(y) - self.middle[-1]
            sums["target"] = np.stack([group.sums(about), group.sums(about * about)], 1)
        return sums

    def novelty_sums(self, sums: Sums) -> tuple[Array, Array, Array]:
        """Sums of features and of their squares by domain, and the variance of each over all rows."""
        n = sums["rows"].sum()
        mean = sums["features"].sum(0) / n
        return sums["features"], sums["feature_squares"], sums["feature_squares"].sum(0) / n - mean**2

    def told(self, sums: Sums, sample: Columns, names: Sequence[str], classes: NDArray[Any] | None) -> Columns:
        """The columns of all rows; findings stay those of the sample."""
        rows = sums["rows"]
        missing, shift, table = sample.missing.copy(), sample.shift.copy(), sample.table.copy().set_index("column")
        at, numeric = 0, 0
        for j, (fence, label) in enumerate(zip(self.fences, self.labels, strict=True)):
            count = sums["known"][:, j]
            if fence is not None:
                d = differences(sums["total"][:, at], sums["squares"][:, numeric], count)
                at, numeric = at + 1, numeric + 1
            else:
                width = len(label.categories)
                k = sums["total"][:, at : at + width]
                d = np.abs(np.column_stack([differences(one, one, count) for one in k.T])).max(1)
                at += width
            name = label.name
            gaps = rows - count
            missing[name], shift[name] = gaps / np.maximum(rows, 1), d
            table.loc[name, "missing"] = float(gaps.sum() / max(1.0, rows.sum()))
            surely = np.abs(d) - 2 * shift_error(d, count.astype(np.intp))
            if not np.isnan(surely).all():
                most = int(np.nanargmax(surely))
                table.loc[name, "most shifted"], table.loc[name, "difference"] = names[most], float(d[most])
        table = table.reset_index()[list(sample.table.columns)]
        target = self._target(sums, names, classes)
        return replace(sample, table=table, missing=missing, shift=shift, target=target)

    def _target(self, sums: Sums, names: Sequence[str], classes: NDArray[Any] | None) -> pd.DataFrame:
        n = sums["rows"]
        if classes is not None:
            return shares_by_domain(names, classes, sums["classes"], n.astype(int))
        one, square = sums["target"].T
        about = np.where(n > 0, one / np.maximum(n, 1), np.nan)
        left = np.maximum(square - np.nan_to_num(about) * one, 0.0)
        return means_by_domain(names, n.astype(int), about + self.middle[-1], left)


@dataclass(frozen=True, eq=False)
class _Between:
    """Sums of z, the values between fences in units of their distance, by domain; and of those beyond, one by one."""

    known: Array
    total: Array
    squares: Array
    beyond: Array
    where: NDArray[np.intp]

    def about(self, middle: float, fence: tuple[float, float, float], fill: float, rows: Array) -> tuple[Array, Array]:
        """Σ(x − m) and Σ(x − m)² of the feature: z in other units, what lies beyond, and what stands for gaps."""
        low, centre, high = fence
        one, two = _moved(self.total, self.squares, self.known, (high - low) or 1.0, centre - middle)
        gaps = rows - self.known
        one, two = one + gaps * (fill - middle), two + gaps * (fill - middle) ** 2
        if len(self.beyond):
            x, drawn = self.beyond - middle, np.clip(self.beyond, low, high) - middle
            one += by_group(self.where, x - drawn, len(rows))
            two += by_group(self.where, x * x - drawn * drawn, len(rows))
        return one, two


def _between(value: Array, fence: tuple[float, float, float], domain: NDArray[np.intp], group: Grouped) -> _Between:
    """Of a column with NaN for gaps; most have none, and few values are beyond: each is looked for only if it is there.

    >>> domain = np.array([0, 1, 1])
    >>> found = _between(np.array([0.0, 9.0, np.nan]), (-1.0, 0.0, 3.0), domain, Grouped.of(domain, 2))
    >>> found.known.tolist(), found.total.tolist(), found.beyond.tolist()
    ([1.0, 1.0], [0.0, 0.75], [9.0])
    """
    low, centre, high = fence
    known, beyond, where = group.count, value[:0], domain[:0]
    least, most = np.fmin.reduce(value, initial=centre), np.fmax.reduce(value, initial=centre)
    if least < low or most > high:
        out = (value < low) | (value > high)
        beyond, where = value[out], domain[out]
    z = group.together(value)
    if len(beyond):
        np.clip(z, low, high, out=z)
    z -= centre
    z *= 1.0 / ((high - low) or 1.0)
    total = group.sums(z)
    if np.isnan(total).any():
        gone = np.isnan(z)
        z[gone] = 0.0
        known, total = group.count - group.sums(gone.astype(np.float64)), group.sums(z)
    z *= z
    return _Between(known, total, group.sums(z), beyond, where)


def _counts(place: Array, domain: NDArray[np.intp], n: int, width: int) -> Array:
    """How often each place occurs in each domain, `(width, n)`; what has none is not counted."""
    flat = domain * (width + 1) + np.where(place >= 0, place, width).astype(np.intp)
    return by_group(flat, None, n * (width + 1)).reshape(n, -1)[:, :width].T


def _moved(total: Array, squares: Array, rows: Array, unit: float, by: float) -> tuple[Array, Array]:
    """Σ(uz + b) and Σ(uz + b)², from Σz and Σz².

    >>> [float(one[0]) for one in _moved(np.array([3.0]), np.array([5.0]), np.array([2.0]), 2.0, 1.0)]
    [8.0, 34.0]
    """
    return unit * total + by * rows, unit**2 * squares + 2 * unit * by * total + by**2 * rows


def _binary(ones: Array, rows: Array, middle: float) -> tuple[Array, Array]:
    """Σ(x − m) and Σ(x − m)² of zeros and ones."""
    return ones - middle * rows, ones * (1 - 2 * middle) + middle**2 * rows
