"""A model fitted to a table: it predicts any table with its columns, and notes what is missing or new in it."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rpo._io import Grouping, Show, Task, few, list_choices
from rpo._learners import NAMED
from rpo._models import QualityClassifier, QualityRegressor
from rpo._models.intervals import How
from rpo._table.columns import Column, as_text, check_reach, names_of, transform, typed
from rpo._table.table import Table, column_weights
from rpo.exceptions import InputError

OURS, PLAIN = "rpo", "erm-l2"  # the method compared with plain training
AUTO = "auto"
MOST_NAMED = 5
SEPARATOR = "; "  # between the classes of a set
MOST_FILLED = 50_000_000  # numbers made of a table that lacks most of the columns


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted estimator with the columns it was fitted on; `domains` holds the number of rows of each."""

    estimator: Any
    columns: tuple[Column, ...]
    target: str
    domain: str | None
    task: Task
    rows: int
    domains: Mapping[str, int]
    notes: tuple[str, ...]
    id: str | None = None
    """The column that tells rows apart: no feature, and passed through to the predictions."""
    threshold: float | None = None
    """The probability of the second of two classes from which on it is predicted; None for the likelier one."""


def fit_table(
    ready: Table,
    *,
    method: str = AUTO,
    weight: ArrayLike | None = None,
    grouping: Grouping = "auto",
    steps: int | None = None,
    random_state: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 60.0,
    id: str | None = None,
    threshold: float | None = None,
    verbose: Show = False,
) -> TableModel:
    """Fit a Quality model ("auto", "linear", "trees", "network"), or one method of the registry as it is.

    `weight` counts the prepared rows. `steps`, `checkpoint` and `every` are for methods of the registry.

    >>> from rpo._table import prepare
    >>> table = pd.DataFrame({"x": range(40), "y": range(40), "d": ["a", "b"] * 20})
    >>> model = fit_table(prepare(table, target="y", domain="d"), method="linear")
    >>> model.task, dict(model.domains)
    ('regression', {'a': 20, 'b': 20})
    """
    classes = np.unique(ready.y) if ready.task == "classification" else ()
    if threshold is not None and (len(classes) != 2 or not 0 < threshold < 1):
        raise InputError(
            f"threshold must be between 0 and 1 and needs two classes, got {threshold} and {len(classes)} classes"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%", UserWarning)
        if method in NAMED:
            kind = QualityRegressor if ready.task == "regression" else QualityClassifier
            estimator = kind(method, grouping=grouping, random_state=random_state, verbose=verbose)
            estimator.fit_prepared(ready, weight)
            summary = estimator.summary_
        else:
            estimator = _method(ready.task, method, grouping, steps, random_state)
            strata = None if ready.strata is None else np.asarray(ready.strata.names, object)[ready.strata.labels]
            X = pd.DataFrame(ready.X, columns=unique_names(ready.columns), copy=False)
            options: dict[str, Any] = {"checkpoint": checkpoint, "every": every, "strata": strata}
            estimator.fit(X, ready.y, sample_weight=weight, domains=ready.domains, **options)
            summary = []
    labels, count = np.unique(ready.domains, return_counts=True)
    return TableModel(
        estimator=estimator,
        columns=ready.columns,
        target=ready.target,
        domain=ready.domain,
        task=ready.task,
        rows=len(ready.y),
        domains=dict(zip(map(str, labels), map(int, count), strict=True)),
        notes=(*ready.notes, *(" ".join(str(warning.message).split()) for warning in caught), *summary),
        id=id,
        threshold=threshold,
    )


def weights_of(ready: Table, name: str) -> NDArray[np.float64]:
    """Return a column of a prepared table as weights of its rows.

    >>> from rpo._table import prepare
    >>> table = pd.DataFrame({"x": range(20), "y": range(20), "w": [1, 2] * 10})
    >>> weights_of(prepare(table, target="y", drop=["w"]), "w")[:2].tolist()
    [1.0, 2.0]
    """
    return column_weights(ready.frame, name)


def _method(task: Task, method: str, grouping: Grouping, steps: int | None, seed: int) -> Any:
    from rpo import _networks as estimators

    common: dict[str, Any] = {"grouping": grouping, "random_state": seed}
    common |= {} if steps is None else {"steps": steps}
    kind = "Regressor" if task == "regression" else "Classifier"
    if method == OURS:
        return getattr(estimators, f"RPO{kind}")(**common)
    return getattr(estimators, f"Domain{kind}")(method, **common)


def unique_names(columns: Sequence[Column]) -> list[str]:
    """Return the names of the model's inputs, numbered if two columns of the table have the same.

    >>> unique_names([Column(name="a", kind="number", gaps=True), Column(name="a missing", kind="number")])
    ['a', 'a missing', 'a missing (2)']
    """
    names = names_of(columns)[0]
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        names[place] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names


def predict_table(
    model: TableModel, frame: pd.DataFrame, *, level: float | None = None, method: How = "conformal"
) -> tuple[pd.DataFrame, list[str]]:
    """Predict each row, with the domain if the table names it; return notes about the table, too.

    For classes there is a column of probabilities for each. With a `level` there are the ends of an interval ("low",
    "high"), or a "set" of classes, that hold on a domain never seen with that probability, by `method`.

    A column that is lacking is filled by its median, or by no category at all; so is a value that is not what the
    column was fitted on.

    >>> from rpo._table import prepare
    >>> table = pd.DataFrame({"x": range(40), "z": range(40), "y": range(40), "d": ["a", "b"] * 20})
    >>> model = fit_table(prepare(table, target="y", domain="d"), method="erm-l2", steps=20)
    >>> predict_table(model, pd.DataFrame({"x": [1.0], "d": ["c"]}))[1]
    ["column 'z' is missing from the table: filled with its median, 19.5",
     "1 row is from a domain not in the training data: 'c'"]
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    full, notes = add_missing(frame, model.columns)
    if isinstance(model.estimator, QualityRegressor | QualityClassifier):
        X = full[[column.name for column in model.columns]]
    else:
        X = pd.DataFrame(transform(full, model.columns), columns=unique_names(model.columns), copy=False)
    result: dict[str, Any] = {}
    if model.id is not None and model.id in frame.columns:
        result[_beside(model.id)] = frame[model.id].to_numpy()
    if model.domain is not None and model.domain in frame.columns:
        label = as_text(frame[model.domain])
        result[_beside(model.domain)] = frame[model.domain].to_numpy()
        new = ~label.isin(list(model.domains))
        if new.any():
            are = "1 row is" if new.sum() == 1 else f"{int(new.sum()):,} rows are"
            names = label[new].unique().tolist()
            notes.append(
                f"{are} from {'a domain' if len(names) == 1 else 'domains'} not in the training data: {_list(names)}"
            )
    if model.task == "regression":
        result["prediction"] = model.estimator.predict(X)
    else:
        shares, classes = model.estimator.predict_proba(X), np.asarray(model.estimator.classes_)
        second = None if model.threshold is None else (shares[:, 1] >= model.threshold).astype(np.intp)
        result["prediction"] = classes[shares.argmax(1) if second is None else second]
        result |= {f"probability of {name}": shares[:, k] for k, name in enumerate(classes)}
    if level is not None:
        result |= _interval(model, X, level, method)
    return pd.DataFrame(result), notes


def _interval(model: TableModel, X: pd.DataFrame, level: float, method: How) -> dict[str, Any]:
    """Return the ends of an interval of each row, or the names of the classes in its set."""
    if not isinstance(model.estimator, QualityRegressor | QualityClassifier):
        raise InputError(f"intervals need a model with held-out domains: fit it with --method {list_choices(NAMED)}")
    interval = model.estimator.predict_interval(X, level, method=method)
    if model.task == "regression":
        return {"low": interval[:, 0], "high": interval[:, 1]}
    names = np.asarray(model.estimator.classes_).astype(str)
    return {"set": [SEPARATOR.join(names[row]) for row in interval]}


def add_missing(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[pd.DataFrame, list[str]]:
    """Add missing columns of a model to a table, as empty ones; return notes about the table, too.

    >>> add_missing(pd.DataFrame({"a": [1.0]}), [Column(name=name, kind="number") for name in "ab"])[1]
    ["column 'b' is missing from the table: filled with its median, 0"]
    """
    lacking = [column for column in columns if column.name not in frame.columns]
    if len(lacking) == len(columns):
        raise InputError(f"the table has none of the columns that the model needs: {_list([c.name for c in lacking])}")
    if 2 * len(lacking) > len(columns) and len(frame) * len(names_of(columns)[0]) > MOST_FILLED:
        raise InputError(
            f"{len(lacking):,} of the {len(columns):,} columns that the model needs are missing from the table"
        )
    notes = [lacking_words(column) for column in lacking]
    for column in columns:
        if column.name in frame.columns:
            notes += _odd(frame[column.name], column)
    return (frame.assign(**{column.name: np.nan for column in lacking}) if lacking else frame), notes


def _root_mean_square(values: NDArray[np.float64]) -> float:
    """Compute √(Σ v²/n), in units of the largest value, so that squares do not overflow."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest * float(np.sqrt(np.mean((values / largest) ** 2))) if largest > 0 else 0.0


def _beside(name: str) -> str:
    """Return the name of a column of the table beside the predictions, other than theirs."""
    return f"{name} (given)" if name == "prediction" or name.startswith("probability of ") else name


def score_table(model: TableModel, predictions: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame | None:
    """Compute errors of predictions, if the table has the target: all rows, then each domain, largest first.

    Root mean squared error beside that of the rows' own mean; for classes the share of wrong ones and Brier's score.
    Where there are intervals or sets, the share of rows that they hold ("covered").

    >>> from rpo._table import prepare
    >>> table = pd.DataFrame({"x": range(40), "y": range(40), "d": ["a", "b"] * 20})
    >>> model = fit_table(prepare(table, target="y", domain="d"), method="linear")
    >>> score_table(model, predict_table(model, table)[0], table)["rows"].tolist()
    [40, 20, 20]
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    if model.target not in frame.columns or not frame[model.target].notna().any():
        return None
    known = frame[model.target].notna().to_numpy()
    part, truth = predictions[known], frame.loc[known, model.target]
    if model.task == "regression":
        y = typed(truth, Column(name=model.target, kind="number"))
        if not np.isfinite(y).all():
            raise InputError(
                f"the target {model.target!r} is not a number in every row: correct it, or remove the column"
            )
        error = part["prediction"].to_numpy() - y
        inside = ((part["low"] <= y) & (y <= part["high"])).to_numpy() if "low" in part else None

        def figures(mask: NDArray[np.bool_]) -> dict[str, float]:
            errors = {"rmse": _root_mean_square(error[mask]), "deviation": float(y[mask].std())}
            return errors | ({} if inside is None else {"covered": float(inside[mask].mean())})
    else:
        label = as_text(truth).to_numpy(dtype=str)
        classes = np.asarray(model.estimator.classes_).astype(str)
        shares = part[[f"probability of {name}" for name in model.estimator.classes_]].to_numpy()
        brier = ((shares - (label[:, None] == classes)) ** 2).sum(1) / 2
        wrong = part["prediction"].to_numpy().astype(str) != label
        inside = None
        if "set" in part:
            pairs = zip(label, part["set"], strict=True)
            inside = np.array([own in names.split(SEPARATOR) for own, names in pairs], dtype=bool)

        def figures(mask: NDArray[np.bool_]) -> dict[str, float]:
            error = {"wrong": float(wrong[mask].mean()), "brier": float(brier[mask].mean())}
            return error | ({} if inside is None else {"covered": float(inside[mask].mean())})

    every = np.ones(len(part), dtype=bool)
    rows = [{"domain": "all", "rows": len(part), **figures(every)}]
    if model.domain is not None and model.domain in frame.columns:
        where = as_text(frame.loc[known, model.domain]).to_numpy(dtype=str)
        names, count = np.unique(where, return_counts=True)
        rows += [
            {"domain": str(names[k]), "rows": int(count[k]), **figures(where == names[k])}
            for k in np.argsort(-count, kind="stable")
        ]
    return pd.DataFrame(rows)


def lacking_words(column: Column) -> str:
    """Describe what is used in place of a column that is missing."""
    if column.kind == "category":
        return f"column {column.name!r} is missing from the table: no category is assumed in any row"
    fill = str(np.datetime64(int(column.fill), "D")) if column.kind == "date" else f"{column.fill:g}"
    return f"column {column.name!r} is missing from the table: filled with its median, {fill}"


def _odd(values: "pd.Series[Any]", column: Column) -> list[str]:
    """Describe the values of a column that were not in the training data."""
    numbers, known = typed(values, column), values.notna().to_numpy()
    if column.kind == "category":
        new = (numbers < 0) & known
        names = [name for name in as_text(values[new]).unique().tolist() if name not in column.categories]
        return (
            [f"column {column.name!r} has categories that are not in the training data: {_list(names)}"]
            if names
            else []
        )
    check_reach(numbers, column.name)
    unread = int((np.isnan(numbers) & known).sum())
    notes = []
    if unread:
        notes.append(f"column {column.name!r} has {unread:,} values that are not a {column.kind}: treated as missing")
    if not column.gaps and (missing := int((~known).sum())):
        notes.append(
            f"column {column.name!r} is missing in {missing:,} rows, but never in training: filled with the median"
        )
    return notes


def _list(names: Sequence[str]) -> str:
    return few([repr(str(name)[:60]) for name in names], MOST_NAMED)
