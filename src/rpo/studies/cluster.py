"""Stacks on a Dask cluster: specifications go out, records come back, and only the driver writes.

A worker builds the data of its runs from their specification and keeps them. Files that no specification can name (a
user's table) are put on each worker once, also on those that join later.
"""

import asyncio
import concurrent.futures
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from distributed import Client, KilledWorker, Worker, WorkerPlugin

from rpo.engine.plugins import packed, unpack
from rpo.exceptions import InputError, TrainingError
from rpo.studies.outside import is_outside
from rpo.studies.problems import load
from rpo.studies.records import Record
from rpo.studies.scheduler import connect
from rpo.studies.specification import Run
from rpo.studies.stacks import run_stack

PATIENCE = 60.0  # seconds without any worker, once there were some
GO_ON = "what is done is kept, and the same command goes on"


@dataclass(frozen=True)
class Cluster:
    """Where the scheduler listens, and what workers need beside specifications.

    Namely files by name (the name says the content: the same name is not sent again), and whom to tell where they are.
    """

    address: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    use: Callable[[Path], None] | None = None


def results(stacks: Sequence[Sequence[Run]], cluster: Cluster) -> Iterator[list[Record]]:
    """The records of each stack, in the order in which they come; a stack whose worker is lost is done by another."""
    with connect(cluster.address) as client:
        done: Queue[Any] = Queue()
        with _scheduler_needed(cluster.address):
            _check_workers(client, cluster.address)
            if cluster.use is not None:
                client.register_plugin(_Files(cluster.files, cluster.use))
            futures = client.map(partial(_work, carried=packed()), stacks, pure=False)
        for future in futures:
            future.add_done_callback(done.put)
        waiting = _Waiting(client, cluster.address)
        for _ in futures:
            with _scheduler_needed(cluster.address):
                found = _records(waiting.for_one_of(done), cluster.address)
            yield found


@contextmanager
def _scheduler_needed(address: str) -> Iterator[None]:
    """Whatever breaks while the scheduler is asked is one line: it may go between any two questions."""
    try:
        yield
    except (InputError, TrainingError):
        raise
    except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError):
        raise TrainingError(f"the scheduler at {address} is gone: {GO_ON}") from None
    except Exception as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise TrainingError(f"the scheduler at {address} does not answer as it should ({words}): {GO_ON}") from error


def _check_workers(client: Client, address: str) -> None:
    """Every worker has this version of RPO; that there is none yet is said, for a queue may take its time."""
    ours = version("rpo")
    found = client.run(_version, on_error="return")
    for worker, theirs in found.items():
        if theirs != ours:
            has = f"rpo {theirs}" if isinstance(theirs, str) else f"no rpo ({type(theirs).__name__}: {theirs})"
            raise InputError(f"worker {worker} has {has}, and this is rpo {ours}: install the same on all workers")
    if not found:
        print(f"rpo: the cluster at {address} has no workers yet; waiting for one", file=sys.stderr)


def _version() -> str:
    return version("rpo")


class _Waiting:
    """Waits for results, but not for workers that will not come back."""

    def __init__(self, client: Client, address: str) -> None:
        self.client, self.address = client, address
        self.seen: float | None = None  # when there last was a worker

    def for_one_of(self, done: "Queue[Any]") -> Any:
        """The next future that is done, one way or another."""
        while True:
            try:
                return done.get(timeout=2)
            except Empty:
                now = time.monotonic()
                if self.client.scheduler_info()["workers"]:
                    self.seen = now
                elif self.seen is not None and now - self.seen > PATIENCE:
                    raise TrainingError(f"the cluster at {self.address} has lost all its workers: {GO_ON}") from None


def _records(future: Any, address: str) -> list[Record]:
    """What a stack gave, or one line about why it gave nothing."""
    if future.cancelled() or future.status == "lost":
        raise asyncio.CancelledError
    error = future.exception()
    found: list[Record] = future.result() if error is None else []  # fetched through the scheduler
    if isinstance(error, KilledWorker):
        raise TrainingError(
            f"a stack was given up once {error.allowed_failures + 1} workers had died with it, "
            f"perhaps for lack of memory (the last was {error.last_worker.address}): {GO_ON}"
        )
    if error is not None:
        raise TrainingError(f"a worker of {address} failed ({type(error).__name__}: {error}): {GO_ON}")
    future.release()
    return found


_one_at_a_time = threading.Lock()


def _work(stack: Sequence[Run], carried: bytes) -> list[Record]:
    """One stack on a worker; a worker with several threads still trains one at a time."""
    with _one_at_a_time:
        unpack(carried)
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
