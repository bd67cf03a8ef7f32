"""LightGBM's trees fitted to every row of a dataset, which the workers of a Dask cluster hold among them.

What to judge and to decide is told by a sample, as ever; the trees alone are fitted anew, by LightGBM's own Dask
estimator. Its workers talk to each other, so that a worker that is lost ends the training: one line, and nothing kept.
"""

import logging
import operator
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from queue import Empty, Queue
from types import SimpleNamespace
from typing import Any

import numpy as np

from rpo._cluster.scheduler import connect
from rpo._cluster.spread import check_workers, scheduler_needed
from rpo._models.learning import Learning, learning_of
from rpo._models.table_model import TableModel
from rpo._saving.nodes import Boosted
from rpo._streaming import Sample
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
    """The model of a sample with its trees fitted to all rows, by the workers of the cluster at an address."""
    estimator = model.estimator
    work = learning_of(sample, estimator, weight)
    classes = len(estimator.classes_) if model.task == "classification" else 0
    with connect(address, default=True) as client:  # LightGBM waits by it
        with scheduler_needed(address, AGAIN):
            check_workers(client, address)
        found = _watched(lambda: _trained(client, work, classes, seed), client, address)
    about = SimpleNamespace(booster_=found, **({"classes_": np.arange(classes)} if classes else {}))
    estimator.estimator_ = Boosted.convert(about)
    notes = [f"LightGBM's trees were fitted to all {sample.total:,} rows; what to expect is that of a sample's models"]
    if estimator.weighted_:
        notes.append("a row counts what those of its domain in the sample count on average")
    return replace(model, rows=sample.total, domains=sample.rows, notes=(*model.notes, *notes))


def _trained(client: Any, work: Learning, classes: int, seed: int) -> Any:
    """LightGBM's booster of all parts."""
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


def _watched(task: Callable[[], Any], client: Any, address: str) -> Any:
    """What a task gives that needs all workers: one that is lost ends it, for the others would wait for it."""
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
            found, error = done.get(timeout=1)
        except Empty:
            found, error = None, None
        else:
            if error is None:
                return found
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
