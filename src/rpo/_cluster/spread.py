"""Pieces of work on a Dask cluster: what a lost worker had is done by another, and what ends it all is one line.

Nothing heavy is imported here: what the work needs comes with it.
"""

import asyncio
import concurrent.futures
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, TypeVar

from rpo._cluster.scheduler import connect
from rpo.exceptions import InputError, TrainingError

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 60.0  # seconds without any worker, once there were some
GO_ON = "finished work is kept, and the same command continues"
Piece = TypeVar("Piece")
Done = TypeVar("Done")


def on_cluster(
    address: str, go_on: str = GO_ON, what: str = "part"
) -> Callable[[Callable[[Piece], Done], Sequence[Piece]], Iterator[tuple[int, Done]]]:
    """Work and pieces to each piece's number and what the work makes of it, by the workers of a cluster.

    `what` a piece is called. The work, with all that it holds, is sent to each worker once.
    """

    def spread(work: Callable[[Piece], Done], pieces: Sequence[Piece]) -> Iterator[tuple[int, Done]]:
        with connect(address) as client:
            with scheduler_needed(address, go_on):
                check_workers(client, address)
                # A piece of work itself, so that it is made again should its worker be lost; it is sent once.
                sent = client.submit(_itself, work, pure=False)
            yield from mapped(client, _applied, pieces, address, what, go_on, {"work": sent})

    return spread


def mapped(
    client: "Client",
    work: Callable[..., Done],
    pieces: Sequence[Any],
    address: str,
    what: str,
    go_on: str = GO_ON,
    given: Mapping[str, Any] | None = None,
) -> Iterator[tuple[int, Done]]:
    """Each piece's number and what `work` makes of it, in the order in which they come; `what` a piece is called.

    `given` are further arguments of the work, which may be futures.
    """
    done: Queue[Any] = Queue()
    with scheduler_needed(address, go_on):
        futures = client.map(work, pieces, pure=False, **(given or {}))
    place = {future.key: number for number, future in enumerate(futures)}
    for future in futures:
        future.add_done_callback(done.put)  # type: ignore[no-untyped-call]
    waiting = _Waiting(client, address, go_on)
    for _ in futures:
        with scheduler_needed(address, go_on):
            future = waiting.for_one_of(done)
            found: Done = _outcome(future, address, what, go_on)
        yield place[future.key], found


@contextmanager
def scheduler_needed(address: str, go_on: str = GO_ON) -> Iterator[None]:
    """Whatever breaks while the scheduler is asked is one line: it may go between any two questions."""
    try:
        yield
    except (InputError, TrainingError):
        raise
    except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError):
        raise TrainingError(f"the scheduler at {address} is gone: {go_on}") from None
    except Exception as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise TrainingError(f"the scheduler at {address} gave an unexpected answer ({words}): {go_on}") from error


def check_workers(client: "Client", address: str) -> None:
    """Every worker has this version of RPO; that there is none yet is said, for a queue may take its time."""
    ours = version("rpo")
    found = client.run(_version, on_error="return")
    for worker, theirs in found.items():
        if theirs != ours:
            has = f"rpo {theirs}" if isinstance(theirs, str) else f"no rpo ({type(theirs).__name__}: {theirs})"
            raise InputError(
                f"worker {worker} has {has}, but this is rpo {ours}: install the same version on all workers"
            )
    if not found:
        print(f"rpo: the cluster at {address} has no workers yet; waiting for one", file=sys.stderr)


def _version() -> str:
    return version("rpo")


class _Waiting:
    """Waits for results, but not for workers that will not come back."""

    def __init__(self, client: "Client", address: str, go_on: str) -> None:
        self.client, self.address, self.go_on = client, address, go_on
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
                    raise TrainingError(
                        f"the cluster at {self.address} has lost all its workers: {self.go_on}"
                    ) from None


def _outcome(future: Any, address: str, what: str, go_on: str) -> Any:
    """What a piece gave, or one line about why it gave nothing."""
    from distributed import KilledWorker

    if future.cancelled() or future.status == "lost":
        raise asyncio.CancelledError
    error = future.exception()
    found = future.result() if error is None else None  # fetched through the scheduler
    if isinstance(error, KilledWorker):
        raise TrainingError(
            f"a {what} was abandoned after {error.allowed_failures + 1} workers died running it, "
            f"possibly out of memory (the last was {error.last_worker.address}): {go_on}"
        )
    if error is not None:
        raise TrainingError(f"a worker of {address} failed ({type(error).__name__}: {error}): {go_on}")
    future.release()
    return found


_one_at_a_time = threading.Lock()


def _itself(work: Callable[[Piece], Done]) -> Callable[[Piece], Done]:
    return work


def _applied(piece: Any, work: Callable[[Any], Any]) -> Any:
    """One piece on a worker; a worker with several threads still does one at a time."""
    with _one_at_a_time:
        return work(piece)
