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
from rpo._judging.columns.profiles import Labels, Numbers, counts, differences, sums_between
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
        """Take fences, frequent categories and means from a sample."""
        rows = Grouped.of(domain, n_domains)
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
        self, values: Sequence[Array], frequent: Sequence[Any], y: NDArray[Any], domain: NDArray[np.intp]
    ) -> Sums:
        """Add up rows: `values` as `typed` has them; `frequent` are places among `labels`, −2 for gaps."""
        n, sums = self.n_domains, Sums()
        known, total, squares = np.zeros((n, len(values))), list[Array](), list[Array]()
        features: list[tuple[Array, Array]] = []
        group = Grouped.of(domain, n)
        rows = group.count.astype(np.float64)
        middles = iter(self.middle)
        for j, (value, fence, column) in enumerate(zip(values, self.fences, self.columns, strict=True)):
            if fence is None:
                place = frequent[j]
                known[:, j] = rows - by_group(domain[place == -2], None, n)
                total += [*counts(place, domain, n, len(self.labels[j].categories))]
                ones = counts(value, domain, n, len(column.categories))
                features += [_binary(one, rows, next(middles)) for one in ones]
                continue
            z = value.take(group.order)
            known[:, j], one, two = sums_between(z, fence, group, out=z)
            total.append(one)
            squares.append(two)
            about = rows, known[:, j], one, two
            features.append(_feature(value, domain, fence, column.fill, next(middles), *about))
            if column.gaps:  # where values are missing
                features.append(_binary(rows - known[:, j], rows, next(middles)))
        sums["known"], sums["total"] = known, np.stack(total, 1)
        sums["squares"] = np.stack(squares, 1) if squares else np.zeros((n, 0))
        sums["features"], sums["feature_squares"] = (np.stack(some, 1) for some in zip(*features, strict=True))
        if self.classes:
            k = by_group(domain * self.classes + y.astype(np.intp), None, n * self.classes)
            sums["classes"] = k.reshape(n, -1)
        else:
            about_middle = y.take(group.order) - self.middle[-1]
            sums["target"] = np.stack([group.sums(about_middle), group.sums(about_middle**2)], 1)
        return sums

    def told(self, sums: Sums, sample: Columns, names: Sequence[str], classes: NDArray[Any] | None) -> Columns:
        """Return the columns of all rows; findings stay those of the sample."""
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


def _feature(
    value: Array,
    domain: NDArray[np.intp],
    fence: tuple[float, float, float],
    fill: float,
    middle: float,
    rows: Array,
    known: Array,
    total: Array,
    squares: Array,
) -> tuple[Array, Array]:
    """Return Σ(x − m) and Σ(x − m)² of a feature: Σz and Σz² in its units, what lies beyond, and what stands for gaps.

    >>> one = (np.array([0.0, 9.0, np.nan]), np.array([0, 0, 0]), (-1.0, 0.0, 3.0), 1.0, 2.0)
    >>> [float(sums[0]) for sums in _feature(*one, *np.array([[3.0], [2.0], [0.75], [0.5625]]))]
    [4.0, 54.0]
    """
    low, centre, high = fence
    unit, by, gaps = (high - low) or 1.0, centre - middle, rows - known
    one = unit * total + by * known + gaps * (fill - middle)
    two = unit**2 * squares + 2 * unit * by * total + by**2 * known + gaps * (fill - middle) ** 2
    if np.fmin.reduce(value, initial=centre) < low or np.fmax.reduce(value, initial=centre) > high:  # few are
        out = (value < low) | (value > high)
        x, drawn, where = value[out] - middle, np.clip(value[out], low, high) - middle, domain[out]
        one = one + by_group(where, x - drawn, len(rows))
        two = two + by_group(where, x * x - drawn * drawn, len(rows))
    return one, two


def _binary(ones: Array, rows: Array, middle: float) -> tuple[Array, Array]:
    """Return Σ(x − m) and Σ(x − m)² of zeros and ones."""
    return ones - middle * rows, ones * (1 - 2 * middle) + middle**2 * rows
