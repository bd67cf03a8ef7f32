"""Labels of any kind as codes."""

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
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float64)  # no index holds the others, nor JSON
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
