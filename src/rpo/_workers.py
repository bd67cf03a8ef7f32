"""Work shared among processes of this machine; one that dies is replaced, and its piece is repeated."""

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rpo.exceptions import TrainingError

ALONE = 2  # deaths after which pieces are done one at a time, so that one that kills its worker is found
MOST_DEATHS = 4  # deaths of workers in a row, without a finished piece
Piece = TypeVar("Piece")
Done = TypeVar("Done")


def shared(work: Callable[[Piece], Done], pieces: Sequence[Piece], jobs: int) -> Iterator[tuple[int, Done]]:
    """Apply `work` to pieces in up to `jobs` processes; yield the number and result of each as it completes.

    Processes communicate through pipes, not the network. One job runs in this process.

    >>> sorted(shared(abs, [-1, -2], jobs=1))
    [(0, 1), (1, 2)]
    """
    jobs = min(jobs, len(pieces))
    if jobs <= 1:
        yield from ((place, work(piece)) for place, piece in enumerate(pieces))
        return
    from joblib.externals.loky.process_executor import BrokenProcessPool

    left, deaths = dict(enumerate(pieces)), 0
    while left:
        todo = dict(left) if deaths < ALONE else dict([next(iter(left.items()))])
        try:
            for place, done in _pool(work, todo, jobs):
                del left[place]
                deaths = 0
                yield place, done
        except BrokenProcessPool:
            deaths += 1
            if deaths == MOST_DEATHS:
                raise TrainingError(
                    f"{MOST_DEATHS} worker processes were killed one after another, perhaps for lack of memory: "
                    "the same command continues; use fewer --jobs"
                ) from None
            for place in [place for place in todo if place in left][:jobs]:  # the suspects go last
                left[place] = left.pop(place)


def _pool(work: Callable[[Piece], Done], pieces: dict[int, Piece], jobs: int) -> Iterator[tuple[int, Done]]:
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1), warnings.catch_warnings():
        # A worker that has grown is replaced, and nothing is lost.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
        pool = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
        yield from pool(delayed(_run_piece)(work, place, piece, os.getpid()) for place, piece in pieces.items())


def _run_piece(work: Callable[[Piece], Done], place: int, piece: Piece, parent: int) -> tuple[int, Done]:
    """Apply the work to one piece, in a worker that does not outlive its parent process."""
    _watch(parent)
    return place, work(piece)


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
