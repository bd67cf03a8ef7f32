"""Cells: every stratum split by domain, since the paper lets no group cross a domain."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpo.exceptions import InputError


def codes(labels: ArrayLike, what: str = "labels") -> tuple[NDArray[np.intp], list[Any]]:
    """Integer codes 0, 1, … of a column of labels, and the sorted labels they stand for.

    >>> code, label = codes(["b", "a", "b"])
    >>> code.tolist(), label
    ([1, 0, 1], ['a', 'b'])
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise InputError(f"{what} must be one column, one label a row; got an array of shape {array.shape}.")
    try:
        unique, code = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise InputError(f"{what} mixes kinds that cannot be sorted; make them all text or all numbers.") from error
    return code, unique.tolist()


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
    return cell, [(domains[pair // len(strata)], strata[pair % len(strata)]) for pair in occupied.tolist()]
