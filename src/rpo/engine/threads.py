"""Threads for the work there is."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

# Numbers in the largest tensor of a step. Below this, threads wait for each other longer than they work, and on a busy
# machine far longer; one thread also adds in one order, so that results do not depend on the machine's cores.
WORTH_SHARING = 2**21


@contextmanager
def threads_for(numbers: int) -> Iterator[None]:
    """One thread while the work is small; as many as before otherwise, and afterwards.

    >>> with threads_for(1000):
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    if numbers < WORTH_SHARING:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
