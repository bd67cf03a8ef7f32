"""LightGBM's trees fitted to every row of a dataset, distributed over the workers of a Dask cluster.

Judgements and decisions are based on a sample, as ever; only the trees are fitted anew, by LightGBM's Dask estimator.
Its workers talk to each other, so losing a worker ends the training with an error, and nothing is kept.
"""

import logging
import operator
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from queue import Empty, Queue
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpo._cluster import check_workers, connect, scheduler_needed
from rpo._judging.measuring import Roles, rows_of
from rpo._models.table_model import TableModel
from rpo._saving.nodes import Boosted
from rpo._streaming import Sample, roles_of
from rpo._table.batches import numbers_of
from rpo._table.columns import Array, Column
from rpo._table.dataset import Dataset, Part
from rpo.exceptions import InputError, TrainingError

AGAIN = "start it again, or leave out --all-rows to learn from a sample"
QUIET = logging.getLogger("rpo.lightgbm")
QUIET.setLevel(logging.CRITICAL)
MINUTES = 2  # that LightGBM waits for another worker


def check_all_rows(method: str) -> None:
    """Refuse what cannot be fitted so, before anything is computed."""
    if method != "trees":
        raise InputError("--all-rows on a cluster supports only --method trees: remove --all-rows or --cluster")
    if find_spec("lightgbm") is None:
        raise InputError("trees of all rows on a cluster need LightGBM: pip install 'rpo[cluster]'")


def fit_to_all_rows(
    model: TableModel, sample: Sample, address: str, *, weight: str | None = None, seed: int = 0
) -> TableModel:
    """Return the model of a sample with its trees fitted to all rows, by the workers of the cluster at an address."""
    estimator = model.estimator
    work = learning_of(sample, estimator, weight)
    classes = len(estimator.classes_) if model.task == "classification" else 0
    with connect(address, default=True) as client:  # LightGBM waits by it
        with scheduler_needed(address, AGAIN):
            check_workers(client, address)
        booster = _watch(lambda: _train(client, work, classes, seed), client, address)
    about = SimpleNamespace(booster_=booster, **({"classes_": np.arange(classes)} if classes else {}))
    estimator.estimator_ = Boosted.convert(about)
    notes = [f"LightGBM's trees were fitted to all {sample.total:,} rows; what to expect is that of a sample's models"]
    if estimator.weighted_:
        notes.append("a row counts what those of its domain in the sample count on average")
    return replace(model, rows=sample.total, domains=sample.rows, notes=(*model.notes, *notes))


@dataclass(frozen=True, eq=False)
class Learning:
    """Read a part for a learner: features, target (a number, or the index of a class) and weight of rows."""

    dataset: Dataset
    roles: Roles
    kept: NDArray[np.intp]
    """Features that the model uses."""
    weight: Array
    """What a row of each domain counts."""
    counts: str | None = None
    """The column that says how often each row counts, besides."""

    def __call__(self, part: Part) -> tuple[Array, Array, Array]:
        """Return the rows of one part."""
        X, y, weight = [np.zeros((0, len(self.kept)))], [np.zeros(0)], [np.zeros(0)]
        more = [] if self.counts is None or self.counts in self.roles.read else [self.counts]
        for batch in self.dataset.batches(part, [*self.roles.read, *more]):
            rows = rows_of(batch, self.roles)
            if rows is not None:
                X.append(rows.X[:, self.kept])
                y.append(rows.y)
                weight.append(self.weight[rows.domain] * self._read_counts(rows.batch))
        return np.concatenate(X), np.concatenate(y), np.concatenate(weight)

    def _read_counts(self, batch: Any) -> Array | float:
        if self.counts is None:
            return 1.0
        counts = numbers_of(batch.column(self.counts), Column(name=self.counts, kind="number"))
        bad = int((~(np.isfinite(counts) & (counts >= 0))).sum())
        if bad:
            raise InputError(
                f"the weight {self.counts!r} is missing, negative or not a number in {bad} rows: correct them"
            )
        return counts


def learning_of(sample: Sample, estimator: Any, counts: str | None = None) -> Learning:
    """Return what a Quality model that was fitted to a sample takes of every row.

    A domain's rows count what those of the sample do on average: weights of single rows are known of the sample alone.
    """
    roles = roles_of(sample)
    code = np.searchsorted(np.array(roles.domains), sample.ready.domains.astype(str))
    rows = np.maximum(np.bincount(code, minlength=len(roles.domains)), 1)
    weight = np.bincount(code, estimator.weight_, len(roles.domains)) / rows
    return Learning(sample.dataset, roles, np.asarray(estimator.kept_), weight, counts)


def _train(client: Any, work: Learning, classes: int, seed: int) -> Any:
    """Fit LightGBM's booster to all parts."""
    import dask.array
    from dask.delayed import delayed
    from distributed import wait
    from lightgbm import DaskLGBMRegressor, register_logger

    register_logger(QUIET)  # or it tells standard output of its ports
    parts = client.map(work, work.dataset.parts, pure=False)
    wait(parts)  # type: ignore[no-untyped-call]
    for part in parts:
        if (error := part.exception()) is not None:
            raise error
    array: Any = dask.array
    shapes: tuple[tuple[float, ...], ...] = ((np.nan, len(work.kept)), (np.nan,), (np.nan,))
    X, y, weight = (
        array.concatenate(
            [array.from_delayed(delayed(operator.itemgetter(k))(part), shape, np.float64) for part in parts],
            allow_unknown_chunksizes=True,
        )
        for k, shape in enumerate(shapes)
    )
    # Classes as numbers, too: a worker need not hold a row of every class.
    objective = {0: {"objective": "regression"}, 2: {"objective": "binary"}}
    learner = DaskLGBMRegressor(
        client=client,
        random_state=seed,
        verbosity=-1,
        deterministic=True,
        force_col_wise=True,
        time_out=MINUTES,
        **objective.get(classes, {"objective": "multiclass", "num_class": classes}),
    )
    return learner.fit(X, y, sample_weight=weight).to_local().booster_


def _watch(task: Callable[[], Any], client: Any, address: str) -> Any:
    """Return what a task gives that needs all workers: one that is lost ends it, for the others would wait for it."""
    done: Queue[tuple[Any, BaseException | None]] = Queue()

    def run() -> None:
        try:
            done.put((task(), None))
        except BaseException as error:
            done.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    there: set[str] = set()
    while True:
        try:
            result, error = done.get(timeout=1)
        except Empty:
            result, error = None, None
        else:
            if error is None:
                return result
        with scheduler_needed(address, AGAIN):
            now = set(client.nthreads())
        if lost := there - now:
            raise TrainingError(f"the worker {min(lost)} was lost while trees were fitted to all rows: {AGAIN}")
        there |= now
        if isinstance(error, InputError):
            raise error
        if error is not None:
            words = " ".join(f"{type(error).__name__}: {error}".split())
            raise TrainingError(f"LightGBM failed on the cluster at {address} ({words}): {AGAIN}") from error
