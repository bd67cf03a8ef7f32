"""What `fit` and `predict` are given, checked: parameters, rows with their target and weights, labels of domains."""

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data
from torch import nn

from rpo.estimators.fetched import Inputs, Rows, as_source
from rpo.estimators.inputs import Array, check_finite, check_kinds
from rpo.exceptions import InputError, OneDomainWarning
from rpo.frames.preparing import check_moments, check_weight
from rpo.grouping.strata import codes


class ChecksInput(BaseEstimator):  # type: ignore[misc]
    """Mixed into every estimator of this package."""

    # Set by the subclasses' constructors.
    module: nn.Module | Callable[..., nn.Module] | None
    standardize: bool
    n_strata: int | None
    random_state: int | None
    compile: bool
    verbose: bool | Literal["auto"]

    def _check_rows(
        self, X: Inputs, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Rows, NDArray[Any], Array]:
        if y is None:
            raise InputError("requires y to be passed, but the target y is None")
        source = as_source(X)
        if source is not None:
            self.n_features_in_ = int((source.shape[1:] or (1,))[0])
            weight = _check_sample_weight(sample_weight, np.empty((len(source), 1)), ensure_non_negative=True)
            check_weight(weight)
            return source, column_or_1d(np.asarray(y), warn=True), weight
        check_kinds(X)
        rows, target = validate_data(
            self,
            X,
            y,
            dtype="numeric",
            ensure_all_finite=False,
            allow_nd=self.module is not None,
            y_numeric=False,
            multi_output=True,
        )
        check_finite(rows, self._names(rows))
        target = column_or_1d(target, warn=True)
        check_moments(target)
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        check_weight(weight)
        return rows, target, weight

    def _check_switches(self) -> None:
        """Refuse what Python would take for true or false, and is neither."""
        for name, more in (("standardize", ()), ("compile", ()), ("verbose", ("auto",))):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_) and value not in more:
                raise InputError(f"{name} must be {' or '.join(map(repr, (True, False, *more)))}, got {value!r}")
        if not (self.n_strata is None or (isinstance(self.n_strata, int | np.integer) and self.n_strata >= 1)):
            raise InputError(f"n_strata must be a positive integer or None, got {self.n_strata!r}")

    def _names(self, rows: NDArray[Any]) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(rows.shape[1])])]

    def _check_domains(self, domains: ArrayLike | None, n: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
        code, labels = (np.zeros(n, np.intp), np.array([0])) if domains is None else codes(domains, "domains", n)
        if len(labels) == 1:
            warnings.warn(
                "there is only one training domain: differences between domains cannot be learned",
                OneDomainWarning,
                stacklevel=4,
            )
        return code, labels

    def _seed(self) -> int:
        state = self.random_state
        if state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        if isinstance(state, np.random.RandomState):
            return int(state.randint(2**31))
        if not isinstance(state, int | np.integer) or state < 0:
            raise InputError(f"random_state must be a non-negative integer or None, got {state!r}")
        return int(state)

    def _checked_inputs(self, X: Inputs) -> Rows:
        source = as_source(X)
        if source is not None:
            return source
        check_kinds(X)
        rows: NDArray[Any] = validate_data(
            self, X, reset=False, dtype="numeric", ensure_all_finite=False, allow_nd=self.module is not None
        )
        check_finite(rows, self._names(rows))
        return rows
