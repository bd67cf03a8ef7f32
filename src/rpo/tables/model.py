"""A model fitted to a table: it takes tables as they come, and says what it did about what they lack."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rpo.exceptions import InputError
from rpo.frames.columns import Column, as_text, names_of, transform, typed
from rpo.frames.preparing import Prepared
from rpo.io import Grouping, Task, few

OURS, PLAIN = "rpo", "erm-l2"  # what is fitted unless asked otherwise, and what it must beat
MOST_NAMED = 5


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


def fit_table(
    ready: Prepared,
    *,
    method: str = OURS,
    grouping: Grouping = "auto",
    steps: int = 400,
    random_state: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 60.0,
) -> TableModel:
    """Fit one method to a prepared table, at its default settings; `checkpoint` and `every` as in `fit`.

    >>> from rpo.frames import prepare
    >>> table = pd.DataFrame({"x": range(40), "y": range(40), "d": ["a", "b"] * 20})
    >>> model = fit_table(prepare(table, target="y", domain="d"), method="erm-l2", steps=20)
    >>> model.task, dict(model.domains)
    ('regression', {'a': 20, 'b': 20})
    """
    from rpo import estimators

    common: dict[str, Any] = {"grouping": grouping, "steps": steps, "random_state": random_state}
    kind = "Regressor" if ready.task == "regression" else "Classifier"
    if method == OURS:
        estimator = getattr(estimators, f"RPO{kind}")(**common)
    else:
        estimator = getattr(estimators, f"Domain{kind}")(method, **common)
    strata = None if ready.strata is None else np.asarray(ready.strata.names, dtype=object)[ready.strata.labels]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = pd.DataFrame(ready.X, columns=unique_names(ready.columns), copy=False)
        estimator.fit(X, ready.y, domains=ready.domains, strata=strata, checkpoint=checkpoint, every=every)
    labels, count = np.unique(ready.domains, return_counts=True)
    return TableModel(
        estimator=estimator,
        columns=ready.columns,
        target=ready.target,
        domain=ready.domain,
        task=ready.task,
        rows=len(ready.y),
        domains=dict(zip(map(str, labels), map(int, count), strict=True)),
        notes=(*ready.notes, *(" ".join(str(warning.message).split()) for warning in caught), *_said(estimator)),
    )


def _said(estimator: Any) -> list[str]:
    """What a method that screens and weighs did: inputs it does not use, and whether any row counts less."""
    kept, weight = estimator.state_.get("kept"), estimator.state_.get("weight")
    names = [] if kept is None else [str(name) for name in estimator.feature_names_in_[kept == 0]]
    said = [f"not used, for the slope on the target differs across domains: {_list(names)}"] if names else []
    if weight is not None and np.all(weight == 1):
        said.append("no domain or stratum is surely noisier than the ordinary: all rows count the same")
    return said


def unique_names(columns: Sequence[Column]) -> list[str]:
    """The names of the model's inputs, numbered where two columns of the table make the same one.

    >>> unique_names([Column(name="a", kind="number", gaps=True), Column(name="a missing", kind="number")])
    ['a', 'a missing', 'a missing (2)']
    """
    names = names_of(columns)[0]
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        names[place] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names


def predict_table(model: TableModel, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """A prediction for each row, with the domain if the table names it, and what was odd about the table.

    For classes there is a column of probabilities for each. A column that is lacking is filled by its median, or by no
    category at all; so is a value that is not what the column was fitted on.

    >>> from rpo.frames import prepare
    >>> table = pd.DataFrame({"x": range(40), "z": range(40), "y": range(40), "d": ["a", "b"] * 20})
    >>> model = fit_table(prepare(table, target="y", domain="d"), method="erm-l2", steps=20)
    >>> predict_table(model, pd.DataFrame({"x": [1.0], "d": ["c"]}))[1]
    ["column 'z' is lacking: 19.5, its median, is used in every row", "1 row is of a domain not seen in fitting: 'c'"]
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    lacking = [column for column in model.columns if column.name not in frame.columns]
    if len(lacking) == len(model.columns):
        raise InputError(f"the table has none of the columns of the model: it needs {_list([c.name for c in lacking])}")
    notes = [_lacking(column) for column in lacking]
    given = frame.assign(**{column.name: np.nan for column in lacking}) if lacking else frame
    for column in model.columns:
        if column.name in frame.columns:
            notes += _odd(frame[column.name], column)
    X = pd.DataFrame(transform(given, model.columns), columns=unique_names(model.columns), copy=False)
    found: dict[str, Any] = {}
    if model.domain is not None and model.domain in frame.columns:
        label = as_text(frame[model.domain])
        found[model.domain] = frame[model.domain].to_numpy()
        new = ~label.isin(list(model.domains))
        if new.any():
            are = "1 row is" if new.sum() == 1 else f"{int(new.sum()):,} rows are"
            names = label[new].unique().tolist()
            notes.append(f"{are} of {'a domain' if len(names) == 1 else 'domains'} not seen in fitting: {_list(names)}")
    found["prediction"] = model.estimator.predict(X)
    if model.task == "classification":
        shares = model.estimator.predict_proba(X)
        found |= {f"probability of {name}": shares[:, k] for k, name in enumerate(model.estimator.classes_)}
    return pd.DataFrame(found), notes


def _lacking(column: Column) -> str:
    if column.kind == "category":
        return f"column {column.name!r} is lacking: no category is assumed in any row"
    fill = str(np.datetime64(int(column.fill), "D")) if column.kind == "date" else f"{column.fill:g}"
    return f"column {column.name!r} is lacking: {fill}, its median, is used in every row"


def _odd(values: "pd.Series[Any]", column: Column) -> list[str]:
    """What the values of a column are that the model did not see in fitting."""
    numbers, known = typed(values, column), values.notna().to_numpy()
    if column.kind == "category":
        new = (numbers < 0) & known
        names = [name for name in as_text(values[new]).unique().tolist() if name not in column.categories]
        return [f"column {column.name!r} has categories not kept in fitting: {_list(names)}"] if names else []
    if np.isinf(numbers).any():
        raise InputError(f"column {column.name!r} is infinite in {int(np.isinf(numbers).sum())} rows: correct them")
    unread = int((np.isnan(numbers) & known).sum())
    notes = []
    if unread:
        notes.append(f"column {column.name!r} has {unread:,} values that are no {column.kind}: taken as missing")
    if not column.gaps and (missing := int((~known).sum())):
        notes.append(f"column {column.name!r} is missing in {missing:,} rows, and never was in fitting: median used")
    return notes


def _list(names: Sequence[str]) -> str:
    return few([repr(str(name)[:60]) for name in names], MOST_NAMED)
