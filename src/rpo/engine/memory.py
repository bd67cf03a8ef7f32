"""Memory that a training gives back between steps only to ask for it again."""

import ctypes
import sys
from functools import cache

# Names and numbers of glibc's malloc.h; 32 MB is the largest threshold it takes.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEEP, LARGEST = 512 * 2**20, 32 * 2**20


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
