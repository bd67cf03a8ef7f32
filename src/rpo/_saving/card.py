"""The card and the arrays of a saved model: JSON and safetensors, read with no more memory than their size."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import save as save_arrays

from rpo._io import printable, words_of
from rpo._table.columns import Column
from rpo.exceptions import InputError

Model = TypeVar("Model", bound=BaseModel)
Arrays = dict[str, NDArray[Any]]

FORMAT = 2  # of the cards of all models
CARD, WEIGHTS = "model.json", "weights.safetensors"
# The most that is read of each file. Memory is a few times that at the most, whatever the files say.
LIMITS = {CARD: 16 << 20, WEIGHTS: 256 << 20}
LABEL_KINDS = "biufUO"
MOST_CLASSES = 10_000
MOST_BYTES = 256 << 20  # of labels in memory, where the longest decides for all
LEAST_BYTES = 4  # of a number that was saved: smaller ones would become eight times as many bytes when read
# What a card that nobody checked may raise on its way to a model.
WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError, SafetensorError)


def make_files(card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, bytes]:
    """Return the two files of a model.

    >>> list(make_files({"class": "Line"}, {"coef": np.zeros(2)}))
    ['model.json', 'weights.safetensors']
    >>> make_files({"name": "\\ud800"}, {})
    Traceback (most recent call last):
    rpo.exceptions.InputError: a name or label has '\\ud800', which is not a valid character: correct it before fitting
    """
    text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise InputError(
            f"a name or label has {half!r}, which is not a valid character: correct it before fitting"
        ) from None
    return {CARD: content, WEIGHTS: save_arrays({name: np.array(values, order="C") for name, values in arrays.items()})}


def read_card(content: bytes, folder: Path, needed: Iterable[str] = ()) -> dict[str, Any]:
    """Read `model.json`, and check that it is the card of a model, and of a format that is known.

    >>> read_card(b"[]", Path("model"))
    Traceback (most recent call last):
    rpo.exceptions.InputError: model/model.json is not a model card: save the model again
    >>> read_card(b'{"class": "RPORegressor", "format": 9}', Path("model"))
    Traceback (most recent call last):
    rpo.exceptions.InputError: model has format 9, but this version reads 2: use a matching one
    """
    try:
        card = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder / CARD} cannot be read ({words_of(error)}): save the model again") from None
    if not isinstance(card, dict) or not {"class", *needed} <= set(card) or not isinstance(card["class"], str):
        raise InputError(f"{folder / CARD} is not a model card: save the model again")
    number = card.get("format")
    if number != FORMAT:
        raise InputError(
            f"{folder} has format {printable(str(number))[:20]}, but this version reads {FORMAT}: use a matching one"
        )
    return card


@contextmanager
def check_complete(folder: Path, remedy: str = "save it again") -> Iterator[None]:
    """Raise one line in place of whatever a spoiled card raises on its way to a model.

    >>> with check_complete(Path("model")):
    ...     {}["parts"]
    Traceback (most recent call last):
    rpo.exceptions.InputError: model is not a complete model ('parts'): save it again
    """
    try:
        yield
    except WRONG as error:
        raise InputError(f"{folder} is not a complete model ({words_of(error)}): {remedy}") from None


def check_outputs(outputs: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Check one prediction of a model: whatever is wrong shows when it is loaded, not when it is used.

    >>> check_outputs(np.array([np.inf]), (1,))
    Traceback (most recent call last):
    ValueError: the predictions are not finite numbers
    """
    if outputs.shape != shape:
        raise ValueError("the predictions do not fit the classes")
    if outputs.dtype.kind == "f" and not np.isfinite(outputs).all():
        raise ValueError("the predictions are not finite numbers")


def encode_value(name: str, value: Any) -> Any:
    """Return a value as JSON has it; numbers that JSON has no word for are marked.

    >>> encode_value("rate", np.float64(0.5)), encode_value("rate", float("inf"))
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


def decode_value(value: Any) -> Any:
    """Return the value that was encoded.

    >>> decode_value({"float": "inf"}), decode_value(1.5)
    (inf, 1.5)
    """
    return float(value["float"]) if isinstance(value, dict) and set(value) == {"float"} else value


def encode_column(name: str, values: NDArray[Any]) -> dict[str, Any]:
    """Return an array of labels or numbers with its type.

    >>> encode_column("domains", np.array([1, 2], dtype=np.int8))
    {'dtype': '|i1', 'values': [1, 2]}
    """
    if values.dtype.kind not in LABEL_KINDS:
        raise InputError(
            f"{name} has type {values.dtype}, which cannot be saved as JSON: convert it to text before fitting"
        )
    return {"dtype": values.dtype.str, "values": [encode_value(name, value) for value in values.tolist()]}


def decode_column(saved: Mapping[str, Any]) -> NDArray[Any]:
    """Return values as they were; a type that would take more memory than they need is refused before it is taken.

    >>> decode_column({"dtype": "|i1", "values": [1, 2]})
    array([1, 2], dtype=int8)
    """
    longest = max([1, *(len(value) for value in saved["values"] if isinstance(value, str))])
    kind = re.fullmatch(r"[<>|=]?([biufO])[1248]?|[<>|=]?(U)(\d{1,9})", saved["dtype"])
    if kind is None or (kind[2] and int(kind[3]) > longest):
        raise ValueError(f"unknown type of labels {str(saved['dtype'])[:20]!r}")
    if kind[2] and 4 * int(kind[3]) * len(saved["values"]) > MOST_BYTES:
        raise ValueError("the labels take too much memory")
    values = [decode_value(value) for value in saved["values"]]
    if not all(value is None or isinstance(value, str | int | float) for value in values):
        raise ValueError("a label is a list")
    return np.array(values, dtype=np.dtype(saved["dtype"]))


def validate(kind: type[Model], saved: Any, where: str = "") -> Model:
    """Return what was saved as a model of pydantic; raise a ValueError about the first mistake.

    pydantic would list all mistakes: gigabytes, if there are a million fields that nobody knows.

    >>> validate(Column, {"name": "a", "kind": "code"}, "columns.0.")
    Traceback (most recent call last):
    ValueError: columns.0.kind: Input should be 'number', 'date' or 'category'
    """
    if not isinstance(saved, dict):
        raise ValueError(f"{where or 'the file'}: Input should be an object")
    for name in saved:
        if name not in kind.model_fields:
            raise ValueError(f"{where}{name[:60]}: Extra inputs are not permitted")
    try:
        return kind.model_validate(saved)
    except ValidationError as error:
        first = error.errors(include_context=False, include_input=False, include_url=False)[0]
        place = where + ".".join(map(str, first["loc"]))
        raise ValueError(f"{place or 'the file'}: {first['msg']}") from None


def read_columns(saved: Any) -> tuple[Column, ...]:
    """Return the columns of a table.

    >>> read_columns([{"name": "a", "kind": "number"}])[0].name
    'a'
    """
    for place, column in enumerate(saved):
        texts = column.get("categories") if isinstance(column, dict) else None
        if isinstance(texts, list) and not all(isinstance(text, str) for text in texts):
            raise ValueError(f"columns.{place}.categories: Input should be a valid string")
    return tuple(validate(Column, column, f"columns.{place}.") for place, column in enumerate(saved))


def encode_labels(model: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return those attributes of a model that it has, each an array of labels."""
    return {name: encode_column(name, getattr(model, name)) for name in names if hasattr(model, name)}


def restore_labels(model: Any, saved: Mapping[str, Any], names: Iterable[str]) -> None:
    """Set attributes to their labels; each stands there once, and classes are no more than there can be columns for.

    >>> restore_labels(None, {"domains_": {"dtype": "|i1", "values": [1, 1]}}, ["domains_"])
    Traceback (most recent call last):
    ValueError: domains_ has duplicates
    """
    for name in (name for name in names if name in saved):
        labels = decode_column(saved[name])
        if len({(type(value), value) for value in labels.tolist()}) != len(labels):
            raise ValueError(f"{name} has duplicates")
        if name == "classes_" and len(labels) > MOST_CLASSES:
            raise ValueError(f"there are more than {MOST_CLASSES:,} classes")
        setattr(model, name, labels)


def encode_frame(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a frame column by column, with its index.

    >>> decode_frame(encode_frame(pd.DataFrame({"a": [1.5, np.nan]}, index=["x", "y"])))["a"].tolist()
    [1.5, nan]
    """
    columns = {str(name): encode_column(str(name), _to_array(frame[name])) for name in frame.columns}
    return {"name": frame.index.name, "index": encode_column("index", _to_array(frame.index)), "columns": columns}


def decode_frame(saved: Mapping[str, Any]) -> pd.DataFrame:
    """Return the frame that was encoded."""
    columns = {name: decode_column(values) for name, values in saved["columns"].items()}
    return pd.DataFrame(columns, index=pd.Index(decode_column(saved["index"]), name=saved.get("name")))


def _to_array(values: "pd.Series[Any] | pd.Index[Any]") -> NDArray[Any]:
    array = values.to_numpy()
    return array if isinstance(values.dtype, np.dtype) else array.astype(object)


def is_number(values: NDArray[Any]) -> bool:
    """Return whether an array that was read holds numbers as they are saved: real, and no smaller than four bytes.

    >>> is_number(np.zeros(1)), is_number(np.zeros(1, np.int8)), is_number(np.zeros(1, np.complex64))
    (True, False, False)
    """
    return values.dtype.kind in "iuf" and values.dtype.itemsize >= LEAST_BYTES


def read_numbers(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return an array of finite numbers, which must have a given shape.

    >>> read_numbers({"coef": np.ones(2)}, "coef", (3,))
    Traceback (most recent call last):
    ValueError: coef has the wrong shape or type
    """
    values = np.asarray(arrays[name])
    if values.shape != shape or not is_number(values):
        raise ValueError(f"{name} has the wrong shape or type")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} is not finite")
    return values


def add_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Put a prefix before the names of arrays.

    >>> list(add_prefix("trees", {"left": np.zeros(1)}))
    ['trees/left']
    """
    return {f"{prefix}/{name}": values for name, values in arrays.items()}


def select_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the arrays that have a prefix, without it.

    >>> list(select_prefix("trees", {"trees/left": np.zeros(1), "left": np.zeros(1)}))
    ['left']
    """
    return {name[len(prefix) + 1 :]: a for name, a in arrays.items() if name.startswith(f"{prefix}/")}
