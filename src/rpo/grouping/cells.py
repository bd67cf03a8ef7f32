"""Cells: every stratum split by domain, since the paper lets no group cross a domain."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rpo.exceptions import InputError


def codes(labels: ArrayLike, what: str = "labels", n: int | None = None) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Integer codes 0, 1, … of a column of labels of any kind, and the sorted labels they stand for; `n` rows if given.

    >>> code, label = codes(["b", "a", "b"])
    >>> code.tolist(), label.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or n not in (None, len(array)):
        rows = "" if n is None else f" but X has {n} rows"
        raise InputError(f"{what} has shape {array.shape}{rows}: give one column, with one label for each row")
    if missing := int(pd.isna(array).sum()):
        raise InputError(f"{what} is missing in {missing} of {len(array)} rows: give every row a label")
    try:
        code, known = pd.factorize(array, sort=True)
    except TypeError:  # labels of several kinds have no order but that of their text
        code, known = pd.factorize(np.array([str(value) for value in array], dtype=object), sort=True)
    return code.astype(np.intp), np.asarray(known)


def split_by_domain(stratum: ArrayLike, domain: ArrayLike) -> tuple[NDArray[np.intp], list[tuple[Any, Any]]]:
    """Cell of each row, numbered over the (domain, stratum) pairs that have a row, in sorted order.

    Returns the cell index of every row and, for every cell, its pair (domain, stratum).

    >>> cell, pairs = split_by_domain(stratum=[0, 1, 1, 0], domain=["b", "a", "b", "b"])
    >>> cell.tolist(), pairs
    ([1, 0, 2, 1], [('a', 1), ('b', 0), ('b', 1)])
    """
    stratum_code, strata = codes(stratum, "strata")
    domain_code, domains = codes(domain, "domains")
    if len(stratum_code) != len(domain_code):
        raise InputError(
            f"strata have {len(stratum_code)} rows and domains {len(domain_code)}; give one of each a row."
        )
    occupied, cell = np.unique(domain_code * len(strata) + stratum_code, return_inverse=True)
    e, k = np.divmod(occupied, len(strata))
    return cell, list(zip(domains[e].tolist(), strata[k].tolist(), strict=True))
