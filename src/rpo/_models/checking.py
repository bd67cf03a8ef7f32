"""Check whether a model can be trusted on a new table, in memory or in parts, by comparison with training domains."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rpo._io import Bar, list_choices, one_thread
from rpo._judging.measuring import target_of, values_of
from rpo._judging.sums import Sums, added
from rpo._learners import NAMED
from rpo._models import QualityClassifier, QualityRegressor
from rpo._models.against import VERDICTS, DomainCheck, Training, Verdict, compare_domain
from rpo._models.new_domains import outputs_of
from rpo._models.new_sums import NewRows, new_domains, new_sums, rows_of_frame
from rpo._models.table_model import TableModel, add_missing, lacking_words
from rpo._public import public
from rpo._stats.ridge import Array
from rpo._table.batches import filled, known, places
from rpo._table.columns import Column, as_text, typed
from rpo._table.dataset import Dataset, Part, skipped_words
from rpo._table.encoding import numbers
from rpo._table.passes import Given, Running, passed
from rpo._table.sampling import Counting, Counts, counted
from rpo.exceptions import InputError

NEW = "(new)"  # the name of the domain of a table that names none
MOST_NAMED = 4


@public
@dataclass(frozen=True, eq=False)
class Check:
    """The result of checking a model on new domains.

    `domains` has a row for each domain of the table, `columns` one for each of its columns in each domain, `distances`
    one for each training domain. `summary` says it in sentences, `notes` what was missing or unseen in the table.
    """

    verdict: Verdict
    """The worst of all domains."""
    summary: tuple[str, ...]
    domains: pd.DataFrame = field(repr=False)
    columns: pd.DataFrame = field(repr=False)
    distances: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...]
    task: str
    training_domains: int

    def __str__(self) -> str:
        return "\n".join(self.summary)


@public
def check(
    model: Any, frame: pd.DataFrame, *, target: str | ArrayLike | None = None, domain: str | ArrayLike | None = None
) -> Check:
    """Check whether a model can be trusted on a new table.

    Parameters
    ----------
    model : QualityRegressor, QualityClassifier or a loaded folder
        A fitted model. A folder written by `rpo fit` (`rpo.load`) knows the names of target and domain.
    frame : DataFrame
        The new table.
    target : str or one value per row, optional
        If given, the error is compared with that of held-out domains; otherwise only columns are checked.
    domain : str or one label per row, optional
        Each domain is checked separately; without it the table counts as one new domain.

    Returns
    -------
    Check
        `verdict`, `summary` in sentences, and the data frames `domains`, `columns` and `distances`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, rpo
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"]).assign(site=np.arange(400) % 20)
    >>> model = rpo.QualityRegressor("linear").fit(table, table["a"] + rng.normal(size=400), domains="site")
    >>> rpo.check(model, table[["a", "b"]][:50] + [0, 9]).verdict
    'outside'
    """
    if isinstance(model, str | os.PathLike):
        from rpo._models.table_files import load_model

        model = load_model(model)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"the table must be a DataFrame, got a {type(frame).__name__}")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    estimator = model
    if isinstance(model, TableModel):
        estimator = model.estimator
        target = model.target if target is None and model.target in frame.columns else target
        domain = model.domain if domain is None and model.domain in frame.columns else domain
    check_model(estimator)
    if len(frame) == 0:
        raise InputError("the table has no rows")
    full, notes = add_missing(frame, estimator.columns_)
    where = np.full(len(frame), NEW) if domain is None else _labels(frame, domain, "domain")
    y = None if target is None else _target(frame, target, estimator)
    if y is not None and not (there := ~np.isnan(y)).any():
        y = None
    elif y is not None and not there.all():
        notes.append(f"{int((~there).sum()):,} rows have no target: only their columns are checked")
    X = numbers(full, estimator.columns_)
    lacking = [column.name for column in estimator.columns_ if column.name not in frame.columns]
    rows = rows_of_frame(estimator.columns_, full, X, outputs_of(estimator, X), y)
    names, code = np.unique(where, return_inverse=True)
    sums = new_sums(estimator.reference_, estimator.columns_, rows, code, len(names))
    return _check_of(estimator, names.tolist(), sums, lacking, notes)


@dataclass(frozen=True, eq=False)
class Checking:
    """Sums of the rows of one part of a dataset, by domain."""

    dataset: Dataset
    estimator: Any
    target: str | None
    domain: str | None
    domains: tuple[str, ...]
    classes: tuple[str, ...] | None

    def __call__(self, part: Part) -> Given:
        """Return the sums of one part."""
        columns = self.estimator.columns_
        names = [column.name for column in columns if column.name in self.dataset.columns]
        names += [name for name in (self.target, self.domain) if name is not None]
        sums, place = Sums(), {name: k for k, name in enumerate(self.domains)}
        with one_thread():
            for batch in self.dataset.batches(part, list(dict.fromkeys(names))):
                domain = np.zeros(batch.num_rows, dtype=np.intp)
                if self.domain is not None:
                    domain = places(batch.column(self.domain), place)
                added(sums, new_sums(self.estimator.reference_, columns, self._rows(batch), domain, len(place)))
        return dict(sums)

    def _rows(self, batch: Any) -> NewRows:
        columns, there = self.estimator.columns_, batch.schema.names
        values = values_of(batch, columns)
        every = np.ones(batch.num_rows, dtype=bool)
        gone = [~known(batch.column(column.name)) if column.name in there else every for column in columns]
        X = filled(values, columns)
        y = None if self.target is None else target_of(batch, self.target, self.classes, other=-1)[0]
        return NewRows.of(columns, values, gone, X, outputs_of(self.estimator, X), y)


def check_dataset(
    model: TableModel,
    dataset: Dataset,
    running: Running = Running(),  # noqa: B008 (frozen)
) -> Check:
    """Check a dataset that does not fit into memory against a fitted model."""
    estimator = model.estimator
    check_model(estimator)
    lacking = [column for column in estimator.columns_ if column.name not in dataset.columns]
    if len(lacking) == len(estimator.columns_):
        raise InputError(f"{dataset.name} has none of the columns that the model needs")
    target = model.target if model.target in dataset.columns else None
    domain = model.domain if model.domain in dataset.columns else None
    counts, bad = passed("counting", Counting(dataset, None, domain), dataset, Counts(), counted, running)
    if counts.without_domain:
        raise InputError(f"the domain {domain!r} is missing in some rows: fill them in")
    dataset = dataset.without(bad) if bad else dataset
    names = tuple(sorted(counts.by_domain)) if domain is not None else (NEW,)
    classes = tuple(as_text(pd.Series(estimator.classes_))) if estimator.reference_.classes else None
    work = Checking(dataset, estimator, target, domain, names, classes)
    sums, bad = passed("checking", work, dataset, Sums(), added, running)
    notes = [lacking_words(column) for column in lacking]
    notes += [skipped_words([*dataset.bad, *bad])] if dataset.bad or bad else []
    there = sums["rows"] > 0
    sums = {name: value[there] for name, value in sums.items()}
    named = [name for name, is_there in zip(names, there, strict=True) if is_there]
    return _check_of(estimator, named, sums, [column.name for column in lacking], notes)


def check_model(estimator: Any) -> None:
    """Refuse a model that no new domain can be held against."""
    if not isinstance(estimator, QualityRegressor | QualityClassifier):
        raise InputError(f"a check needs a model with held-out domains: fit it with --method {list_choices(NAMED)}")
    if not hasattr(estimator, "reference_"):
        raise InputError("the model is not fitted: call fit first")
    if estimator.adaptation_ is not None:
        raise InputError("the model was adapted to a domain: use the original model")


def _check_of(estimator: Any, names: list[str], sums: Sums, lacking: list[str], notes: list[str]) -> Check:
    """Return what a fitted model makes of new domains, from the sums of their rows."""
    training, new, checks = Training(estimator), new_domains(estimator.reference_, sums), list[DomainCheck]()
    with Bar(len(names), "checking") as bar:
        for name, domain in zip(names, new, strict=True):
            checks.append(compare_domain(training, str(name), domain, lacking))
            bar.advance()
    order = sorted(range(len(checks)), key=lambda k: (-VERDICTS.index(checks[k].figures["verdict"]), k))
    parts = [checks[k] for k in order]
    return Check(
        verdict=parts[0].figures["verdict"],
        summary=_summary(parts, len(estimator.domains_)),
        domains=pd.DataFrame([part.figures for part in parts]),
        columns=pd.concat([part.columns for part in parts], ignore_index=True),
        distances=pd.concat([part.distances for part in parts], ignore_index=True),
        notes=tuple(notes),
        task="classification" if estimator.reference_.classes else "regression",
        training_domains=len(estimator.domains_),
    )


def _summary(parts: list[DomainCheck], domains: int) -> tuple[str, ...]:
    """Return the verdict of the table, or of each of its domains, worst first, in sentences."""
    if len(parts) == 1:
        row = parts[0].figures
        name = "The table" if row["domain"] == NEW else f"Domain {row['domain']!r}"
        head = f"{name} ({row['rows']:,} rows): {row['verdict']}."
        seen = ["It is a training domain, so this result is too favourable."] if row["seen"] else []
        return (head, *parts[0].words, *seen)
    count = {verdict: sum(part.figures["verdict"] == verdict for part in parts) for verdict in reversed(VERDICTS)}
    counts = ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number)
    lines = [f"{len(parts)} domains: {counts} (the model was fitted to {domains})."]
    for part in parts[:MOST_NAMED]:
        row = part.figures
        if row["verdict"] != "as usual":
            lines.append(f"Domain {row['domain']!r} ({row['rows']:,} rows): {row['verdict']}. {' '.join(part.words)}")
    if seen := sum(part.figures["seen"] for part in parts):
        lines.append(f"Training domains among them: {seen}. Their results are too favourable.")
    return tuple(lines)


def _labels(frame: pd.DataFrame, labels: Any, what: str) -> NDArray[Any]:
    if isinstance(labels, str):
        if labels not in frame.columns:
            raise InputError(f"the table has no column {labels!r} ({what}=)")
        labels = frame[labels]
    values = as_text(pd.Series(np.asarray(labels)))
    if len(values) != len(frame):
        raise InputError(f"{what} has {len(values)} values, but the table has {len(frame)} rows")
    return values.to_numpy(dtype=str)


def _target(frame: pd.DataFrame, target: Any, estimator: Any) -> Array:
    """Return numbers, or places of classes (−1 for one that no training row has); NaN where there is none."""
    if isinstance(target, str):
        if target not in frame.columns:
            raise InputError(f"the table has no column {target!r} (target=)")
        target = frame[target]
    values = pd.Series(np.asarray(target))
    if len(values) != len(frame):
        raise InputError(f"target has {len(values)} values, but the table has {len(frame)} rows")
    gone = values.isna().to_numpy()
    if estimator.reference_.classes:
        places: Mapping[str, int] = {name: k for k, name in enumerate(as_text(pd.Series(estimator.classes_)))}
        return np.where(gone, np.nan, as_text(values).map(lambda label: places.get(label, -1)).to_numpy(np.float64))
    y = typed(values, Column(name="target", kind="number"))
    bad = (np.isnan(y) & ~gone) | np.isinf(y)
    if bad.any():
        raise InputError(
            f"the target is not a number in {int(bad.sum())} of {len(y)} rows: correct them, or leave them empty"
        )
    return y
