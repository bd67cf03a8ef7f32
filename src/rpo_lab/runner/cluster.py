"""Stacks on a Dask cluster: specifications go out, records come back, and only the driver writes.

A worker builds the data of its runs from their specification and keeps them. Files that no specification can name (a
user's table) are put on each worker once, also on those that join later.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from distributed import Worker, WorkerPlugin

from rpo._cluster.scheduler import connect
from rpo._cluster.spread import check_workers, map_pieces, scheduler_needed
from rpo.engine.plugins import pack_methods, unpack_methods
from rpo_lab.runner.outside import is_outside
from rpo_lab.runner.problems import load
from rpo_lab.runner.specification import Run
from rpo_lab.runner.stacks import run_stack
from rpo_lab.runner.store import Record


@dataclass(frozen=True)
class Cluster:
    """Where the scheduler listens, and what workers need beside specifications.

    Namely files by name (the name says the content: the same name is not sent again), and whom to tell where they are.
    """

    address: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    use: Callable[[Path], None] | None = None


def results(stacks: Sequence[Sequence[Run]], cluster: Cluster) -> Iterator[list[Record]]:
    """Yield the records of each stack as they come; a stack whose worker is lost is done by another."""
    with connect(cluster.address) as client:
        with scheduler_needed(cluster.address):
            check_workers(client, cluster.address)
            if cluster.use is not None:
                client.register_plugin(_Files(cluster.files, cluster.use))
        work = partial(_work, carried=pack_methods())
        for _, found in map_pieces(client, work, stacks, cluster.address, "stack"):
            yield found


_one_at_a_time = threading.Lock()


def _work(stack: Sequence[Run], carried: bytes) -> list[Record]:
    """Do one stack on a worker; a worker with several threads still trains one at a time."""
    with _one_at_a_time:
        unpack_methods(carried)
        if not is_outside(stack[0].method):  # they look themselves
            load(stack[0].data, stack[0].seed)  # data that this worker lacks are its fault, not the runs'
        return run_stack(stack)


class _Files(WorkerPlugin):
    """Puts files into each worker's own folder."""

    def __init__(self, files: Mapping[str, bytes], use: Callable[[Path], None]) -> None:
        self.files, self.use = dict(files), use
        self.name = " ".join(["rpo", *sorted(self.files)])

    def setup(self, worker: Worker) -> None:
        folder = Path(worker.local_directory) / "rpo"
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.use(folder)
