"""Execution of runs: missing ones are packed into stacks, stacks go to workers, records to the store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean

import torch

from rpo._cluster import check_scheduler, on_cluster
from rpo._io import Bar, Show
from rpo._workers import shared
from rpo.engine.plugins import pack_methods, unpack_methods
from rpo.exceptions import InputError
from rpo_lab.runner.outside import is_outside
from rpo_lab.runner.problems import load
from rpo_lab.runner.specification import Run, canonical
from rpo_lab.runner.stacks import pack, run_stack
from rpo_lab.runner.store import Record, Store

PROBE_STEPS, PROBE_RUNS = (2, 10), 4
MANY_TABLES = ("real",)
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
        """Estimate the time of the missing runs: by what their like took before, else by a training of a few steps."""
        known: dict[bytes, list[float]] = {}
        for record in self.done.values():
            known.setdefault(_cost_kind(record.run), []).append(record.seconds)
        total = 0.0
        for stack in self.stacks:
            kind = _cost_kind(stack[0])
            if kind not in known:
                known[kind] = [_probe(stack if is_outside(stack[0].method) else stack[:PROBE_RUNS])]
            total += mean(known[kind]) * len(stack)
        return total / max(1, min(jobs, len(self.stacks)))


def _probe(stack: Sequence[Run]) -> float:
    """Estimate the seconds of a run from trainings of two lengths: a fixed cost, and that of each step."""
    if is_outside(stack[0].method):
        return mean(record.seconds for record in run_stack(stack))
    run_stack(stack, 1)  # data are read and everything is warm after this
    few, more = (run_stack(stack, steps)[0].seconds for steps in PROBE_STEPS)
    step = max(0.0, more - few) / (PROBE_STEPS[1] - PROBE_STEPS[0])
    return few + step * max(0, stack[0].training.steps - PROBE_STEPS[0])


def _cost_kind(run: Run) -> bytes:
    # Of data sets that are many tables, none is tried by itself; learners come together, and count on average.
    data = run.data.name if run.data.name in MANY_TABLES else run.data.model_dump(mode="json")
    method = "outside" if is_outside(run.method) else run.method
    return canonical([method, data, run.leave_one_out, run.training.steps])


def plan(runs: Sequence[Run], store: Store, *, width: int | None = None) -> Plan:
    """Look at what is there; nothing is written. The stacks of a study are always the same, less what is done.

    A failed run counts as done, for it would fail again; but not that of a method from outside, whose code may lean on
    code that has changed meanwhile.
    """
    unique = {run.digest: run for run in runs}
    records = {digest: record for digest, run in unique.items() if (record := store.read(run)) is not None}
    done = {digest: record for digest, record in records.items() if record.status == "done" or not record.run.source}
    missing = ([run for run in stack if run.digest not in done] for stack in pack(unique.values(), width))
    return Plan(done, [stack for stack in missing if stack])


def execute(
    runs: Sequence[Run],
    store: Store,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    width: int | None = None,
    progress: Show = "auto",
    label: str = "runs",
) -> Records:
    """Do every run that has no record yet, by `jobs` processes of this machine or a Dask cluster; all records by hash.

    Each record is on disk before the next stack is waited for, so a kill loses the stacks in flight and no more. Local
    processes talk through pipes: nothing listens on a network.
    """
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
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


def cluster_at(address: str | None) -> str | None:
    """Return the address of the cluster that was named, if one was; it must answer."""
    return None if address is None else check_scheduler(address)


def _results(stacks: Sequence[Sequence[Run]], jobs: int, cluster: str | None) -> Iterator[list[Record]]:
    """Yield the records of each stack, in the order in which they come."""
    threads = torch.get_num_threads()
    carried = b"" if cluster is None and jobs == 1 else pack_methods()
    work = partial(_work, carried=carried, far=cluster is not None)
    spread = partial(shared, jobs=jobs) if cluster is None else on_cluster(cluster, what="stack")
    try:
        for _, records in spread(work, stacks) if stacks else ():
            yield records
    finally:
        torch.set_num_threads(threads)


def _work(stack: Sequence[Run], carried: bytes, far: bool = False) -> list[Record]:
    """Do one stack, by methods of which a worker may not have heard; one on another machine builds the data itself."""
    unpack_methods(carried)
    if far and not is_outside(stack[0].method):  # they look themselves
        load(stack[0].data, stack[0].seed)  # data that this worker lacks are its fault, not the runs'
    return run_stack(stack)
