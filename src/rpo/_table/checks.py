"""Checks of rows that every estimator and judgement shares: labels, weights, targets, domains, seeds."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight

from rpo.exceptions import InputError, OneDomainWarning
from rpo.grouping.strata import codes

Array = NDArray[np.float64]
MOST_WEIGHT = 1e9  # a weight counts rows


def check_given(y: Any) -> None:
    """Refuse a fit without a target."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")


def check_count(rows: int) -> None:
    """Refuse a single row."""
    if rows == 1:
        raise InputError("there is only one sample (n_samples=1): at least two are needed")


def check_moments(y: NDArray[Any]) -> None:
    """Refuse a target of dates or durations, which NumPy would convert to large numbers.

    >>> check_moments(np.array(["2020-01-31"], dtype="M8[D]"))
    Traceback (most recent call last):
    rpo.exceptions.InputError: the target has type datetime64[D]: convert it to numbers or classes first
    """
    if y.dtype.kind in "mM":
        raise InputError(f"the target has type {y.dtype}: convert it to numbers or classes first")


def check_varies(used: Array) -> None:
    """Refuse a target that does not vary.

    >>> check_varies(np.ones(3))
    Traceback (most recent call last):
    rpo.exceptions.InputError: the target is constant (1.0 in all 3 rows): there is nothing to learn
    """
    if np.ptp(used) <= 1e-12 * np.abs(used).max(initial=1e-300):
        raise InputError(f"the target is constant ({used[0]} in all {len(used)} rows): there is nothing to learn")


def check_classes(used: NDArray[Any]) -> None:
    """Refuse a target of one class.

    >>> check_classes(np.array(["a", "a"]))
    Traceback (most recent call last):
    rpo.exceptions.InputError: the target has only one class ('a'): a classifier needs at least two
    """
    if len(np.unique(used)) < 2:
        raise InputError(f"the target has only one class ({str(used[0])!r}): a classifier needs at least two")


def numeric_target(y: NDArray[Any]) -> Array:
    """Return the target of a regression as numbers."""
    try:
        return np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the target of a regressor must be numeric; use a classifier for classes") from None


def sample_weights(weight: ArrayLike | None, rows: Any) -> Array:
    """Return the weights of rows, one each if none are given; refuse those that sums of rows cannot hold.

    >>> sample_weights([1.0, 1e30], np.zeros((2, 1)))
    Traceback (most recent call last):
    rpo.exceptions.InputError: sample_weight ranges from 1 to 1e+30: rescale it to lie between 1e-09 and 1e+09, or zero
    """
    checked: Array = _check_sample_weight(weight, rows, dtype=np.float64, ensure_non_negative=True)
    used = checked[checked > 0]
    if len(used) and (used.max() > MOST_WEIGHT or used.min() < 1 / MOST_WEIGHT):
        raise InputError(
            f"sample_weight ranges from {used.min():.3g} to {used.max():.3g}: "
            f"rescale it to lie between {1 / MOST_WEIGHT:g} and {MOST_WEIGHT:g}, or zero"
        )
    return checked


def row_labels(labels: ArrayLike, what: str, n: int) -> NDArray[Any]:
    """Return one label per row, none missing.

    >>> row_labels([["b"], ["a"]], "domains", 2).tolist()
    ['b', 'a']
    """
    code, known = codes(labels, what, n)
    return np.asarray(known)[code]


def feature_names(estimator: Any, width: int) -> list[str]:
    """Return the names of the features that an estimator was given, or x0, x1, …"""
    return [str(name) for name in getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(width)])]


def warn_of_one_domain(domains: int, stacklevel: int) -> None:
    """Warn if there is only one training domain."""
    if domains == 1:
        warnings.warn(
            "there is only one training domain: differences between domains cannot be learned",
            OneDomainWarning,
            stacklevel=stacklevel + 1,
        )
