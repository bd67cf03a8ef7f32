"""A list of runs done: what is missing is packed into stacks, stacks go to workers, records to the store."""

import os
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

import torch

from rpo.engine.plugins import packed, unpack
from rpo.exceptions import InputError, TrainingError
from rpo.progress import Bar, Show
from rpo.studies.records import Record
from rpo.studies.scheduler import reached
from rpo.studies.specification import Run, canonical
from rpo.studies.stacks import pack, run_stack
from rpo.studies.store import Store

if TYPE_CHECKING:
    from rpo.studies.cluster import Cluster

PROBE_STEPS, PROBE_RUNS = (2, 10), 4
Records = dict[str, Record]


@dataclass(frozen=True)
class Plan:
    """What there is to do: records by hash of what is done, and the stacks that are missing."""

    done: Records
    stacks: list[list[Run]]

    @property
    def missing(self) -> int:
        """Runs to do."""
        return sum(map(len, self.stacks))

    def seconds(self, jobs: int = 1) -> float:
        """How long the missing runs will take: by what their like took before, else by a training of a few steps."""
        known: dict[bytes, list[float]] = {}
        for record in self.done.values():
            known.setdefault(_cost_kind(record.run), []).append(record.seconds)
        total = 0.0
        for stack in self.stacks:
            kind = _cost_kind(stack[0])
            if kind not in known:
                known[kind] = [_probe(stack[:PROBE_RUNS])]
            total += mean(known[kind]) * len(stack)
        return total / max(1, min(jobs, len(self.stacks)))


def _probe(stack: Sequence[Run]) -> float:
    """Seconds a run, from trainings of two lengths: what a training costs at all, and what each step adds."""
    run_stack(stack, 1)  # data are read and everything is warm after this
    few, more = (run_stack(stack, steps)[0].seconds for steps in PROBE_STEPS)
    step = max(0.0, more - few) / (PROBE_STEPS[1] - PROBE_STEPS[0])
    return few + step * max(0, stack[0].training.steps - PROBE_STEPS[0])


def _cost_kind(run: Run) -> bytes:
    return canonical([run.method, run.data.model_dump(mode="json"), run.leave_one_out, run.training.steps])


def plan(runs: Sequence[Run], store: Store, *, width: int | None = None) -> Plan:
    """Look at what is there; nothing is written. The stacks of a study are always the same, less what is done.

    A failed run counts as done, for it would fail again; but not that of a method from outside, whose code may lean on
    code that has changed meanwhile.
    """
    unique = {run.digest: run for run in runs}
    found = {digest: record for digest, run in unique.items() if (record := store.read(run)) is not None}
    done = {digest: record for digest, record in found.items() if record.status == "done" or not record.run.source}
    missing = ([run for run in stack if run.digest not in done] for stack in pack(unique.values(), width))
    return Plan(done, [stack for stack in missing if stack])


def execute(
    runs: Sequence[Run],
    store: Store,
    *,
    jobs: int = 1,
    cluster: "Cluster | None" = None,
    width: int | None = None,
    progress: Show = "auto",
    label: str = "runs",
) -> Records:
    """Do every run that has no record yet, by `jobs` processes of this machine or a Dask cluster; all records by hash.

    Each record is on disk before the next stack is waited for, so a kill loses the stacks in flight and no more. Local
    processes talk through pipes: nothing listens on a network.
    """
    if jobs < 1:
        raise InputError(f"jobs is {jobs}: give at least one")
    with store.lock():
        todo = plan(runs, store, width=width)
        store.set_aside()
        records = dict(todo.done)
        with Bar(todo.missing, label, progress, patience=0.0) as bar:
            for stack in _results(todo.stacks, jobs, cluster):
                store.write_all(stack)
                records |= {record.run.digest: record for record in stack}
                bar.advance(len(stack))
    return records


def cluster_at(address: str | None) -> "Cluster | None":
    """The cluster that was named, if one was; it must answer."""
    if address is None:
        return None
    from rpo.studies.cluster import Cluster

    return Cluster(reached(address))


def _results(stacks: Sequence[Sequence[Run]], jobs: int, cluster: "Cluster | None") -> Iterator[list[Record]]:
    """The records of each stack, in the order in which they come."""
    if cluster is not None and stacks:
        from rpo.studies import cluster as dask

        yield from dask.results(stacks, cluster)
        return
    jobs = min(jobs, len(stacks))
    if jobs <= 1:
        threads = torch.get_num_threads()
        try:
            yield from map(run_stack, stacks)
        finally:
            torch.set_num_threads(threads)
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import BrokenProcessPool

    workers, carried = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered"), packed()
    try:
        with warnings.catch_warnings():
            # A worker that has grown is replaced by a fresh one, and nothing is lost.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
            yield from workers(delayed(_work)(stack, os.getpid(), carried) for stack in stacks)
    except BrokenProcessPool:
        raise TrainingError(
            "a worker process was killed, perhaps for lack of memory: the same command goes on where this one stopped"
        ) from None


def _work(stack: Sequence[Run], parent: int, carried: bytes) -> list[Record]:
    """One stack, in a worker that does not outlive the process it works for."""
    _watch(parent)
    unpack(carried)
    return run_stack(stack)


_watched: set[int] = set()


def _watch(parent: int) -> None:
    """End this process once its parent is gone: nobody would take its result, and it would idle for minutes."""

    def wait() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    if os.getppid() != parent:
        os._exit(1)
    if parent not in _watched:
        _watched.add(parent)
        threading.Thread(target=wait, daemon=True).start()
