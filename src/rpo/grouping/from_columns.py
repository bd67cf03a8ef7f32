"""Strata from named columns, chosen by an expert."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rpo.exceptions import InputError
from rpo.grouping.cluster import Array
from rpo.grouping.strata import NamedStrata, codes, value_range

N_BINS = 4


def strata_from_columns(
    columns: pd.DataFrame, *, n_bins: int = N_BINS, sample_weight: ArrayLike | None = None
) -> NamedStrata:
    """Form strata from columns: one for every combination of bins or categories that occurs.

        k(i) = (bin of column 1, bin of column 2, …)

    Parameters
    ----------
    columns : DataFrame
        The columns that define the strata.
    n_bins : int
        Numeric columns with more distinct values are binned at weighted quantiles 1/n_bins, 2/n_bins, …; other columns
        are used as they are, with missing values as a separate category.
    sample_weight : array, optional
        Weights for the quantiles.

    Returns
    -------
    NamedStrata
        `labels` of the rows, and `names`.

    Examples
    --------
    >>> import pandas as pd
    >>> from rpo.grouping import strata_from_columns
    >>> table = pd.DataFrame({"age": [20, 30, 40, 50], "sex": ["f", "f", "m", "m"]})
    >>> strata = strata_from_columns(table, n_bins=2)
    >>> strata.labels.tolist(), strata.names
    ([0, 0, 1, 1], ('age 20–30, sex f', 'age 40–50, sex m'))
    """
    if columns.shape[1] == 0 or len(columns) == 0:
        raise InputError(f"strata need at least one column and one row, got shape {columns.shape}")
    if n_bins < 1:
        raise InputError(f"n_bins must be at least 1, got {n_bins}")
    weight = np.ones(len(columns)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (len(columns),) or not (weight >= 0).all() or not weight.any():
        raise InputError("sample_weight must have one non-negative number per row, and not all zero")
    cuts = [Cut.from_column(str(name), columns[name], n_bins, weight) for name in columns]
    return _combine(cuts, columns)[0]


@dataclass(frozen=True, eq=False)
class Cut:
    """Bins of one column: ranges of numbers by their largest value, or categories; missing values come last."""

    name: str
    tops: Array | None
    """Of numbers, the largest of each range."""
    categories: NDArray[Any]
    names: tuple[str, ...]

    @classmethod
    def from_column(cls, name: str, column: "pd.Series[Any]", n_bins: int, weight: Array) -> "Cut":
        """Compute the bins of a column from its rows."""
        missing = column.isna().to_numpy()
        known = column[~missing]
        if _numeric(column):
            values = known.to_numpy(dtype=np.float64)
            few = len(np.unique(values)) <= n_bins
            code = codes(values)[0] if few else quantile_bins(values, weight[~missing], n_bins)
            members = [values[code == k] for k in range(int(code.max(initial=-1)) + 1)]
            names = [f"{name} {value_range(member.min(), member.max())}" for member in members]
            return cls(name, np.array([member.max() for member in members]), np.zeros(0), (*names, f"{name} missing"))
        known_labels = codes(known.astype(str))[1]
        names = [f"{name} {category}" for category in known_labels]
        return cls(name, None, known_labels, (*names, f"{name} missing"))

    def place(self, column: "pd.Series[Any]") -> NDArray[np.intp]:
        """Return the range or category of every row; −1 for an unknown category."""
        missing = column.isna().to_numpy()
        labels = np.full(len(column), len(self.names) - 1, dtype=np.intp)
        if self.tops is None:
            text = pd.Index(column[~missing].astype(str), dtype=object)
            labels[~missing] = pd.Index(self.categories, dtype=object).get_indexer(text)
        else:
            values = pd.to_numeric(column[~missing]).to_numpy(dtype=np.float64)
            labels[~missing] = np.minimum(np.searchsorted(self.tops, values), max(len(self.tops) - 1, 0))
        return labels


@dataclass(frozen=True, eq=False)
class ColumnStrata:
    """Strata of named columns, which can place other rows; unseen combinations form one more stratum."""

    cuts: tuple[Cut, ...]
    known: NDArray[np.intp]
    """Combinations, as one number each, sorted: their places are the strata."""

    @classmethod
    def of(cls, columns: pd.DataFrame, n_bins: int = N_BINS) -> "ColumnStrata":
        """Compute the strata that `strata_from_columns` forms of these rows.

        >>> rows = pd.DataFrame({"age": [20, 30, 40, 50], "sex": ["f", "f", "m", "m"]})
        >>> ColumnStrata.of(rows, 2).place(pd.DataFrame({"age": [31, 90, 20], "sex": ["m", "m", "f"]})).tolist()
        [1, 1, 0]
        """
        weight = np.ones(len(columns))
        cuts = [Cut.from_column(str(name), columns[name], n_bins, weight) for name in columns]
        return cls(tuple(cuts), _combine(cuts, columns)[1])

    def place(self, columns: pd.DataFrame) -> NDArray[np.intp]:
        """Return the stratum of every row."""
        key, unknown = _keys(self.cuts, columns)
        place = np.minimum(np.searchsorted(self.known, key), len(self.known) - 1)
        return np.where(unknown | (self.known[place] != key), len(self.known), place)


def _keys(cuts: Sequence[Cut], columns: pd.DataFrame) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Encode the combination of every row as one number; also return which rows have an unknown category."""
    key, unknown = np.zeros(len(columns), dtype=np.intp), np.zeros(len(columns), dtype=bool)
    for cut in cuts:
        label = cut.place(columns[cut.name])
        unknown |= label < 0
        key = key * len(cut.names) + np.maximum(label, 0)
    return key, unknown


def _combine(cuts: Sequence[Cut], columns: pd.DataFrame) -> tuple[NamedStrata, NDArray[np.intp]]:
    if np.prod([float(len(cut.names)) for cut in cuts]) > 2.0**62:
        raise InputError("the columns of the strata have too many combinations: use fewer columns")
    key, _ = _keys(cuts, columns)
    known, first, label = np.unique(key, return_index=True, return_inverse=True)
    places = [cut.place(columns[cut.name].iloc[first]) for cut in cuts]
    names = [", ".join(cut.names[k] for cut, k in zip(cuts, row, strict=True)) for row in zip(*places, strict=True)]
    return NamedStrata(label.astype(np.intp), tuple(names)), known


def _numeric(column: "pd.Series[Any]") -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def quantile_bins(values: Array, weight: Array, n_bins: int) -> NDArray[np.intp]:
    """Bin values at weighted quantiles that occur among them.

        bin(x) = #{q : x > Q_w(q / n_bins)},  q = 1 … n_bins − 1

    >>> quantile_bins(np.array([1.0, 2.0, 3.0, 9.0]), np.ones(4), 2).tolist()
    [0, 0, 1, 1]
    """
    distinct, code = np.unique(values, return_inverse=True)
    below = np.cumsum(np.bincount(code, weight))
    # Slightly below the quantile, so that weights that sum to it up to rounding still reach it.
    cuts = np.searchsorted(below, below[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12))
    return codes(np.searchsorted(distinct[cuts], values))[0]
