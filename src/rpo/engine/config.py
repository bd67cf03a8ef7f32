"""Training settings that do not depend on the method.

Also the use of the machine: the number of threads, and memory that is kept for the next step.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from rpo._io import Show
from rpo.exceptions import InputError

if TYPE_CHECKING:
    from rpo.engine.monitor import Monitor

# Defaults of the estimators and of comparisons alike, so that a comparison judges the same model.
HIDDEN = (64,)
STEPS = 400
# Up to this many rows, a step uses all of them; beyond, it draws about half as many, equally from each domain.
FULL_BATCH_ROWS = 4096
# Size of the largest tensor of a step. Below this, threads wait for each other longer than they work, on a busy machine
# far longer; one thread also adds in one order, so that results do not depend on the number of cores.
WORTH_SHARING = 2**21
# Names and numbers of glibc's malloc.h; 32 MB is the largest threshold it takes.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEEP, LARGEST = 512 * 2**20, 32 * 2**20


@dataclass(frozen=True)
class Config:
    """Training settings that do not belong to the method.

    Parameters
    ----------
    steps : int
        Number of Adam steps.
    batch_size : int, optional
        Rows per domain in a step; None uses all rows.
    schedule : "cosine" or "constant"
        Schedule of the learning rate: cosine decay, or constant.
    device : str
        "auto", "cpu", "cuda" or "mps".
    dtype : torch.dtype
        The precision.
    compile : bool
        Compile the step; takes half a minute, worthwhile from about 1,500 steps on.
    progress : bool or "auto"
        Whether to show a progress bar; "auto" does on a terminal.
    checkpoint : path, optional
        Folder for checkpoints, also written on SIGTERM; the same call continues an interrupted training.
    every : float
        Seconds between checkpoints.
    accumulate : int
        Number of batches whose gradients are averaged in each step.
    autocast : bool
        Compute losses in bfloat16 where that is safe; parameters and Adam stay in `dtype`.
    monitor : Monitor, optional
        Evaluation, early stopping and callbacks.

    Examples
    --------
    >>> from rpo.engine import Config
    >>> Config(steps=100, batch_size=32).schedule
    'cosine'
    """

    steps: int = STEPS
    batch_size: int | None = None
    schedule: Literal["cosine", "constant"] = "cosine"
    device: str = "auto"
    dtype: torch.dtype = torch.float32
    compile: bool = False
    progress: Show = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    every: float = 60.0
    accumulate: int = 1
    autocast: bool = False
    monitor: "Monitor | None" = None

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int | np.integer) or self.steps < 1:
            raise InputError(f"steps must be a positive integer, got {self.steps!r}")
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch_size must be at least 1, or None to use all rows, got {self.batch_size}")
        if self.schedule not in ("cosine", "constant"):
            raise InputError(f"schedule must be 'cosine' or 'constant', got {self.schedule!r}")
        if (
            isinstance(self.accumulate, bool)
            or not isinstance(self.accumulate, int | np.integer)
            or self.accumulate < 1
        ):
            raise InputError(f"accumulate must be a positive integer, got {self.accumulate!r}")
        if self.accumulate > 1 and self.batch_size is None:
            raise InputError("accumulate needs mini-batches: set batch_size")
        if not self.every >= 0:
            raise InputError(f"every must be a number of seconds, got {self.every}")


def default_batch_size(rows: int, domains: int) -> int | None:
    """Return the default number of rows per domain in a step, or None to use all rows of a small table.

    For larger tables, an equal share of half of `FULL_BATCH_ROWS`, at least eight.

    >>> default_batch_size(4096, 10), default_batch_size(5000, 10), default_batch_size(5000, 1000)
    (None, 204, 8)
    """
    return None if rows <= FULL_BATCH_ROWS else max(8, FULL_BATCH_ROWS // 2 // domains)


def pick_device(name: str) -> torch.device:
    """Return the device of that name; `auto` is the first GPU, if there is one, else the CPU.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise InputError(f"device must be 'auto', 'cpu', 'cuda' or 'mps', got {name!r}") from None
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise InputError(f"device {name!r} is not available on this machine; use 'auto' or 'cpu'") from None
    return device


@contextmanager
def threads_for(numbers: int) -> Iterator[None]:
    """Use one thread while the context lasts if the work is small; other trainings are not affected.

    >>> with threads_for(1000):
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    if numbers >= WORTH_SHARING or before == 1:
        yield
        return
    # torch has one number for the calling Python thread and one for future threads. The second is restored at once, by
    # a short-lived thread, so that other trainings that start meanwhile are not affected.
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
    """Let glibc keep up to 512 MB of freed memory; return whether it was set.

    By default glibc returns freed tensors of half a megabyte and more to the system at once, and every training step
    pays the page faults of allocating them again: a sixth to a third of its time.

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
