"""Arrays that live in a file, read and written in blocks of rows."""

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rpo.exceptions import InputError

BLOCK = 1 << 16  # rows at a time


def blocks(rows: int) -> Iterator[slice]:
    """Return slices of the rows in blocks.

    >>> [(part.start, part.stop) for part in blocks(100_000)]
    [(0, 65536), (65536, 100000)]
    """
    return (slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK))


def is_mapped(array: object) -> bool:
    """Return whether an array is a view of a file.

    >>> is_mapped(np.zeros(3)), is_mapped(on_disk((3, 2), np.float32)[1:])
    (False, True)
    """
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


def on_disk(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Create an array of zeros in a nameless file of the temporary folder (`TMPDIR`), deleted with the array.

    The space is reserved at once: a full disk would otherwise kill the process later, without a message.
    """
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile() as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, max(1, size))
            else:  # macOS cannot promise the space
                os.ftruncate(file.fileno(), max(1, size))
            return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    except OSError as error:
        folder = tempfile.gettempdir()
        raise InputError(
            f"no space for {size >> 20:,} MB in {folder} ({error.strerror}): set TMPDIR to another folder"
        ) from None
