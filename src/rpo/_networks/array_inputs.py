"""Checks of the arguments of `fit` and `predict`."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d, validate_data
from torch import nn

from rpo._mapped import blocks
from rpo._networks.fetched import Inputs, Rows, as_source
from rpo._table.checks import check_given, check_moments, feature_names, sample_weights, warn_of_one_domain
from rpo.exceptions import InputError
from rpo.grouping.strata import codes

Array = NDArray[np.float64]


class ArrayInputs(BaseEstimator):  # type: ignore[misc]
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
        check_given(y)
        source = as_source(X)
        if source is not None:
            self.n_features_in_ = int((source.shape[1:] or (1,))[0])
            weight = sample_weights(sample_weight, np.empty((len(source), 1)))
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
        return rows, target, sample_weights(sample_weight, rows)

    def _check_switches(self) -> None:
        """Refuse what Python would take for true or false, and is neither."""
        for name, more in (("standardize", ()), ("compile", ()), ("verbose", ("auto",))):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_) and value not in more:
                raise InputError(f"{name} must be {' or '.join(map(repr, (True, False, *more)))}, got {value!r}")
        if not (self.n_strata is None or (isinstance(self.n_strata, int | np.integer) and self.n_strata >= 1)):
            raise InputError(f"n_strata must be a positive integer or None, got {self.n_strata!r}")

    def _names(self, rows: NDArray[Any]) -> list[str]:
        return feature_names(self, rows.shape[1])

    def _check_domains(self, domains: ArrayLike | None, n: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
        code, labels = (np.zeros(n, np.intp), np.array([0])) if domains is None else codes(domains, "domains", n)
        warn_of_one_domain(len(labels), 4)
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
    """Return whether the argument is a sequence of widths of hidden layers.

    >>> is_widths((64, 64)), is_widths(64), is_widths([0])
    (True, False, False)
    """
    if isinstance(hidden, str) or not isinstance(hidden, Sequence | np.ndarray):
        return False
    return all(isinstance(width, int | np.integer) and not isinstance(width, bool) and width >= 1 for width in hidden)


def weighted_moments(values: NDArray[Any], weight: Array) -> tuple[Array, Array]:
    r"""Compute weighted mean and standard deviation of each column; a constant column has deviation one.

    A block of rows at a time, so that values in a file stay there.

    >>> weighted_moments(np.array([[0.0, 5.0], [2.0, 5.0]]), np.array([1.0, 1.0]))
    (array([1., 5.]), array([1., 1.]))
    """
    share = weight / weight.sum()
    mean: Array = sum(share[rows] @ values[rows].astype(np.float64) for rows in blocks(len(values)))
    used = [rows for rows in blocks(len(values)) if share[rows].any()]
    farthest = np.max([np.abs(values[rows][share[rows] > 0] - mean).max(0) for rows in used], axis=0)
    # In units of a power of two near the farthest value, so that squares of tiny and of huge numbers are numbers.
    unit = np.exp2(np.frexp(farthest)[1])
    scale = unit * np.sqrt(sum(share[rows] @ ((values[rows] - mean) / unit) ** 2 for rows in used))
    # Rounding leaves a trace of deviation in a constant column.
    constant = scale <= 1e-12 * np.abs(mean)
    return mean, np.where(constant, 1.0, scale)
