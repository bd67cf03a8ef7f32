"""The card of a saved model: values and columns as JSON and back, with no more memory than what was written needs."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError

from rpo._io import printable, words_of
from rpo.exceptions import InputError

LABEL_KINDS = "biufUO"
MOST_CLASSES = 10_000
MOST_BYTES = 256 << 20  # of labels in memory, where the longest decides for all
# The most that is read of each file. Memory is a few times that at the most, whatever the files say.
LIMITS = {"model.json": 16 << 20, "weights.safetensors": 256 << 20}
# What a card that nobody checked may raise on its way to a model.
WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError, SafetensorError)


def read_card(content: bytes, folder: Path, needed: Iterable[str] = ()) -> dict[str, Any]:
    """What `model.json` holds, once it is seen to be the card of a model.

    >>> read_card(b"[]", Path("model"))
    Traceback (most recent call last):
    rpo.exceptions.InputError: model/model.json is not a model card: save the model again
    """
    try:
        card = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder / 'model.json'} cannot be read ({words_of(error)}): save the model again") from None
    if not isinstance(card, dict) or not {"class", *needed} <= set(card) or not isinstance(card["class"], str):
        raise InputError(f"{folder / 'model.json'} is not a model card: save the model again")
    return card


def card_bytes(card: Mapping[str, Any]) -> bytes:
    """The card as it is written to `model.json`.

    >>> card_bytes({"name": "\\ud800"})
    Traceback (most recent call last):
    rpo.exceptions.InputError: a name or label has '\\ud800', which is not a valid character: correct it before fitting
    """
    text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise InputError(
            f"a name or label has {half!r}, which is not a valid character: correct it before fitting"
        ) from None


def check_format(card: Mapping[str, Any], known: int, folder: Path) -> None:
    """Refuse a card of another format than the one that is known.

    >>> check_format({"format": 9}, 2, Path("model"))
    Traceback (most recent call last):
    rpo.exceptions.InputError: model has format 9, but this version reads 2: use a matching one
    """
    found = card.get("format")
    if found != known:
        raise InputError(
            f"{folder} has format {printable(str(found))[:20]}, but this version reads {known}: use a matching one"
        )


def versions(*names: str) -> dict[str, str]:
    """The versions of packages, for a card to tell.

    >>> list(versions("rpo", "numpy"))
    ['rpo', 'numpy']
    """
    return {name: version(name) for name in names}


def plain(name: str, value: Any) -> Any:
    """A value as JSON has it; what it has no word for is told apart.

    >>> plain("rate", np.float64(0.5)), plain("rate", float("inf"))
    (0.5, {'float': 'inf'})
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, tuple):
        return list(value)
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    raise InputError(f"parameter {name} is a {type(value).__name__}, which cannot be saved as JSON: use a plain value")


def is_float(value: Any) -> bool:
    """Whether JSON holds a number that it has no word for.

    >>> is_float({"float": "nan"}), is_float(1.0)
    (True, False)
    """
    return isinstance(value, dict) and set(value) == {"float"}


def column(name: str, values: NDArray[Any]) -> dict[str, Any]:
    """An array of labels or numbers with its type.

    >>> column("domains", np.array([1, 2], dtype=np.int8))
    {'dtype': '|i1', 'values': [1, 2]}
    """
    if values.dtype.kind not in LABEL_KINDS:
        raise InputError(
            f"{name} has type {values.dtype}, which cannot be saved as JSON: convert it to text before fitting"
        )
    return {"dtype": values.dtype.str, "values": [plain(name, value) for value in values.tolist()]}


def read_column(saved: Mapping[str, Any]) -> NDArray[Any]:
    """Values as they were; a type that would take more memory than the values need is refused before it is taken.

    >>> read_column({"dtype": "|i1", "values": [1, 2]})
    array([1, 2], dtype=int8)
    """
    longest = max([1, *(len(value) for value in saved["values"] if isinstance(value, str))])
    kind = re.fullmatch(r"[<>|=]?([biufO])[1248]?|[<>|=]?(U)(\d{1,9})", saved["dtype"])
    if kind is None or (kind[2] and int(kind[3]) > longest):
        raise ValueError(f"unknown type of labels {str(saved['dtype'])[:20]!r}")
    if kind[2] and 4 * int(kind[3]) * len(saved["values"]) > MOST_BYTES:
        raise ValueError("the labels take too much memory")
    values = [float(value["float"]) if is_float(value) else value for value in saved["values"]]
    if not all(value is None or isinstance(value, str | int | float) for value in values):
        raise ValueError("a label is a list")
    return np.array(values, dtype=np.dtype(saved["dtype"]))


def read_labels(name: str, saved: Mapping[str, Any]) -> NDArray[Any]:
    """Labels as they were, each once, and of classes no more than a prediction can have columns for.

    >>> read_labels("domains_", {"dtype": "|i1", "values": [1, 1]})
    Traceback (most recent call last):
    ValueError: domains_ has duplicates
    """
    labels = read_column(saved)
    if len({(type(value), value) for value in labels.tolist()}) != len(labels):
        raise ValueError(f"{name} has duplicates")
    if name == "classes_" and len(labels) > MOST_CLASSES:
        raise ValueError(f"there are more than {MOST_CLASSES:,} classes")
    return labels


def table(frame: pd.DataFrame) -> dict[str, Any]:
    """A frame, column by column, with its index.

    >>> read_table(table(pd.DataFrame({"a": [1.5, np.nan]}, index=["x", "y"])))["a"].tolist()
    [1.5, nan]
    """
    columns = {str(name): column(str(name), _array(frame[name])) for name in frame.columns}
    return {"name": frame.index.name, "index": column("index", _array(frame.index)), "columns": columns}


def read_table(saved: Mapping[str, Any]) -> pd.DataFrame:
    """The frame that `table` wrote."""
    columns = {name: read_column(values) for name, values in saved["columns"].items()}
    return pd.DataFrame(columns, index=pd.Index(read_column(saved["index"]), name=saved.get("name")))


def _array(values: "pd.Series[Any] | pd.Index[Any]") -> NDArray[Any]:
    found = values.to_numpy()
    return found if isinstance(values.dtype, np.dtype) else found.astype(object)
