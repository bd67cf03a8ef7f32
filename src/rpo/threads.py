"""Arithmetic in one thread: sums in another order differ in their last bits, and trees then split elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra and trees run in the calling thread alone, whatever the machine has.

    Trees count their threads for each caller. Linear algebra has one number for the process: of several Python threads
    at once, the first sets and restores it.

    >>> with one_thread():
    ...     pass
    """
    with threadpool_limits(1):
        yield
