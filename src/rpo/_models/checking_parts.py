"""A dataset held against a model, part by part: the same sums as of a table in memory, and the same words."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpo._io import one_thread
from rpo._judging.measuring import target_of
from rpo._judging.sums import Sums, added
from rpo._models.checking import NEW, Check, check_model, told
from rpo._models.new_domains import outputs_of
from rpo._models.new_sums import NewRows, new_domains, new_sums
from rpo._models.table_model import TableModel, lacking_words
from rpo._streaming import Running
from rpo._table.batches import check_finite, filled, numbers_of, places
from rpo._table.columns import Array, as_text
from rpo._table.dataset import Dataset, Part, skipped_words
from rpo._table.passes import Given, passed
from rpo._table.sampling import Counting, counted
from rpo.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Checking:
    """Sums of the rows of one part, by domain."""

    dataset: Dataset
    estimator: Any
    target: str | None
    domain: str | None
    domains: tuple[str, ...]
    classes: tuple[str, ...] | None

    def __call__(self, part: Part) -> Given:
        """Of one part."""
        names = [column.name for column in self.estimator.columns_ if column.name in self.dataset.columns]
        names += [name for name in (self.target, self.domain) if name is not None]
        sums, place = Sums(), {name: k for k, name in enumerate(self.domains)}
        with one_thread():
            for batch in self.dataset.batches(part, list(dict.fromkeys(names))):
                domain = np.zeros(batch.num_rows, dtype=np.intp)
                if self.domain is not None:
                    domain = places(batch.column(self.domain), place)
                rows = self._rows(batch)
                added(sums, new_sums(self.estimator.reference_, self.estimator.columns_, rows, domain, len(place)))
        return dict(sums)

    def _rows(self, batch: Any) -> NewRows:
        columns = self.estimator.columns_
        values: list[Array] = []
        gaps, unseen = (np.zeros((batch.num_rows, len(columns)), dtype=bool) for _ in range(2))
        for k, column in enumerate(columns):
            if column.name not in batch.schema.names:
                values.append(np.full(batch.num_rows, -1.0 if column.kind == "category" else np.nan))
                gaps[:, k] = True
                continue
            given = batch.column(column.name)
            values.append(numbers_of(given, column))
            gaps[:, k] = _gone(given) if column.kind == "category" else np.isnan(values[-1])
            unseen[:, k] = (column.kind == "category") & (values[-1] < 0) & ~gaps[:, k]
            if column.kind != "category":
                check_finite(values[-1], column.name)
        X = filled(values, columns)
        y = None if self.target is None else self._target(batch)
        return NewRows(X, outputs_of(self.estimator, X), y, gaps, unseen)

    def _target(self, batch: Any) -> Array:
        """Numbers, or places of classes (−1 for one that no training row has); NaN where there is none."""
        assert self.target is not None
        if self.classes is None:
            return target_of(batch, self.target, None)[0]
        found = places(batch.column(self.target), {name: k for k, name in enumerate(self.classes)})
        return np.where(found == -2, np.nan, found)


def _gone(column: Any) -> NDArray[np.bool_]:
    return np.asarray(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))


def check_dataset(
    model: TableModel,
    dataset: Dataset,
    running: Running = Running(),  # noqa: B008 (frozen)
) -> Check:
    """Whether a model can be trusted on a dataset: `rpo.check` of more rows than memory holds."""
    estimator = model.estimator
    check_model(estimator)
    lacking = [column for column in estimator.columns_ if column.name not in dataset.columns]
    if len(lacking) == len(estimator.columns_):
        raise InputError(f"{dataset.name} has none of the columns that the model needs")
    target = model.target if model.target in dataset.columns else None
    domain = model.domain if model.domain in dataset.columns else None
    options: dict[str, Any] = {"spread": running.spread, "skip_bad": running.skip_bad, "progress": running.progress}
    count, bad = passed("counting", Counting(dataset, None, domain), dataset, dict[str, int](), counted, **options)
    if count.pop("\0", 0):
        raise InputError(f"the domain {domain!r} is missing in some rows: fill them in")
    count.pop("", 0)
    dataset = dataset.without(bad) if bad else dataset
    names = tuple(sorted(count)) if domain is not None else (NEW,)
    classes = tuple(as_text(_series(estimator.classes_))) if estimator.reference_.classes else None
    work = Checking(dataset, estimator, target, domain, names, classes)

    def add(whole: Sums, given: Given, part: Part) -> Sums:  # noqa: ARG001 (as of any pass)
        return added(whole, given)

    sums, bad = passed("checking", work, dataset, Sums(), add, **options)
    notes = [lacking_words(column) for column in lacking]
    notes += [words] if (words := skipped_words([*dataset.bad, *bad])) else []
    there = sums["rows"] > 0
    sums = Sums({name: value[there] for name, value in sums.items()})
    named = [name for name, some in zip(names, there, strict=True) if some]
    new = new_domains(estimator.reference_, sums)
    return told(estimator, named, new, [column.name for column in lacking], notes)


def _series(values: NDArray[Any]) -> Any:
    import pandas as pd

    return pd.Series(values)
