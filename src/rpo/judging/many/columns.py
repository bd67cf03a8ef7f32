"""Columns over all rows: what is missing and what is shifted, by fences and categories that a sample gave."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo.frames.columns import MOST_CATEGORIES, Column
from rpo.frames.preparing import Prepared
from rpo.functional.ridge import Array
from rpo.judging.columns import Columns
from rpo.judging.columns.comparisons import shift_error
from rpo.judging.columns.judge import means_by_domain, shares_by_domain
from rpo.judging.columns.profiles import Labels, Numbers, Rows, between_fences, differences
from rpo.judging.many.sums import Sums, by_group


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
    def of(cls, ready: Prepared, domain: NDArray[np.intp], n_domains: int) -> "ColumnRuler":
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

    def measure(self, values: Sequence[Array], X: Array, y: NDArray[Any], domain: NDArray[np.intp]) -> Sums:
        """Sums of rows: `values` are numbers with NaN for gaps, or places of categories (−1 others, NaN gaps)."""
        n, sums, place = self.n_domains, Sums(), 0
        known, total, squares = np.zeros((n, len(values))), list[Array](), list[Array]()
        features: list[tuple[Array, Array]] = []
        rows = by_group(domain, None, n)
        for j, (value, fence, label) in enumerate(zip(values, self.fences, self.labels, strict=True)):
            own = range(place, place := place + len(self.columns[j].outputs))
            there = ~np.isnan(value)
            whole = bool(there.all())
            some, where = (value, domain) if whole else (value[there], domain[there])
            known[:, j] = rows if whole else by_group(where, None, n)
            if fence is None:
                width = len(label.categories)
                frequent = some >= 0
                flat = where[frequent] * width + some[frequent].astype(np.intp)
                total += list(by_group(flat, None, n * width).reshape(n, width).T)
                features += [_binary(by_group(domain, X[:, f], n), rows, self.middle[f]) for f in own]
                continue
            z = between_fences(some, fence)
            total.append(by_group(where, z, n))
            squares.append(by_group(where, z * z, n))
            low, centre, high = fence
            if whole and low < high and some.min(initial=low) >= low and some.max(initial=high) <= high:
                # The feature is z in other units: its sums are there.
                features.append(_moved(total[-1], squares[-1], rows, high - low, centre - float(self.middle[own[0]])))
            else:
                about = X[:, own[0]] - self.middle[own[0]]
                features.append((by_group(domain, about, n), by_group(domain, about * about, n)))
            if len(own) > 1:  # where values are missing
                features.append(_binary(rows - known[:, j], rows, self.middle[own[1]]))
        sums["known"], sums["total"] = known, np.stack(total, 1)
        sums["squares"] = np.stack(squares, 1) if squares else np.zeros((n, 0))
        sums["features"], sums["feature_squares"] = (np.stack(some, 1) for some in zip(*features, strict=True))
        if self.classes:
            k = by_group(domain * self.classes + y.astype(np.intp), None, n * self.classes)
            sums["classes"] = k.reshape(n, -1)
        else:
            about = y - self.middle[-1]
            sums["target"] = np.stack([by_group(domain, about, n), by_group(domain, about * about, n)], 1)
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


def _moved(total: Array, squares: Array, rows: Array, unit: float, by: float) -> tuple[Array, Array]:
    """Σ(uz + b) and Σ(uz + b)², from Σz and Σz².

    >>> [float(one[0]) for one in _moved(np.array([3.0]), np.array([5.0]), np.array([2.0]), 2.0, 1.0)]
    [8.0, 34.0]
    """
    return unit * total + by * rows, unit**2 * squares + 2 * unit * by * total + by**2 * rows


def _binary(ones: Array, rows: Array, middle: float) -> tuple[Array, Array]:
    """Σ(x − m) and Σ(x − m)² of zeros and ones."""
    return ones - middle * rows, ones * (1 - 2 * middle) + middle**2 * rows
