"""What a training asks of the machine: threads for the work there is, and memory that it would only ask for again."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Thread

import torch

# Numbers in the largest tensor of a step. Below this, threads wait for each other longer than they work, and on a busy
# machine far longer; one thread also adds in one order, so that results do not depend on the machine's cores.
WORTH_SHARING = 2**21
# Names and numbers of glibc's malloc.h; 32 MB is the largest threshold it takes.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEEP, LARGEST = 512 * 2**20, 32 * 2**20


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


@cache
def keep_freed_pages() -> bool:
    """Let the C library keep up to 512 MB of freed memory, where it is glibc; whether it agreed.

    By default glibc returns freed tensors of half a megabyte and more to the system at once, and every step of a
    training pays the page faults of taking them again: a sixth to a third of its time.

    >>> keep_freed_pages() in (True, False)
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return bool(mallopt(M_TRIM_THRESHOLD, KEEP)) and bool(mallopt(M_MMAP_THRESHOLD, LARGEST))
