"""Sums over the rows of new domains: sufficient for a check, however many rows there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rpo._judging.sums import Sums
from rpo._models.reference import Reference
from rpo._stats.novelty import Served
from rpo._stats.ridge import Array
from rpo._table.columns import Column, names_of, typed


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows of a new table: columns as numbers, predictions, the target if known, gaps and unseen categories."""

    X: Array
    value: Array
    y: Array | None
    """Numbers, or places of classes; NaN where there is none."""
    gaps: NDArray[np.bool_]
    """`(n, columns)`: where a value is missing."""
    unseen: NDArray[np.bool_]
    """`(n, columns)`: where a category is one that no training row has."""

    @classmethod
    def of(
        cls,
        columns: Sequence[Column],
        values: Sequence[Array],
        gone: Sequence[NDArray[np.bool_]],
        X: Array,
        value: Array,
        y: Array | None,
    ) -> Self:
        """Build rows from `values` of all columns as returned by `typed`, and where each is missing."""
        gaps, unseen = (np.zeros((len(X), len(columns)), dtype=bool) for _ in range(2))
        for place, (column, number, missing) in enumerate(zip(columns, values, gone, strict=True)):
            gaps[:, place] = missing if column.kind == "category" else np.isnan(number)
            unseen[:, place] = (column.kind == "category") & (number < 0) & ~missing
        return cls(X, value, y, gaps, unseen)


def rows_of_frame(columns: Sequence[Column], frame: pd.DataFrame, X: Array, value: Array, y: Array | None) -> NewRows:
    """Return the rows of a data frame that has all columns."""
    values = [typed(frame[column.name], column) for column in columns]
    gone = [frame[column.name].isna().to_numpy() for column in columns]
    return NewRows.of(columns, values, gone, X, value, y)


@dataclass(frozen=True, eq=False)
class NewDomain:
    """One new domain: figures of its columns, shares of its rows, and errors of the model."""

    rows: float
    mean: Array
    spread: Array
    """Of columns, and of what the others leave of each."""
    outside: float
    """The share of rows outside the training range in some column."""
    beyond: Array
    """Of each column of the table, the share of rows outside its range."""
    gaps: Array
    unseen: Array
    served: Served | None
    """None without a target."""


def new_sums(
    reference: Reference, columns: Sequence[Column], rows: NewRows, domain: NDArray[np.intp], n_domains: int
) -> Sums:
    """Add up rows by domain; these sums add up from part to part."""
    n = len(rows.X)
    by: Any = csr_array((np.ones(n), (domain, np.arange(n))), shape=(n_domains, n))
    figures = reference.figures(rows.X) - _centre(reference)
    out = (reference.low > rows.X) | (reference.high < rows.X)
    first = np.searchsorted(names_of(columns)[1], np.arange(len(columns)))
    sums: Sums = {
        "rows": by @ np.ones(n),
        "first": by @ figures,
        "second": by @ figures**2,
        "outside": by @ out.any(1).astype(np.float64),
        "beyond": by @ np.maximum.reduceat(out, first, axis=1).astype(np.float64),
        "gaps": by @ rows.gaps.astype(np.float64),
        "unseen": by @ rows.unseen.astype(np.float64),
    }
    if rows.y is not None:
        sums["served"] = _add_errors(reference, rows, by)
    return sums


def _centre(reference: Reference) -> Array:
    """Return about what figures are added up, so that squares keep their digits."""
    return np.asarray(reference.mean.mean(0))


def _add_errors(reference: Reference, rows: NewRows, by: Any) -> Array:
    """Add up rows with a target: how many, squared errors, their squares; and of each output f, f², r and f·r."""
    assert rows.y is not None
    used = ~np.isnan(rows.y)
    y, value = np.where(used, rows.y, 0.0), rows.value if rows.value.ndim == 2 else rows.value[:, None]
    truth = y[:, None] == np.arange(value.shape[1]) if reference.classes else y[:, None]
    r = truth - value
    square = (r**2).sum(1)
    if reference.classes:
        square = square / 2 + (y < 0) / 2
    middle = np.atleast_1d(reference.value.mean(0))
    f = value - middle
    parts = np.column_stack([np.ones(len(y)), square, square**2, f, f**2, r, f * r])
    return np.asarray(by @ np.where(used[:, None], parts, 0.0))


def new_domains(reference: Reference, sums: Sums) -> list[NewDomain]:
    """Return each domain, from the sums of all."""
    domains = []
    for e, n in enumerate(sums["rows"].tolist()):
        mean, square = sums["first"][e] / n, sums["second"][e] / n
        # What rounding leaves of no variance is none.
        spread = np.sqrt(np.where(square - mean**2 > 1e-13 * square, square - mean**2, 0.0))
        shares = (sums[name][e] / n for name in ("outside", "beyond", "gaps", "unseen"))
        outside, beyond, gaps, unseen = shares
        served = _relation(sums["served"][e]) if "served" in sums else None
        domains.append(NewDomain(n, mean + _centre(reference), spread, float(outside), beyond, gaps, unseen, served))
    return domains


def _relation(total: Array) -> Served | None:
    """Return n, mean squared error, mean of its square, Σ(f − f̄)² and Σ(f − f̄)(r − r̄); None if no row has a target."""
    n, square, wild = total[:3]
    if n == 0:
        return None
    f, f2, r, fr = np.split(total[3:], 4)
    reach, along = (f2 - f**2 / n).sum(), (fr - f * r / n).sum()
    return Served(*(np.array([value]) for value in (n, square / n, wild / n, max(reach, 0.0), along)))
