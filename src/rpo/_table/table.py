"""A table with its roles: target, domain, strata and features checked, the task recognised, columns as numbers."""

import difflib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._io import AskedTask, Task, few
from rpo._table.columns import (
    LARGEST,
    SMALLEST,
    Array,
    Column,
    LeftOut,
    Room,
    as_text,
    kind_of,
    learn,
    names_of,
    transform,
    typed,
)
from rpo.exceptions import InputError
from rpo.grouping import NamedStrata, strata_from_columns

FEWEST_ROWS = 10
MOST_NAMED = 8
MOST_CLASSES = 100
MOST_DOMAINS = 2_000
# Whole numbers with at most this many values are taken for classes, unless the user says otherwise.
FEW_VALUES = 10
WITHOUT_DOMAIN = "all"
BY_ROW = ("X", "y", "domains", "row", "unit", "time", "item", "truth", "weight")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows ready for training, and what was done to get there.

    `y` holds numbers for a regression and class names for a classification; `row` is each row's number in the table
    as it came, from 1; `notes` say in plain words what was recognised, left out or filled. `unit` is what was measured
    repeatedly, `time` orders rows, `item` is what several sources labelled, `truth` the target where it is known
    (all four as they came), and `weight` counts rows; None where the table has no such column.
    """

    frame: pd.DataFrame = field(repr=False)
    X: Array = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    domains: NDArray[Any] = field(repr=False)
    row: NDArray[np.intp] = field(repr=False)
    columns: tuple[Column, ...]
    target: str
    domain: str | None
    task: Task
    strata: NamedStrata | None
    notes: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    unit: NDArray[Any] | None = field(default=None, repr=False)
    time: NDArray[Any] | None = field(default=None, repr=False)
    item: NDArray[Any] | None = field(default=None, repr=False)
    truth: NDArray[Any] | None = field(default=None, repr=False)
    weight: Array | None = field(default=None, repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the columns of X."""
        return names_of(self.columns)[0]

    @property
    def index(self) -> "pd.Index[Any]":
        """The index of the rows in the frame that was given; their places if its columns are read one at a time."""
        index: pd.Index[Any] = getattr(self.frame, "index", pd.Index(self.row - 1))
        return index

    @property
    def labels(self) -> "pd.Series[Any] | None":
        """The domain of each row as it came, with its own type; None without a column of domains."""
        return None if self.domain is None else self.frame[self.domain]

    def rows(self, places: NDArray[Any]) -> "Table":
        """Return the table of these rows alone, by their places or by a mask.

        >>> table = pd.DataFrame({"y": range(20), "x": range(20), "who": ["a", "b"] * 10}, index=range(100, 120))
        >>> few = prepare(table, target="y", unit="who").rows(np.array([3, 1]))
        >>> few.y.tolist(), few.unit.tolist(), few.index.tolist()
        ([3.0, 1.0], ['b', 'b'], [103, 101])
        """
        places = np.flatnonzero(places) if places.dtype == bool else places
        arrays = {name: values[places] for name in BY_ROW if (values := getattr(self, name)) is not None}
        strata = self.strata and NamedStrata(self.strata.labels[places], self.strata.names)
        return replace(self, frame=self.frame.iloc[places], strata=strata, **arrays)


def prepare(
    frame: pd.DataFrame,
    *,
    target: str,
    domain: str | None = None,
    strata: Sequence[str] = (),
    unit: str | None = None,
    time: str | None = None,
    item: str | None = None,
    truth: str | None = None,
    weight: str | None = None,
    task: AskedTask = "auto",
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    room: Room = np.empty,
) -> Table:
    """Check the roles, recognise the task, and turn the other columns into numbers, in an array that `room` makes.

    Columns with a role (`strata` aside) and those to `drop` are no features.

    >>> table = pd.DataFrame({"y": range(20), "x": range(20), "where": ["a", "b"] * 10})
    >>> ready = prepare(table, target="y", domain="where")
    >>> ready.task, ready.names, ready.notes[0]
    ('regression', ['x'], "the target 'y' is numeric: regression")
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    named = {"unit": unit, "time": time, "item": item, "truth": truth, "weight": weight}
    roles = {role: name for role, name in named.items() if name is not None}
    _check_roles(frame, target, domain, strata, drop, category, roles)
    frame, row, notes = _with_target(frame, target)
    recognised, words = recognise(frame[target], target, task)
    y = target_values(frame[target], target, recognised)
    domains = domain_labels(frame, domain)
    columns, left_out = _features(frame, {target, domain, *drop, *roles.values()}, category)
    return Table(
        frame=frame,
        X=transform(frame, columns, room),
        y=y,
        domains=domains,
        row=row,
        columns=tuple(columns),
        target=target,
        domain=domain,
        task=recognised,
        strata=strata_from_columns(frame[list(strata)].reset_index(drop=True)) if strata else None,
        notes=(words, *notes, *_notes_on(columns, left_out)),
        left_out=tuple(left_out),
        **_role_values(frame, roles),
    )


def _with_target(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, NDArray[np.intp], list[str]]:
    """Return the rows that have a target, their numbers in the table, and a note on those that were dropped."""
    known = frame[target].notna().to_numpy()
    if not known.any():
        raise InputError(f"the target {target!r} has no values: choose another column")
    row, dropped = np.flatnonzero(known) + 1, int((~known).sum())
    if len(row) < FEWEST_ROWS:
        raise InputError(f"only {len(row)} rows have a target: at least {FEWEST_ROWS} are needed")
    notes = [f"{dropped:,} rows without a target were dropped"] if dropped else []
    return frame[known] if dropped else frame, row, notes


def _notes_on(columns: Sequence[Column], left_out: Sequence[LeftOut]) -> list[str]:
    notes = [f"column {out.name!r} was dropped: {out.reason}" for out in left_out]
    if gaps := [column.name for column in columns if column.gaps]:
        notes.append(f"missing values were filled with the median and marked in an indicator column: {_quote(gaps)}")
    return notes


def _role_values(frame: pd.DataFrame, roles: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns with a role as they came, and weights as numbers."""
    values: dict[str, Any] = {role: frame[name].to_numpy() for role, name in roles.items() if role != "weight"}
    return values | ({"weight": column_weights(frame, roles["weight"])} if "weight" in roles else {})


def recognise(values: "pd.Series[Any]", name: str, asked: AskedTask = "auto") -> tuple[Task, str]:
    """Return the task for a target, and a sentence with the reason.

    >>> recognise(pd.Series(["yes", "no"]), "bought")
    ('classification', "the target 'bought' has 2 classes: classification")
    """
    if asked not in get_args(AskedTask):
        raise InputError(f"task must be auto, regression or classification, got {asked!r}")
    known = values.dropna()
    distinct = int(known.nunique())
    if asked != "auto":
        return asked, f"the target {name!r} has {distinct:,} values: {asked}, as requested"
    kind = "category" if pd.api.types.is_bool_dtype(known) else kind_of(known, name)
    if kind == "date":
        raise InputError(f"the target {name!r} is a date: convert it to a number or a class first")
    if kind == "category":
        return "classification", f"the target {name!r} has {distinct:,} classes: classification"
    numbers = typed(known, Column(name=name, kind="number"))
    few = distinct <= FEW_VALUES and bool(np.isfinite(numbers).all() and (numbers % 1 == 0).all())
    if (few or distinct == 2) and distinct > 1:
        words = f"the target {name!r} has {distinct} values: classification (--task regression treats them as numbers)"
        return "classification", words
    return "regression", f"the target {name!r} is numeric: regression"


def target_values(values: "pd.Series[Any]", name: str, task: Task) -> NDArray[Any]:
    """Convert the target to numbers or class names; raise if it cannot be used.

    >>> target_values(pd.Series([1.0, 2.0]), "y", "regression").tolist()
    [1.0, 2.0]
    """
    if task == "classification":
        labels: NDArray[Any] = as_text(values).to_numpy(dtype=str)
        classes = len(np.unique(labels))
        if classes < 2:
            raise InputError(f"the target {name!r} is {labels[0][:40]!r} in every row: there is nothing to learn")
        if classes > MOST_CLASSES:
            raise InputError(
                f"the target {name!r} has {classes:,} classes, more than {MOST_CLASSES}: "
                "merge some, or use --task regression if they are numbers"
            )
        if classes > len(labels) / 2:
            raise InputError(
                f"the target {name!r} has {classes} classes in {len(labels)} rows, too few of each to learn from: "
                "merge some, or use --task regression if they are numbers"
            )
        return labels
    numbers = typed(values, Column(name=name, kind="number"))
    for problem, bad in (("not a number", np.isnan(numbers)), ("infinite", np.isinf(numbers))):
        if bad.any():
            example = str(values[bad].iloc[0])[:40]
            raise InputError(
                f"the target {name!r} is {problem} in {int(bad.sum())} of {len(bad)} rows, such as {example!r}: "
                "correct them or leave the cell empty"
            )
    largest = np.abs(numbers).max()
    if largest > LARGEST or 0 < largest < SMALLEST:
        raise InputError(f"the target {name!r} has values up to {largest:.1g}: use another unit")
    if np.ptp(numbers) <= 1e-12 * np.abs(numbers).max():
        raise InputError(f"the target {name!r} is {numbers[0]:g} in every row: there is nothing to learn")
    return numbers


def domain_labels(frame: pd.DataFrame, domain: str | None) -> NDArray[Any]:
    """Return the domain of each row as text; the same for all rows if no column is named.

    >>> domain_labels(pd.DataFrame({"site": [1, 1, 2]}), "site").tolist()
    ['1', '1', '2']
    """
    if domain is None:
        return np.full(len(frame), WITHOUT_DOMAIN)
    missing = int(frame[domain].isna().sum())
    if missing:
        raise InputError(
            f"the domain {domain!r} is missing in {missing} of {len(frame)} rows: fill it in, or drop these rows"
        )
    labels: NDArray[Any] = as_text(frame[domain]).to_numpy(dtype=str)
    number = len(np.unique(labels))
    if number == len(labels):
        raise InputError(f"the domain {domain!r} is different in every row: choose a column with repeated values")
    if number > MOST_DOMAINS:
        raise InputError(
            f"the domain {domain!r} has {number:,} values, but at most {MOST_DOMAINS:,} are supported: group them"
        )
    return labels


def column_weights(frame: pd.DataFrame, name: str) -> Array:
    """Return a column as weights of the rows.

    >>> column_weights(pd.DataFrame({"w": ["1", "2.5"]}), "w").tolist()
    [1.0, 2.5]
    """
    weight = typed(frame[name], Column(name=name, kind="number"))
    bad = int((~(np.isfinite(weight) & (weight >= 0))).sum())
    if bad:
        raise InputError(f"the weight {name!r} is missing, negative or not a number in {bad} rows: correct them")
    if not weight.any():
        raise InputError(f"the weight {name!r} is zero in every row: at least one must be positive")
    return weight


def _features(
    frame: pd.DataFrame, aside: Container[str | None], category: Sequence[str]
) -> tuple[list[Column], list[LeftOut]]:
    used = [name for name in frame.columns if name not in aside]
    learned = [learn(frame[name], name, category=name in category) for name in used]
    columns = [column for column in learned if isinstance(column, Column)]
    left_out = [column for column in learned if isinstance(column, LeftOut)]
    if not columns:
        why = "".join(f"; {out.name!r} cannot be used ({out.reason})" for out in left_out[:1])
        raise InputError(
            f"there is no column to predict from: besides target and domain, at least one column must vary{why}"
        )
    return columns, left_out


def _check_roles(
    frame: pd.DataFrame,
    target: str,
    domain: str | None,
    strata: Sequence[str],
    drop: Sequence[str],
    category: Sequence[str],
    more: Mapping[str, str],
) -> None:
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"the table has the column {twice!r} more than once: rename one of them")
    roles = {"--target": [target], "--domain": [] if domain is None else [domain]}
    roles |= {"--strata": list(strata), "--drop": list(drop), "--category": list(category)}
    roles |= {f"--{role}": [name] for role, name in more.items()}
    for option, names in roles.items():
        for name in names:
            if name not in frame.columns:
                near = difflib.get_close_matches(name, list(frame.columns), 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {_quote(frame.columns)}"
                raise InputError(f"the table has no column {name!r} ({option}): {hint}")
    if target in (domain, *strata):
        raise InputError(f"{target!r} is the target: it cannot also be the domain or define strata")
    for role in (role for role, name in more.items() if name == target):
        raise InputError(f"{target!r} is the target: it cannot also be the {role}")


def _quote(names: Iterable[str]) -> str:
    return few([repr(name) for name in names], MOST_NAMED)
