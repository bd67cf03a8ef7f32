"""The arguments of `rpo.quality`, checked: a table in either form, its roles, predictions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rpo._learners.crossfit import Expected, Problem
from rpo._stats.ridge import Array
from rpo._table.checks import row_labels
from rpo._table.encoding import free_name
from rpo._table.table import Table, prepare
from rpo.exceptions import InputError


def prepare_arguments(
    X: Any,
    y: Any,
    domains: Any,
    *,
    target: str | None,
    domain: str | None,
    strata: Any,
    unit: Any,
    sample_weight: Any,
    drop: Any,
    **options: Any,
) -> tuple[Table, int]:
    """Prepare the table, whichever way it was given, with unit and weight of its rows; and count the rows given."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(_matrix(X)).add_prefix("x")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    if target is None:
        if y is None:
            raise InputError("pass y, or the whole table with target='name'")
        frame, target = _with(frame, "target", np.asarray(y))
        if domains is not None:
            frame, domain = _with(frame, "domain", row_labels(domains, "domains", len(frame)))
    elif y is not None or domains is not None:
        raise InputError("pass either y and domains, or the columns' names as target= and domain=, not both")
    named = [strata] if isinstance(strata, str) else strata
    columns = [str(name) for name in named] if _are_names(named, frame) else []
    if not columns and np.size(named):
        # Labels are names, also if they are numbers: only columns of the table are cut into ranges.
        frame, name = _with(frame, "stratum", row_labels(named, "strata", len(frame)).astype(str))
        columns, drop = [name], [*drop, name]
    if unit is not None and not isinstance(unit, str):
        frame, unit = _with(frame, "unit", row_labels(unit, "unit", len(frame)))
    ready = prepare(frame, target=target, domain=domain, strata=columns, unit=unit, drop=drop, **options)
    if sample_weight is not None:
        ready = replace(ready, weight=_row_weights(sample_weight, len(frame))[ready.row - 1])
    return ready, len(frame)


def _matrix(X: Any) -> NDArray[Any]:
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(f"X must be two-dimensional (rows, features), got shape {array.shape}")
    return array


def _with(frame: pd.DataFrame, name: str, values: NDArray[Any]) -> tuple[pd.DataFrame, str]:
    """Return the frame with one more column, and its name, which no other has."""
    if len(values) != len(frame):
        raise InputError(f"{name} has {len(values)} values, but X has {len(frame)} rows")
    name = free_name(name, frame)
    return frame.assign(**{name: values}), name


def _are_names(values: Any, frame: pd.DataFrame) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(v, str) for v in values) and len(values) != len(frame)


def _row_weights(values: ArrayLike, n: int) -> Array:
    """Return how often each row counts."""
    weight = np.asarray(values, dtype=np.float64)
    if weight.shape != (n,):
        raise InputError(f"sample_weight must have shape ({n},), one value per row of X, got {weight.shape}")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise InputError("sample_weight must be finite and non-negative, and positive in at least one row")
    return weight


def given_predictions(predictions: NDArray[Any], problem: Problem) -> Expected:
    """Return predictions of the user's own as if a learner had made them."""
    value = np.asarray(predictions, dtype=np.float64)
    n, classes = len(problem.y), problem.n_classes
    if classes == 2 and value.ndim == 1:
        value = np.column_stack([1 - value, value])
    shape = (n, classes) if classes else (n,)
    if value.shape != shape:
        raise InputError(f"predictions must have shape {shape} (every row with a target), got {value.shape}")
    if not np.isfinite(value).all() or (classes and ((value < 0).any() or (value > 1).any())):
        raise InputError("predictions must be finite" + (", with probabilities between 0 and 1" if classes else ""))
    return Expected(value, value, np.ones(1))
