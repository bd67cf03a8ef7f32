"""Checks of the arguments of `fit` and `predict`: parameters, a table with target and weights, labels of rows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import Tags, check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d, validate_data

from rpo._stats.ridge import Array
from rpo._table.checks import check_count, check_given, check_moments, feature_names, row_labels, sample_weights
from rpo._table.encoding import columns_of, free_name, numbers
from rpo._table.table import WITHOUT_DOMAIN, Table
from rpo.exceptions import InputError
from rpo.grouping import NamedStrata
from rpo.grouping.strata import codes

CHOICES = ("auto", "on", "off")


class TableInputs(BaseEstimator):  # type: ignore[misc]
    """Mixin of both Quality models that checks arguments."""

    # Set by the subclasses' constructors.
    random_state: int

    # Columns that `fit` was given as domains or strata by their name.
    not_features_: tuple[str, ...]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a missing value is the column's median, and marked
        return tags

    def _check_choices(self) -> None:
        """Refuse parameters that are none of their choices."""
        for name in ("weights", "screen"):
            if getattr(self, name) not in CHOICES:
                raise InputError(f"{name} must be one of {', '.join(CHOICES)}, got {getattr(self, name)!r}")
        self._seed()

    def _seed(self) -> int:
        state = self.random_state
        if not isinstance(state, int | np.integer) or state < 0:
            raise InputError(f"random_state must be a non-negative integer, got {state!r}")
        return int(state)

    def _prepare(self, X: Any, y: Any, sample_weight: Any, domains: Any, strata: Any) -> Table:
        """Prepare a table for judging, with the weights of its rows."""
        check_given(y)
        self.not_features_ = tuple(name for name in (domains, strata) if isinstance(name, str))
        domain, stratum = _labels_of(X, domains, "domains"), _labels_of(X, strata, "strata")
        frame, target, weight = self._check_data(X, y, sample_weight)
        columns, left_out = columns_of(frame)
        label, place = free_name(_name_of(y, "target"), frame), free_name(_name_of(domains, "domain"), frame)
        n = len(frame)
        where = np.full(n, WITHOUT_DOMAIN) if domain is None else row_labels(domain, "domains", n)
        return Table(
            frame=frame.assign(**{label: target, place: X[domains].array if isinstance(domains, str) else where}),
            X=numbers(frame, columns),
            y=target,
            domains=where,
            row=np.arange(1, n + 1),
            columns=columns,
            target=label,
            domain=place,
            task="classification" if is_classifier(self) else "regression",
            strata=None if stratum is None else _strata(stratum, n),
            notes=(),
            left_out=left_out,
            weight=weight,
        )

    def _with_weights(self, ready: Table, sample_weight: ArrayLike | None) -> Table:
        """Return a prepared table with the checked weights of its rows, and keep what is a feature in it."""
        self._check_choices()
        names = [column.name for column in ready.columns]
        self.feature_names_in_, self.n_features_in_ = np.array(names, dtype=object), len(names)
        self.not_features_ = tuple(str(name) for name in ready.frame.columns if name not in names)
        return replace(ready, weight=sample_weights(ready.weight if sample_weight is None else sample_weight, ready.X))

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[pd.DataFrame, NDArray[Any], Array]:
        """Return the features as a frame, the target and the weights."""
        frame, target = self._frame(X, y)
        target = column_or_1d(target, warn=True)
        check_moments(target)
        weight = sample_weights(sample_weight, frame)
        check_count(len(frame))
        return frame, target, weight

    def _frame(self, X: Any, y: Any = None) -> tuple[pd.DataFrame, Any]:
        """Convert features to a frame: columns of a DataFrame unchanged, those of an array as checked numbers."""
        fitting = y is not None
        if isinstance(X, pd.DataFrame):
            X = X.drop(columns=[name for name in self.not_features_ if name in X.columns])
            if len(X) == 0 or X.shape[1] == 0:
                raise InputError(f"X has shape {X.shape}, with 0 feature(s) or 0 sample(s): a minimum of 1 is required")
            validate_data(self, X, skip_check_array=True, reset=fitting)
            y = _checked_target(y, len(X)) if fitting else y
            return X.set_axis([str(name) for name in X.columns], axis=1), y
        options: dict[str, Any] = {"dtype": "numeric", "ensure_all_finite": "allow-nan", "reset": fitting}
        if fitting:
            X, y = validate_data(self, X, y, multi_output=True, y_numeric=False, **options)
        else:
            X = validate_data(self, X, **options)
        return pd.DataFrame(np.asarray(X, dtype=np.float64), columns=feature_names(self, X.shape[1]), copy=False), y


def _name_of(values: Any, usual: str) -> str:
    """Return the name of a Series, or of the column that a text names; else the usual one."""
    name = values if isinstance(values, str) else values.name if isinstance(values, pd.Series) else None
    return name if isinstance(name, str) and name else usual


def _labels_of(X: Any, labels: Any, what: str) -> NDArray[Any] | None:
    """Return labels as they are given, or the column of `X` that a text names; None without labels."""
    if not isinstance(labels, str):
        return None if labels is None else np.asarray(labels)
    if not isinstance(X, pd.DataFrame) or labels not in X.columns:
        raise InputError(f"X has no column {labels!r} ({what}=): pass the name of a column, or one label per row")
    return np.asarray(X[labels].to_numpy())


def _strata(labels: NDArray[Any], n: int) -> NamedStrata:
    code, known = codes(labels, "strata", n)
    return NamedStrata(code, tuple(map(str, known)))


def _checked_target(y: Any, n: int) -> NDArray[Any]:
    """Check the target of a DataFrame: as many values as rows, none missing or infinite."""
    target = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    check_consistent_length(np.empty(n), target)
    return np.asarray(target)
