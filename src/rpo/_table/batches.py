"""Columns of a batch of rows as numbers, as codes of labels, and as one key per row.

Distinct values of text are converted once, however often they occur.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._table.columns import ABSENT, LARGEST, NULL, Array, Column, as_text, fill, typed
from rpo._table.reading import frame_of
from rpo.exceptions import InputError

_MIX = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xBF58476D1CE4E5B9)


def encode(column: Any) -> tuple[NDArray[np.intp], Any]:
    """Return the code of each value, −1 if it is missing, and the distinct values as an Arrow array.

    >>> import pyarrow as pa
    >>> code, values = encode(pa.array(["b", None, "b", "a"]))
    >>> code.tolist(), values.tolist()
    ([0, -1, 0, 1], ['b', 'a'])
    """
    import pyarrow as pa

    codes = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    code = codes.indices.fill_null(-1) if codes.null_count else codes.indices
    return code.to_numpy(zero_copy_only=False).astype(np.intp), codes.dictionary


def encode_texts(column: Any) -> tuple[NDArray[np.intp], list[str]]:
    """Return codes of labels, with the distinct labels as text, as `as_text` writes them.

    >>> import pyarrow as pa
    >>> encode_texts(pa.array([2, None, 3]))[1]
    ['2', '3']
    """
    import pyarrow as pa

    code, values = encode(column)
    if pa.types.is_string(values.type):  # a data frame of them would take longer than all rows of the batch
        return code, [ABSENT if text is None else text.replace("\0", NULL) for text in values.to_pylist()]
    return code, as_text(frame_of(pa.table({"a": values}))["a"]).tolist() if len(values) else []


def places(column: Any, label: Mapping[str, int]) -> NDArray[np.intp]:
    """Return the code of each label among known texts, −1 for unknown labels, −2 if missing.

    >>> import pyarrow as pa
    >>> places(pa.array([2, None, 3]), {"2": 7}).tolist()
    [7, -2, -1]
    """
    code, texts = encode_texts(column)
    return np.array([*(label.get(text, -1) for text in texts), -2], dtype=np.intp)[code]


def numbers_of(column: Any, about: Column) -> Array:
    """Convert a column as `typed` does: numbers or days with NaN for gaps, or the index of a category, −1 for others.

    >>> import pyarrow as pa
    >>> numbers_of(pa.array([1, None]), Column(name="a", kind="number")).tolist()
    [1.0, nan]
    """
    import pyarrow as pa

    if about.kind == "number" and (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    if about.kind == "category":
        place = places(column, {name: k for k, name in enumerate(about.categories)})
        absent = about.categories.index(ABSENT) if ABSENT in about.categories else -1
        return np.where(place == -2, absent, place).astype(np.float64)
    code, different = encode(column)
    values = frame_of(pa.table({"a": pa.concat_arrays([different, pa.nulls(1, different.type)])}))["a"]
    return typed(values, about)[code]


def known(column: Any) -> NDArray[np.bool_]:
    """Return where a column is neither null nor NaN.

    >>> import pyarrow as pa
    >>> known(pa.array([1.0, None, float("nan")])).tolist()
    [True, False, False]
    """
    return ~np.asarray(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))


def filled(values: Sequence[Array], columns: Sequence[Column]) -> Array:
    """Convert typed values to the numbers for models, as `transform` does, `(rows, numbers)`.

    >>> filled([np.array([3.0, np.nan])], [Column(name="age", kind="number", fill=4.0, gaps=True)]).tolist()
    [[3.0, 0.0], [4.0, 1.0]]
    """
    # Column by column in memory: sums of columns run over what lies together.
    table = np.empty((len(values[0]), sum(len(column.outputs) for column in columns)), order="F")
    return fill(table, values, columns)


def check_finite(value: Array, name: str) -> None:
    """Raise if numbers are too large for sums.

    >>> check_finite(np.array([np.inf]), "age")
    Traceback (most recent call last):
    rpo.exceptions.InputError: column 'age' has values up to inf: correct them, or use --drop
    """
    largest = max(-float(np.fmin.reduce(value, initial=0.0)), float(np.fmax.reduce(value, initial=0.0)))
    if largest > LARGEST:
        raise InputError(f"column {name!r} has values up to {largest:.3g}: correct them, or use --drop")


def keys(batch: Any, seed: int) -> NDArray[np.uint64]:
    """Compute a hash of each row's content, the same for equal rows in any file or batch.

    >>> import pyarrow as pa
    >>> one, other, same = keys(pa.record_batch({"a": [1.0, 2.0, 1.0], "b": ["u", "u", "u"]}), 0).tolist()
    >>> one == same, one == other
    (True, False)
    """
    start = (seed * int(_STIR) + 1) % 2**64
    total = np.full(batch.num_rows, start, dtype=np.uint64)
    for column in batch.columns:
        total *= _MIX
        total ^= _words(column)
    for shift, factor in ((30, _STIR), (27, _MIX), (31, np.uint64(1))):
        total ^= total >> np.uint64(shift)
        total *= factor
    return total


def _words(column: Any) -> NDArray[np.uint64]:
    """Hash each value to 64 bits."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        value = numbers_of(column, Column(name="", kind="number"))
        words = (value + 0.0).view(np.uint64)  # −0.0 is 0.0
        words ^= words >> np.uint64(32)  # whole numbers have their digits on top, and products carry upwards
        return words
    code, texts = encode_texts(column)
    known = pd.util.hash_array(np.array(texts, dtype=object)) if texts else np.zeros(0, np.uint64)
    return np.append(known, np.uint64(0))[code]
