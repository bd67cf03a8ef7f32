"""A fitted table model as a folder that a person can read, and that may come from anybody.

`README.md` is the card, `table.json` what the columns are, `model.json` and `weights.safetensors` the estimator. There
is no pickle, nothing in a folder names a file or code, and every size is checked before memory is taken for it.
"""

import json
import math
import os
import re
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from rpo.exceptions import InputError
from rpo.frames.columns import Column, names_of
from rpo.frames.preparing import Task
from rpo.tables.card import card_text
from rpo.tables.model import TableModel

JSON_BYTES, WEIGHT_BYTES = 32 << 20, 1 << 30
FILES = {"table.json": JSON_BYTES, "model.json": JSON_BYTES, "weights.safetensors": WEIGHT_BYTES}


class TableCard(BaseModel):
    """What `table.json` holds; anything else in it is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format: Literal[1] = 1
    target: str
    domain: str | None
    task: Task
    rows: int
    domains: dict[str, int]
    columns: tuple[Column, ...]
    notes: tuple[str, ...]


def save_model(model: TableModel, path: str | os.PathLike[str]) -> None:
    """Write the folder, or replace one that holds a table model; whole or not at all.

    >>> import pandas as pd, tempfile
    >>> from rpo.frames import prepare
    >>> from rpo.tables.model import fit_table
    >>> table = pd.DataFrame({"x": range(40), "y": range(40), "d": ["a", "b"] * 20})
    >>> with tempfile.TemporaryDirectory() as place:
    ...     save_model(fit_table(prepare(table, target="y", domain="d"), method="erm-l2", steps=5), f"{place}/m")
    ...     sorted(os.listdir(f"{place}/m"))
    ['README.md', 'model.json', 'table.json', 'weights.safetensors']
    """
    folder = Path(path)
    check_place(folder)
    card = TableCard(
        target=model.target,
        domain=model.domain,
        task=model.task,
        rows=model.rows,
        domains=dict(model.domains),
        columns=model.columns,
        notes=model.notes,
    )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
            new = Path(scratch) / "new"
            model.estimator.save(new)
            (new / "table.json").write_text(card.model_dump_json(indent=2), encoding="utf-8")
            (new / "README.md").write_text(card_text(model), encoding="utf-8")
            if folder.exists():
                folder.rename(Path(scratch) / "old")
            new.rename(folder)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror or error}") from None


def check_place(folder: Path) -> None:
    """Refuse a place that cannot be written to or holds anything but a table model: before the fitting, not after."""
    if folder.exists() and not (folder / "table.json").is_file():
        raise InputError(f"{folder} exists and holds no fitted table: choose another folder")
    nearest = next(parent for parent in folder.absolute().parents if parent.exists())
    try:
        with tempfile.TemporaryDirectory(dir=nearest, prefix=f".{folder.name}."):
            pass
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror or error}") from None


def load_model(path: str | os.PathLike[str]) -> TableModel:
    """The model in a folder, once everything about it was checked; one line if anything is off.

    >>> load_model("nowhere")
    Traceback (most recent call last):
    ...
    rpo.exceptions.InputError: nowhere is not a folder: give one that `rpo fit` wrote
    """
    from rpo.estimators import load

    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give one that `rpo fit` wrote")
    for name, most in FILES.items():
        file = folder / name
        if not file.is_file():
            raise InputError(f"{folder} holds no {name}: give a folder that `rpo fit` wrote")
        if file.stat().st_size > most:
            raise InputError(f"{file} has {file.stat().st_size:,} bytes, more than {most:,}: it is no model of a table")
    try:
        card = TableCard.model_validate_json((folder / "table.json").read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(f"{folder / 'table.json'} is not as `rpo fit` writes it ({where}: {first['msg']})") from None
    except OSError as error:
        raise InputError(f"{folder / 'table.json'} cannot be read ({error.strerror})") from None
    if card.task not in ("regression", "classification") or not card.columns:
        raise InputError(f"{folder / 'table.json'} names no columns: it is no model of a table")
    inputs = len(names_of(card.columns)[0])
    _check_sizes(folder, inputs)
    try:
        estimator = load(folder)
        _try(estimator, inputs)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{folder} is not a whole model ({' '.join(str(error).split())[:120]}): fit it again"
        ) from None
    return TableModel(estimator, card.columns, card.target, card.domain, card.task, card.rows, card.domains, card.notes)


def _check_sizes(folder: Path, inputs: int) -> None:
    """What the card says must fit the bytes that are there, or else loading would allocate whatever it says."""
    from safetensors import SafetensorError, safe_open

    weights = folder / "weights.safetensors"
    try:
        card: Any = json.loads((folder / "model.json").read_bytes())
        hidden, labels = card["parameters"]["hidden"], card["labels"]
        widths = [inputs, *hidden]
        if card["fitted"]["n_features_in_"] != inputs or not all(type(w) is int and w > 0 for w in widths):
            raise ValueError("its inputs are not the columns of table.json")
        if sum(a * b for a, b in pairwise(widths)) * 4 > weights.stat().st_size:
            raise ValueError("its network is larger than its weights")
        for saved in labels.values():
            longest = max([1, *(len(value) for value in saved["values"] if isinstance(value, str))])
            kind = re.fullmatch(r"[<>|=]?([biufO])[1248]?|[<>|=]?(U)(\d{1,9})", saved["dtype"])
            if kind is None or (kind[2] and int(kind[3]) > longest):
                raise ValueError(f"labels of type {str(saved['dtype'])[:20]!r}")
        with safe_open(weights, framework="numpy") as file:
            for name in ("x_mean_", "x_scale_"):
                if math.prod(file.get_slice(name).get_shape()) not in (1, inputs):
                    raise ValueError(f"{name} is of another shape")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OSError, SafetensorError) as error:
        words = " ".join(str(error).split())[:120]
        raise InputError(f"{folder} is not a whole model ({words or type(error).__name__}): fit it again") from None


def _try(estimator: Any, inputs: int) -> None:
    """One prediction, so that whatever is wrong shows now."""
    import pandas as pd

    names = getattr(estimator, "feature_names_in_", range(inputs))
    given = pd.DataFrame(np.zeros((1, inputs)), columns=list(names))
    guess = estimator.predict(given)
    if len(guess) != 1 or (guess.dtype.kind == "f" and not np.isfinite(guess).all()):
        raise ValueError("its predictions are not numbers")
