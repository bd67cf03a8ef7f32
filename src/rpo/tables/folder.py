"""A fitted table model as a folder that a person can read, and that may come from anybody.

`README.md` is the card, `table.json` what the columns are, `model.json` and `weights.safetensors` the estimator,
`manifest.json` has the checksums. There is no pickle, nothing in a folder names a file or code, and every size is
checked before memory is taken for it.
"""

import os
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from rpo.estimators.saving import LIMITS, WRONG, files_of, from_files
from rpo.exceptions import InputError
from rpo.folders import read_folder, write_folder
from rpo.frames.columns import LARGEST, Column, names_of
from rpo.io import Task
from rpo.tables.card import card_text
from rpo.tables.model import TableModel, unique_names

TABLE_BYTES = 16 << 20


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

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Names once each, fills that data of this kind can have, and counts of rows."""
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names) or {self.target, self.domain} & set(names):
            raise ValueError("a column is named twice")
        for column in self.columns:
            if len(set(column.categories)) != len(column.categories):
                raise ValueError("a category is named twice")
            if (column.kind == "category") != bool(column.categories) or abs(column.fill) > LARGEST:
                raise ValueError("a column has categories or a fill that it cannot have")
        if min(self.domains.values(), default=0) < 1 or sum(self.domains.values()) != self.rows:
            raise ValueError("the rows of the domains are not the rows of the table")
        return self


def save_model(model: TableModel, path: str | os.PathLike[str]) -> None:
    """Write the folder, or replace one that holds a saved model and nothing else; whole or not at all.

    >>> import pandas as pd, tempfile
    >>> from rpo.frames import prepare
    >>> from rpo.tables.model import fit_table
    >>> table = pd.DataFrame({"x": range(40), "y": range(40), "d": ["a", "b"] * 20})
    >>> with tempfile.TemporaryDirectory() as place:
    ...     save_model(fit_table(prepare(table, target="y", domain="d"), method="erm-l2", steps=5), f"{place}/m")
    ...     sorted(os.listdir(f"{place}/m"))
    ['README.md', 'manifest.json', 'model.json', 'table.json', 'weights.safetensors']
    """
    card = TableCard(
        target=model.target,
        domain=model.domain,
        task=model.task,
        rows=model.rows,
        domains=dict(model.domains),
        columns=model.columns,
        notes=model.notes,
    )
    own = {"table.json": card.model_dump_json(indent=2).encode(), "README.md": card_text(model).encode()}
    write_folder(path, {**files_of(model.estimator), **own})


def load_model(path: str | os.PathLike[str]) -> TableModel:
    """The model in a folder, once everything about it was checked; one line if anything is off.

    >>> load_model("nowhere")
    Traceback (most recent call last):
    ...
    rpo.exceptions.InputError: nowhere is not a folder: give one that `rpo fit` wrote
    """
    folder = Path(path)
    files = read_folder(folder, {"table.json": TABLE_BYTES, **LIMITS}, made_by="rpo fit")
    try:
        card = TableCard.model_validate_json(files["table.json"])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        words = f"{where}: {first['msg']}"[:160]
        raise InputError(f"{folder / 'table.json'} is not as `rpo fit` writes it ({words})") from None
    if card.task not in ("regression", "classification") or not card.columns:
        raise InputError(f"{folder / 'table.json'} names no columns: it is no model of a table")
    inputs = len(names_of(card.columns)[0])
    estimator = from_files(files, folder)
    if list(getattr(estimator, "feature_names_in_", ())) != unique_names(card.columns):
        raise InputError(f"{folder} is not a whole model (its inputs are not the columns of table.json): fit it again")
    try:
        _try(estimator, inputs)
    except InputError:
        raise
    except WRONG as error:
        raise InputError(
            f"{folder} is not a whole model ({' '.join(str(error).split())[:120]}): fit it again"
        ) from None
    return TableModel(estimator, card.columns, card.target, card.domain, card.task, card.rows, card.domains, card.notes)


def _try(estimator: Any, inputs: int) -> None:
    """One prediction, so that whatever is wrong shows now."""
    import pandas as pd

    names = getattr(estimator, "feature_names_in_", range(inputs))
    given = pd.DataFrame(np.zeros((1, inputs)), columns=list(names))
    estimator.predict(given)
