"""What `fit` and `predict` are given, checked: parameters, a table with its target and weights, labels of rows."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import Tags, check_array, check_consistent_length
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from rpo._stats.ridge import Array
from rpo._table.encoding import columns_of, free_name, numbers
from rpo._table.table import WITHOUT_DOMAIN, Table, check_moments, check_weight
from rpo.exceptions import InputError
from rpo.grouping import NamedStrata
from rpo.grouping.strata import codes

CHOICES = ("auto", "on", "off")


class ChecksInput(BaseEstimator):  # type: ignore[misc]
    """Mixed into both Quality models."""

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

    def _prepared(self, X: Any, y: Any, sample_weight: Any, domains: Any, strata: Any) -> tuple[Table, Array]:
        """A table made ready for judging, and the weights of its rows."""
        frame, target, weight, domain, stratum = self._table(X, y, sample_weight, domains, strata)
        columns, left_out = columns_of(frame)
        label, place = free_name(_name_of(y, "target"), frame), free_name(_name_of(domains, "domain"), frame)
        where = np.full(len(frame), WITHOUT_DOMAIN) if domain is None else _labels(domain, "domains", len(frame))
        ready = Table(
            frame=frame.assign(**{label: target, place: where.astype(str)}),
            X=numbers(frame, columns),
            y=target,
            domains=where,
            row=np.arange(1, len(frame) + 1),
            columns=columns,
            target=label,
            domain=place,
            task="classification" if is_classifier(self) else "regression",
            strata=None if stratum is None else _strata(stratum, len(frame)),
            notes=(),
            left_out=left_out,
        )
        return ready, weight

    def _roles(self, ready: Table, sample_weight: ArrayLike | None) -> Array:
        """What is a feature in a prepared table; the checked weights of its rows."""
        self._check_choices()
        names = [column.name for column in ready.columns]
        self.feature_names_in_, self.n_features_in_ = np.array(names, dtype=object), len(names)
        self.not_features_ = tuple(str(name) for name in ready.frame.columns if name not in names)
        weight = _check_sample_weight(sample_weight, ready.X, dtype=np.float64, ensure_non_negative=True)
        check_weight(weight)
        return np.asarray(weight)

    def _table(
        self, X: Any, y: Any, sample_weight: Any, domains: Any, strata: Any
    ) -> tuple[pd.DataFrame, NDArray[Any], Array, NDArray[Any] | None, NDArray[Any] | None]:
        """Features as a frame, target, weights, and the labels of domains and strata."""
        if y is None:
            raise InputError("requires y to be passed, but the target y is None")
        self.not_features_ = tuple(name for name in (domains, strata) if isinstance(name, str))
        labels: list[NDArray[Any] | None] = []
        for what, given in (("domains", domains), ("strata", strata)):
            if isinstance(given, str):
                if not isinstance(X, pd.DataFrame) or given not in X.columns:
                    raise InputError(
                        f"X has no column {given!r} ({what}=): pass the name of a column, or one label per row"
                    )
                given = X[given].to_numpy()
            labels.append(None if given is None else np.asarray(given))
        frame, target = self._frame(X, y)
        target = column_or_1d(target, warn=True)
        check_moments(target)
        weight = _check_sample_weight(sample_weight, frame, dtype=np.float64, ensure_non_negative=True)
        check_weight(weight)
        if len(frame) < 2:
            raise InputError("there is only one sample (n_samples=1): at least two are needed")
        return frame, target, weight, labels[0], labels[1]

    def _frame(self, X: Any, y: Any = None) -> tuple[pd.DataFrame, Any]:
        """Features as a frame: of a DataFrame its columns as they are, of an array numbers, checked."""
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
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])]
        return pd.DataFrame(np.asarray(X, dtype=np.float64), columns=names, copy=False), y


def _name_of(values: Any, usual: str) -> str:
    """Return the name of a Series, or of the column that a text names; else the usual one."""
    name = values if isinstance(values, str) else values.name if isinstance(values, pd.Series) else None
    return name if isinstance(name, str) and name else usual


def _labels(labels: NDArray[Any], what: str, n: int) -> NDArray[Any]:
    """One label per row, checked."""
    code, known = codes(labels, what, n)
    return np.asarray(known)[code]


def _strata(labels: NDArray[Any], n: int) -> NamedStrata:
    code, known = codes(labels, "strata", n)
    return NamedStrata(code, tuple(map(str, known)))


def _checked_target(y: Any, n: int) -> NDArray[Any]:
    """The target beside a DataFrame: as many values as rows, none missing or infinite."""
    target = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    check_consistent_length(np.empty(n), target)
    return np.asarray(target)
