"""A fitted table model as a folder that a person can read, and that may come from anybody.

`README.md` is the card, `table.json` what the columns are, `model.json` and `weights.safetensors` the estimator (a
network within a Quality model has two files more), `manifest.json` has the checksums. There is no pickle, nothing in a
folder names a file or code, and every size is checked before memory is taken for it.
"""

import json
import os
import re
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rpo._io import Task, printable, words_of
from rpo._models import QualityClassifier, QualityRegressor
from rpo._models.model_files import files_of, load
from rpo._models.table_model import TableModel, predict_table, unique_names
from rpo._saving.card import LIMITS, WRONG
from rpo._saving.folders import read_folder, write_folder
from rpo._table.columns import Column, check_columns
from rpo.exceptions import InputError

TABLE_BYTES = 16 << 20
SHARED = ("columns", "target", "domain", "task", "rows", "domains", "notes", "id", "threshold")
SHOWN = 12  # domains on the card
HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
VERSIONS = ("rpo", "numpy", "scikit-learn", "pandas")


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
    id: str | None = None
    threshold: float | None = Field(default=None, gt=0, lt=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """Names once each, fills that data of this kind can have, and counts of rows."""
        check_columns(self.columns)
        if {self.target, self.domain, self.id} & {column.name for column in self.columns}:
            raise ValueError("a column is named twice")
        if min(self.domains.values(), default=0) < 1 or sum(self.domains.values()) != self.rows:
            raise ValueError("the rows of the domains do not add up to those of the table")
        return self


def save_model(model: TableModel, path: str | os.PathLike[str]) -> None:
    """Write the folder, or replace one that holds a saved model and nothing else; whole or not at all.

    >>> import pandas as pd, tempfile
    >>> from rpo._table import prepare
    >>> from rpo._models.table_model import fit_table
    >>> table = pd.DataFrame({"x": range(40), "y": range(40), "d": ["a", "b"] * 20})
    >>> with tempfile.TemporaryDirectory() as place:
    ...     save_model(fit_table(prepare(table, target="y", domain="d"), method="linear"), f"{place}/m")
    ...     sorted(os.listdir(f"{place}/m"))
    ['README.md', 'manifest.json', 'model.json', 'table.json', 'weights.safetensors']
    """
    card = TableCard(**{name: getattr(model, name) for name in SHARED})
    own = {"table.json": card.model_dump_json(indent=2).encode(), "README.md": card_text(model).encode()}
    write_folder(path, {**_files_of(model.estimator), **own})


def load_model(path: str | os.PathLike[str]) -> TableModel:
    """The model in a folder, once everything about it was checked; one line if anything is off.

    >>> load_model("nowhere")
    Traceback (most recent call last):
    ...
    rpo.exceptions.InputError: nowhere is not a folder: pass one written by `rpo fit`
    """
    folder = Path(path)
    card = _card(folder)
    estimator = load(folder, made_by="rpo fit")
    names = list(getattr(estimator, "feature_names_in_", ()))
    if isinstance(estimator, QualityRegressor | QualityClassifier):
        fits = estimator.columns_ == card.columns and names == [column.name for column in card.columns]
    else:
        fits = names == unique_names(card.columns)
    if not fits:
        raise InputError(
            f"{folder} is not a complete model (its inputs are not the columns of table.json): fit it again"
        )
    if hasattr(estimator, "classes_") != (card.task == "classification"):
        raise InputError(f"{folder} is not a complete model (it is not a {card.task} model): fit it again")
    if card.threshold is not None and len(getattr(estimator, "classes_", ())) != 2:
        raise InputError(f"{folder} is not a complete model (a threshold needs two classes): fit it again")
    model = TableModel(estimator=estimator, **{name: getattr(card, name) for name in SHARED})
    try:
        _try(model)
    except InputError:
        raise
    except WRONG as error:
        raise InputError(f"{folder} is not a complete model ({words_of(error)}): fit it again") from None
    return model


def _card(folder: Path) -> TableCard:
    files = read_folder(folder, {"table.json": TABLE_BYTES, "model.json": LIMITS["model.json"]}, made_by="rpo fit")
    try:
        found = json.loads(files["table.json"])
        _check_kinds(found)
        card = TableCard.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_context=False, include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        words = printable(f"{where}: {first['msg']}")[:160]
        raise InputError(f"{folder / 'table.json'} is not as `rpo fit` writes it ({words})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder / 'table.json'} is not as `rpo fit` writes it ({words_of(error)})") from None
    if not card.columns:
        raise InputError(f"{folder / 'table.json'} has no columns: it is not a model of a table")
    return card


def _check_kinds(card: Any) -> None:
    """Refuse the first thing that no card has. pydantic would list them all: gigabytes, if there are a million."""
    if not isinstance(card, dict):
        raise ValueError("the file: Input should be an object")
    columns, domains, notes = (card.get(name) for name in ("columns", "domains", "notes"))
    if not isinstance(columns, list) or not isinstance(domains, dict) or not isinstance(notes, list):
        raise ValueError("columns, domains or notes are missing")
    every = ((f"columns.{k}.", column, Column.model_fields) for k, column in enumerate(columns))
    for where, given, known in chain([("", card, TableCard.model_fields)], every):
        if not isinstance(given, dict):
            raise ValueError(f"{where}: Input should be an object")
        for name in given:
            if name not in known:
                raise ValueError(f"{where}{name[:60]}: Extra inputs are not permitted")
        texts = given.get("categories", [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in [given.get("name", ""), *texts]):
            raise ValueError(f"{where}name: Input should be a valid string")
    if not all(type(count) is int for count in domains.values()) or not all(isinstance(note, str) for note in notes):
        raise ValueError("the rows of a domain are not a number, or a note is not text")


def _files_of(estimator: Any) -> dict[str, bytes]:
    if isinstance(estimator, QualityRegressor | QualityClassifier):
        return files_of(estimator)
    from rpo._networks.network_files import files_of as network_files

    return network_files(estimator)


def _try(model: TableModel) -> None:
    """One prediction, so that whatever is wrong shows now."""
    empty = pd.DataFrame({column.name: pd.Series([None], dtype=object) for column in model.columns})
    guess = predict_table(model, empty)[0]["prediction"].to_numpy()
    if len(guess) != 1 or (guess.dtype.kind == "f" and not np.isfinite(guess).all()):
        raise ValueError("the predictions are not finite numbers")


def card_text(model: TableModel) -> str:
    """Markdown: data, columns, domains with their penalties, versions, use."""
    estimator = model.estimator
    method = getattr(estimator, "estimator", None) or getattr(estimator, "method", "rpo")
    lines = [
        f"# {plain(model.target)} by {method}",
        "",
        f"A {model.task} of `{plain(model.target)}`, fitted to {model.rows:,} rows of {len(model.domains):,} domains"
        + (f" (column `{plain(model.domain)}`)." if model.domain else "."),
        "",
        "    rpo predict THIS_FOLDER NEW_TABLE.csv --out predictions.csv",
        "",
        "## Columns",
        "",
        "| column | read as | missing value |",
        "|---|---|---|",
    ]
    for column in model.columns:
        if column.kind == "category":
            what = f"{len(column.categories)} categories"
            lines.append(f"| {plain(column.name)} | {what} | a category of its own |")
        else:
            lines.append(f"| {plain(column.name)} | {column.kind} | {column.fill:g} |")
    if hasattr(estimator, "expected_error_"):
        at = lines.index("    rpo predict THIS_FOLDER NEW_TABLE.csv --out predictions.csv")
        lines.insert(at + 1, "    rpo check THIS_FOLDER NEW_TABLE.csv")
        lines += ["", *_decided(model)]
    lines += ["", "## Domains", ""]
    if hasattr(estimator, "penalties_"):
        penalties = estimator.penalties_
        lines += [
            "Lowest η first, then largest; η is the invariance penalty of a domain. "
            f"λ = {penalties.lam:.3g}, scheme {penalties.scheme}; `model.json` has every cell.",
            "",
            "| domain | rows | η |",
            "|---|---:|---:|",
        ]
        by_size = penalties.eta.loc[sorted(penalties.eta.index, key=lambda name: -model.domains[str(name)])]
        lines += [
            f"| {plain(name)} | {model.domains[str(name)]:,} | {value:.3g} |"
            for name, value in by_size.sort_values(kind="stable").head(SHOWN).items()
        ]
    else:
        largest = sorted(model.domains.items(), key=lambda item: -item[1])[:SHOWN]
        lines += ["| domain | rows |", "|---|---:|", *(f"| {plain(name)} | {n:,} |" for name, n in largest)]
    if len(model.domains) > SHOWN:
        lines.append(f"\n{len(model.domains) - SHOWN:,} more are in `table.json`.")
    lines += ["", "## Notes", "", *(f"- {plain(note)}" for note in model.notes), ""]
    used = (*VERSIONS, "torch") if hasattr(estimator, "params_") else VERSIONS
    lines.append(f"Versions: {', '.join(f'{name} {version(name)}' for name in used)}.")
    return "\n".join(lines) + "\n"


def _decided(model: TableModel) -> list[str]:
    """What a Quality model leaves out, and what to expect of it."""
    estimator = model.estimator
    roles = {model.target: "the target", model.domain: "the domain", model.id: "the id"}
    unused = {name: roles.get(name, estimator.left_out_.get(name, "left out")) for name in estimator.not_features_}
    lines = ["## Not used", "", "| column or feature | why |", "|---|---|"]
    lines += [f"| {plain(name)} | {plain(why)} |" for name, why in unused.items()]
    for row in estimator.dropped_.itertuples():
        figures = f"error on held-out domains {row.error_with:.3g} with, {row.error_without:.3g} without"
        lines.append(f"| {plain(row.feature)} | its relation to the target differs between domains; {figures} |")
    measure = "Brier score" if model.task == "classification" else "Root mean squared error"
    lines += [
        "",
        "## Expected error on a new domain",
        "",
        f"{measure} on held-out domains, with its standard deviation over domains.",
        "",
        "| model | error | spread | worst domain |",
        "|---|---:|---:|---|",
    ]
    for name, row in estimator.expected_error_.iterrows():
        worst = f"{row['worst']:.3g} ({plain(row['worst_domain'])})"
        who = "this model" if name == "quality" else plain(name)
        lines.append(f"| {who} | {row['error']:.3g} | {row['spread']:.3g} | {worst} |")
    return lines


def plain(text: object) -> str:
    """Text that Markdown shows as it is, on one line: no markup, and no link that somebody could follow.

    >>> plain("<b>|a")
    '&lt;b&gt;&#124;a'
    >>> plain("[x](http://evil.example) www.evil.example")
    '&#91;x&#93;(http&#58;//evil.example) www&#46;evil.example'
    """
    line = " ".join(str(text).split())
    line = "".join(f"&#{ord(mark)};" if mark in "|`[]@\\" else HTML.get(mark, mark) for mark in line)
    return re.sub(r"(?i)(www)\.", r"\1&#46;", line.replace("://", "&#58;//"))
