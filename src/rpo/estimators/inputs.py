"""What a user may hand to `fit`, checked: one line for everything that is wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpo.exceptions import InputError
from rpo.mapped import blocks

Array = NDArray[np.float64]


def check_finite(X: NDArray[Any], names: Sequence[str]) -> None:
    """Refuse NaN and infinity, naming the column.

    >>> check_finite(np.array([[1.0, np.nan], [2.0, np.nan]]), ["age", "dose"])
    Traceback (most recent call last):
    ...
    rpo.exceptions.InputError: column 'dose' of X contains only NaN: drop it
    """
    if X.dtype.kind not in "fc" or np.isfinite(X.sum(dtype=float)):
        return
    flat = X.reshape(len(X), -1)
    for kind, bad in (("NaN", np.isnan(flat)), ("infinity (inf)", np.isinf(flat))):
        for column in np.flatnonzero(bad.any(0)).tolist():
            name = names[column] if column < len(names) else str(column)
            if kind == "NaN" and bad[:, column].all():
                raise InputError(f"column {name!r} of X contains only NaN: drop it")
            count = int(bad[:, column].sum())
            raise InputError(f"column {name!r} of X contains {kind} in {count} of {len(X)} rows: impute or drop them")


def check_kinds(X: Any) -> None:
    """Refuse columns of a data frame, or an array, of dates or categories, which NumPy would turn into odd numbers.

    >>> check_kinds(np.array(["2020-01-31"], dtype="M8[D]")[:, None])
    Traceback (most recent call last):
    rpo.exceptions.InputError: X must be numeric, got datetime64[D]: convert it before fitting
    """
    if not hasattr(X, "columns"):
        kind = getattr(getattr(X, "dtype", None), "kind", "f")
        if kind in "mM":
            raise InputError(f"X must be numeric, got {X.dtype}: convert it before fitting")
        return
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        if dtype.kind in "mM" or str(dtype) in ("category", "str", "string"):
            raise InputError(
                f"column {str(name)[:40]!r} of X holds {dtype} values, not numbers: "
                "encode them before fitting (sklearn.preprocessing), or use rpo fit"
            )


def is_widths(hidden: Any) -> bool:
    """Whether these are the widths of hidden layers.

    >>> is_widths((64, 64)), is_widths(64), is_widths([0])
    (True, False, False)
    """
    if isinstance(hidden, str) or not isinstance(hidden, Sequence | np.ndarray):
        return False
    return all(isinstance(width, int | np.integer) and not isinstance(width, bool) and width >= 1 for width in hidden)


def weighted_moments(values: NDArray[Any], weight: Array) -> tuple[Array, Array]:
    r"""Mean and standard deviation of each column under weights; a constant column has deviation one.

    A block of rows at a time, so that values in a file stay there.

    >>> weighted_moments(np.array([[0.0, 5.0], [2.0, 5.0]]), np.array([1.0, 1.0]))
    (array([1., 5.]), array([1., 1.]))
    """
    share = weight / weight.sum()
    mean: Array = sum(share[some] @ values[some].astype(np.float64) for some in blocks(len(values)))
    used = [some for some in blocks(len(values)) if share[some].any()]
    farthest = np.max([np.abs(values[some][share[some] > 0] - mean).max(0) for some in used], axis=0)
    # In units of a power of two near the farthest value, so that squares of tiny and of huge numbers are numbers.
    unit = np.exp2(np.frexp(farthest)[1])
    scale = unit * np.sqrt(sum(share[some] @ ((values[some] - mean) / unit) ** 2 for some in used))
    # Rounding leaves a trace of deviation in a constant column.
    constant = scale <= 1e-12 * np.abs(mean)
    return mean, np.where(constant, 1.0, scale)


def check_target(y: Array, weight: Array) -> None:
    """Refuse a target that does not vary: there is nothing to learn.

    >>> check_target(np.ones(3), np.ones(3))
    Traceback (most recent call last):
    ...
    rpo.exceptions.InputError: the target is constant (1.0 in all 3 rows): there is nothing to learn
    """
    used = y[weight > 0]
    if len(used) == 1:
        raise InputError("there is only one sample (n_samples=1): at least two are needed")
    if np.ptp(used) <= 1e-12 * np.abs(used).max(initial=1e-300):
        raise InputError(f"the target is constant ({used[0]} in all {len(used)} rows): there is nothing to learn")
