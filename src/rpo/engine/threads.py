"""Threads for the work there is."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import torch

# Numbers in the largest tensor of a step. Below this, threads wait for each other longer than they work, and on a busy
# machine far longer; one thread also adds in one order, so that results do not depend on the machine's cores.
WORTH_SHARING = 2**21


@contextmanager
def threads_for(numbers: int) -> Iterator[None]:
    """One thread while the work is small; as many as before otherwise, and afterwards. Other trainings are left alone.

    >>> with threads_for(1000):
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    if numbers >= WORTH_SHARING or before == 1:
        yield
        return
    # torch keeps the number of the calling Python thread, and one for Python threads to come: the second is put back at
    # once (by a thread that ends at once), or trainings that start meanwhile elsewhere would take ours for theirs.
    torch.set_num_threads(1)
    restoring = Thread(target=torch.set_num_threads, args=(before,))
    restoring.start()
    restoring.join()
    try:
        yield
    finally:
        torch.set_num_threads(before)
