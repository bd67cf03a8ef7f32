"""The rows of a dataset as a learner takes them, a part at a time: for learners that are fitted to all of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpo._judging.measuring import Roles, rows_of
from rpo._streaming import Sample, roles_of
from rpo._table.batches import numbers_of
from rpo._table.columns import Array, Column
from rpo._table.dataset import Dataset, Part
from rpo.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Learning:
    """Features, target (a number, or the place of a class) and weight of every row of a part."""

    dataset: Dataset
    roles: Roles
    kept: NDArray[np.intp]
    """Features that the model uses."""
    weight: Array
    """What a row of each domain counts."""
    counts: str | None = None
    """The column that says how often each row counts, besides."""

    def __call__(self, part: Part) -> tuple[Array, Array, Array]:
        """Of one part."""
        X, y, weight = [np.zeros((0, len(self.kept)))], [np.zeros(0)], [np.zeros(0)]
        more = [] if self.counts is None or self.counts in self.roles.read else [self.counts]
        for batch in self.dataset.batches(part, [*self.roles.read, *more]):
            rows = rows_of(batch, self.roles)
            if rows is not None:
                X.append(rows.X[:, self.kept])
                y.append(rows.y)
                weight.append(self.weight[rows.domain] * self._counted(rows.batch))
        return np.concatenate(X), np.concatenate(y), np.concatenate(weight)

    def _counted(self, batch: Any) -> Array | float:
        if self.counts is None:
            return 1.0
        found = numbers_of(batch.column(self.counts), Column(name=self.counts, kind="number"))
        bad = int((~(np.isfinite(found) & (found >= 0))).sum())
        if bad:
            raise InputError(
                f"the weight {self.counts!r} is missing, negative or not a number in {bad} rows: correct them"
            )
        return found


def learning_of(sample: Sample, estimator: Any, counts: str | None = None) -> Learning:
    """What a Quality model that was fitted to a sample takes of every row.

    A domain's rows count what those of the sample do on average: weights of single rows are known of the sample alone.
    """
    roles = roles_of(sample)
    code = np.searchsorted(np.array(roles.domains), sample.ready.domains.astype(str))
    rows = np.maximum(np.bincount(code, minlength=len(roles.domains)), 1)
    weight = np.bincount(code, estimator.weight_, len(roles.domains)) / rows
    return Learning(sample.dataset, roles, np.asarray(estimator.kept_), weight, counts)
