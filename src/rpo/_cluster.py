"""Work on a Dask cluster: pieces of a lost worker are repeated, other failures are one-line errors within seconds.

Nothing heavy is imported here: a command can check the scheduler before it does anything else, and the work brings its
own imports.
"""

import asyncio
import concurrent.futures
import gc
import logging
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, TypeVar

from rpo.exceptions import InputError, TrainingError

if TYPE_CHECKING:
    from distributed import Client

ANSWER = 4.0  # seconds for a scheduler to answer
PATIENCE = 60.0  # seconds without any worker, once there were some
GO_ON = "finished work is kept, and the same command continues"
Piece = TypeVar("Piece")
Done = TypeVar("Done")


def connect(address: str, *, default: bool = False) -> "Client":
    """Connect to the scheduler at an address; `default` makes the client Dask's default.

    >>> connect("nowhere")
    Traceback (most recent call last):
    ...
    rpo.exceptions.InputError: no Dask scheduler answers at nowhere (missing port number in address ...
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'rpo[cluster]'") from None
    if not address:  # Dask would start a cluster of its own
        raise InputError("--cluster is empty: pass the address of a Dask scheduler, such as tcp://10.0.0.5:8786")
    for name in ("distributed", "distributed.client"):  # errors are reported in one line, by us
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        get_address_host_port(address)  # a client that fails on this is slow to close
        return Client(address, timeout=ANSWER, set_as_default=default, name="rpo")  # type: ignore[no-untyped-call]
    except Exception as error:  # anything may listen there
        words = " ".join(str(error).split()) or type(error).__name__
    # Collect the failed client now, not when another starts: the two would wait for each other.
    gc.collect()
    raise InputError(
        f"no Dask scheduler answers at {address} ({words[:120]}): start one with `dask scheduler`, "
        "or remove --cluster to use this machine"
    )


def check_scheduler(address: str) -> str:
    """Check that a scheduler answers at the address, before anything is computed; return the address."""
    connect(address).close()  # type: ignore[no-untyped-call]
    return address


def on_cluster(
    address: str, go_on: str = GO_ON, what: str = "part"
) -> Callable[[Callable[[Piece], Done], Sequence[Piece]], Iterator[tuple[int, Done]]]:
    """Return a function that applies work to pieces on a cluster.

    It yields the number and the result of each piece, in order of completion. `what` is the name of a piece in error
    messages. The work, with all that it holds, is sent to each worker once.
    """

    def spread(work: Callable[[Piece], Done], pieces: Sequence[Piece]) -> Iterator[tuple[int, Done]]:
        with connect(address) as client:
            with scheduler_needed(address, go_on):
                check_workers(client, address)
                with warnings.catch_warnings():  # that the work has megabytes: a table, sent once
                    warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                    # A task itself, so that it is repeated if its worker is lost.
                    sent = client.submit(_itself, work, pure=False)
            yield from map_pieces(client, _apply, pieces, address, what, go_on, {"work": sent})

    return spread


def map_pieces(
    client: "Client",
    work: Callable[..., Done],
    pieces: Sequence[Any],
    address: str,
    what: str,
    go_on: str = GO_ON,
    arguments: Mapping[str, Any] | None = None,
) -> Iterator[tuple[int, Done]]:
    """Apply `work` to pieces on a cluster; yield the number and the result of each, in order of completion.

    `what` is the name of a piece in error messages, `arguments` are further arguments of the work, possibly futures.
    """
    done: Queue[Any] = Queue()
    with scheduler_needed(address, go_on):
        futures = client.map(work, pieces, pure=False, **(arguments or {}))
    place = {future.key: number for number, future in enumerate(futures)}
    for future in futures:
        future.add_done_callback(done.put)  # type: ignore[no-untyped-call]
    waiting = _Waiting(client, address, go_on)
    for _ in futures:
        with scheduler_needed(address, go_on):
            future = waiting.for_one_of(done)
            result: Done = _result_of(future, address, what, go_on)
        yield place[future.key], result


@contextmanager
def scheduler_needed(address: str, go_on: str = GO_ON) -> Iterator[None]:
    """Turn any failure of the scheduler into a one-line error; it may be lost at any moment."""
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
    """Check that every worker has this version of RPO; say so if there is none yet (a queue may take time)."""
    ours = version("rpo")
    versions = client.run(_version, on_error="return")
    for worker, theirs in versions.items():
        if theirs != ours:
            has = f"rpo {theirs}" if isinstance(theirs, str) else f"no rpo ({type(theirs).__name__}: {theirs})"
            raise InputError(
                f"worker {worker} has {has}, but this is rpo {ours}: install the same version on all workers"
            )
    if not versions:
        print(f"rpo: the cluster at {address} has no workers yet; waiting for one", file=sys.stderr)


def _version() -> str:
    return version("rpo")


class _Waiting:
    """Queue of results that gives up once all workers have been gone for a while."""

    def __init__(self, client: "Client", address: str, go_on: str) -> None:
        self.client, self.address, self.go_on = client, address, go_on
        self.seen: float | None = None  # time at which there last was a worker

    def for_one_of(self, done: "Queue[Any]") -> Any:
        """Return the next future that is done, successful or not."""
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


def _result_of(future: Any, address: str, what: str, go_on: str) -> Any:
    """Return the result of a piece, or raise a one-line error if it failed."""
    from distributed import KilledWorker

    if future.cancelled() or future.status == "lost":
        raise asyncio.CancelledError
    error = future.exception()
    result = future.result() if error is None else None  # fetched through the scheduler
    if isinstance(error, KilledWorker):
        raise TrainingError(
            f"a {what} was abandoned after {error.allowed_failures + 1} workers died running it, "
            f"possibly out of memory (the last was {error.last_worker.address}): {go_on}"
        )
    if error is not None:
        raise TrainingError(f"a worker of {address} failed ({type(error).__name__}: {error}): {go_on}")
    future.release()
    return result


_one_at_a_time = threading.Lock()


def _itself(work: Callable[[Piece], Done]) -> Callable[[Piece], Done]:
    return work


def _apply(piece: Any, work: Callable[[Any], Any]) -> Any:
    """Apply the work to one piece on a worker, one piece at a time even if the worker has several threads."""
    with _one_at_a_time:
        return work(piece)
