"""Strata from named columns: the dominating features an expert points at."""

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
    """k(i) = (bin of column 1, bin of column 2, …): one stratum for every combination that has a row.

    Parameters
    ----------
    columns : DataFrame
        The columns that strata are made of.
    n_bins : int
        Numbers with more distinct values are cut at weighted quantiles 1/n_bins, 2/n_bins, …; anything else is taken as
        it is, and a missing value is a category of its own.
    sample_weight : array, optional
        What each row counts in the quantiles.

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
        raise InputError(f"strata need at least one column and one row, got a table of shape {columns.shape}")
    if n_bins < 1:
        raise InputError(f"n_bins must be at least 1, got {n_bins}")
    weight = np.ones(len(columns)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (len(columns),) or not (weight >= 0).all() or not weight.any():
        raise InputError("sample_weight must hold one number per row, none negative and not all zero")
    parts = [_column(str(name), columns[name], n_bins, weight) for name in columns]
    key = np.zeros(len(columns), dtype=np.intp)
    for part in parts:
        key, _ = codes(key * len(part.names) + part.labels)
    first = np.unique(key, return_index=True)[1]
    names = tuple(", ".join(part.names[part.labels[row]] for part in parts) for row in first)
    return NamedStrata(key, names)


def quantile_bins(values: Array, weight: Array, n_bins: int) -> NDArray[np.intp]:
    """bin(x) = #{q : x > Q_w(q / n_bins)}, q = 1 … n_bins − 1, Q_w the weighted quantile, a value that occurs.

    >>> quantile_bins(np.array([1.0, 2.0, 3.0, 9.0]), np.ones(4), 2).tolist()
    [0, 0, 1, 1]
    """
    distinct, code = np.unique(values, return_inverse=True)
    below = np.cumsum(np.bincount(code, weight))
    # A hair below the quantile, so that weights that sum to it only up to rounding still reach it.
    cuts = np.searchsorted(below, below[-1] * np.arange(1, n_bins) / n_bins * (1 - 1e-12))
    return codes(np.searchsorted(distinct[cuts], values))[0]


def _column(name: str, column: "pd.Series[Any]", n_bins: int, weight: Array) -> NamedStrata:
    """The strata of one column; rows without a value come last, as a stratum of their own."""
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    missing = column.isna().to_numpy()
    known = column[~missing]
    if numeric:
        values = known.to_numpy(dtype=np.float64)
        few = len(np.unique(values)) <= n_bins
        code = codes(values)[0] if few else quantile_bins(values, weight[~missing], n_bins)
        members = [values[code == k] for k in range(int(code.max(initial=-1)) + 1)]
        names = [f"{name} {value_range(member.min(), member.max())}" for member in members]
    else:
        code, categories = codes(known.astype(str))
        names = [f"{name} {category}" for category in categories]
    labels = np.full(len(column), len(names), dtype=np.intp)
    labels[~missing] = code
    return NamedStrata(labels, (*names, f"{name} missing"))
