"""A fitted table model as a folder of readable files, safe to open even if it comes from an unknown source.

`README.md` is the card, `table.json` what the columns are, `model.json` and `weights.safetensors` the estimator (a
network within a Quality model has two files more), `manifest.json` has the checksums. There is no pickle, nothing in a
folder names a file or code, and every size is checked before memory is taken for it.
"""

import json
import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rpo._io import Task, words_of
from rpo._models import QualityClassifier, QualityRegressor
from rpo._models.model_files import decode_model, encode_model
from rpo._models.table_model import TableModel, predict_table, unique_names
from rpo._saving.card import LIMITS, check_complete, check_outputs, read_columns, validate
from rpo._saving.folders import read_folder, write_folder
from rpo._table.columns import Column, check_columns
from rpo.exceptions import InputError

TABLE, TABLE_BYTES = "table.json", 16 << 20
SHARED = ("columns", "target", "domain", "task", "rows", "domains", "notes", "id", "threshold")
SHOWN = 12  # domains on the card
HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
VERSIONS = ("rpo", "numpy", "scikit-learn", "pandas")


class TableCard(BaseModel):
    """The content of `table.json`; unknown fields are refused."""

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
        """Check that names are unique, and that fills and counts of rows are possible."""
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
    own = {TABLE: card.model_dump_json(indent=2).encode(), "README.md": make_readme(model).encode()}
    write_folder(path, {**encode_model(model.estimator), **own})


def load_model(path: str | os.PathLike[str]) -> TableModel:
    """Return the model in a folder, once everything about it was checked; raise one line if anything is off.

    >>> load_model("nowhere")
    Traceback (most recent call last):
    ...
    rpo.exceptions.InputError: nowhere is not a folder: pass one written by `rpo fit`
    """
    folder = Path(path)
    files = read_folder(folder, {TABLE: TABLE_BYTES, **LIMITS}, made_by="rpo fit")
    card = _read_table_card(files[TABLE], folder / TABLE)
    estimator = decode_model(files, folder, made_by="rpo fit")
    with check_complete(folder, "fit it again"):
        _check_estimator(estimator, card)
        model = TableModel(estimator=estimator, **{name: getattr(card, name) for name in SHARED})
        empty = pd.DataFrame({column.name: pd.Series([None], dtype=object) for column in model.columns})
        check_outputs(predict_table(model, empty)[0]["prediction"].to_numpy(), (1,))
    return model


def _read_table_card(content: bytes, place: Path) -> TableCard:
    try:
        saved = json.loads(content)
        if isinstance(saved, dict):
            columns, domains, notes = (saved.get(name) for name in ("columns", "domains", "notes"))
            if not isinstance(columns, list) or not isinstance(domains, dict) or not isinstance(notes, list):
                raise ValueError("columns, domains or notes are missing")
            if not all(type(n) is int for n in domains.values()) or not all(isinstance(note, str) for note in notes):
                raise ValueError("the rows of a domain are not a number, or a note is not text")
            saved["columns"] = read_columns(columns)
        card = validate(TableCard, saved)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not as `rpo fit` writes it ({words_of(error, 160)})") from None
    if not card.columns:
        raise InputError(f"{place} has no columns: it is not a model of a table")
    return card


def _check_estimator(estimator: Any, card: TableCard) -> None:
    """Check that an estimator was fitted to the columns and the target of a card."""
    names = list(getattr(estimator, "feature_names_in_", ()))
    if isinstance(estimator, QualityRegressor | QualityClassifier):
        fits = estimator.columns_ == card.columns and names == [column.name for column in card.columns]
    else:
        fits = names == unique_names(card.columns)
    if not fits:
        raise ValueError("its inputs are not the columns of table.json")
    if hasattr(estimator, "classes_") != (card.task == "classification"):
        raise ValueError(f"it is not a {card.task} model")
    if card.threshold is not None and len(getattr(estimator, "classes_", ())) != 2:
        raise ValueError("a threshold needs two classes")


def make_readme(model: TableModel) -> str:
    """Return the README of a folder in Markdown: use, columns, expected error, domains, notes, versions."""
    estimator = model.estimator
    method = getattr(estimator, "estimator", None) or getattr(estimator, "method", "rpo")
    judged = hasattr(estimator, "expected_error_")
    domain = f" (column `{escape(model.domain)}`)." if model.domain else "."
    used = (*VERSIONS, "torch") if hasattr(estimator, "params_") else VERSIONS
    sections = [
        [f"# {escape(model.target)} by {method}"],
        [
            f"A {model.task} of `{escape(model.target)}`, "
            f"fitted to {model.rows:,} rows of {len(model.domains):,} domains{domain}"
        ],
        ["    rpo predict THIS_FOLDER NEW_TABLE.csv --out predictions.csv"]
        + (["    rpo check THIS_FOLDER NEW_TABLE.csv"] if judged else []),
        ["## Columns", "", "| column | read as | missing value |", "|---|---|---|", *map(_column_row, model.columns)],
        *([_unused_section(model), _error_section(model)] if judged else []),
        _domain_section(model),
        ["## Notes", "", *(f"- {escape(note)}" for note in model.notes)],
        [f"Versions: {', '.join(f'{name} {version(name)}' for name in used)}."],
    ]
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def _column_row(column: Column) -> str:
    if column.kind == "category":
        return f"| {escape(column.name)} | {len(column.categories)} categories | a category of its own |"
    return f"| {escape(column.name)} | {column.kind} | {column.fill:g} |"


def _unused_section(model: TableModel) -> list[str]:
    estimator = model.estimator
    roles = {model.target: "the target", model.domain: "the domain", model.id: "the id"}
    reasons = {name: roles.get(name, estimator.left_out_.get(name, "left out")) for name in estimator.not_features_}
    lines = ["## Not used", "", "| column or feature | why |", "|---|---|"]
    lines += [f"| {escape(name)} | {escape(reason)} |" for name, reason in reasons.items()]
    for row in estimator.dropped_.itertuples():
        figures = f"error on held-out domains {row.error_with:.3g} with, {row.error_without:.3g} without"
        lines.append(f"| {escape(row.feature)} | its relation to the target differs between domains; {figures} |")
    return lines


def _error_section(model: TableModel) -> list[str]:
    measure = "Brier score" if model.task == "classification" else "Root mean squared error"
    lines = [
        "## Expected error on a new domain",
        "",
        f"{measure} on held-out domains, with its standard deviation over domains.",
        "",
        "| model | error | spread | worst domain |",
        "|---|---:|---:|---|",
    ]
    for name, row in model.estimator.expected_error_.iterrows():
        who = "this model" if name == "quality" else escape(name)
        worst = f"{row['worst']:.3g} ({escape(row['worst_domain'])})"
        lines.append(f"| {who} | {row['error']:.3g} | {row['spread']:.3g} | {worst} |")
    return lines


def _domain_section(model: TableModel) -> list[str]:
    lines = ["## Domains", ""]
    if hasattr(model.estimator, "penalties_"):
        penalties = model.estimator.penalties_
        lines += [
            "Lowest η first, then largest; η is the invariance penalty of a domain. "
            f"λ = {penalties.lam:.3g}, scheme {penalties.scheme}; `model.json` has every cell.",
            "",
            "| domain | rows | η |",
            "|---|---:|---:|",
        ]
        eta = penalties.eta.loc[sorted(penalties.eta.index, key=lambda name: -model.domains[str(name)])]
        lowest = eta.sort_values(kind="stable").head(SHOWN)
        lines += [f"| {escape(name)} | {model.domains[str(name)]:,} | {value:.3g} |" for name, value in lowest.items()]
    else:
        largest = sorted(model.domains.items(), key=lambda item: -item[1])[:SHOWN]
        lines += ["| domain | rows |", "|---|---:|", *(f"| {escape(name)} | {n:,} |" for name, n in largest)]
    more = len(model.domains) - SHOWN
    return [*lines, "", f"{more:,} more are in `table.json`."] if more > 0 else lines


def escape(text: object) -> str:
    """Return text that Markdown shows as it is, on one line: no markup, and no link that somebody could follow.

    >>> escape("<b>|a")
    '&lt;b&gt;&#124;a'
    >>> escape("[x](http://evil.example) www.evil.example")
    '&#91;x&#93;(http&#58;//evil.example) www&#46;evil.example'
    """
    line = " ".join(str(text).split())
    line = "".join(f"&#{ord(mark)};" if mark in "|`[]@\\" else HTML.get(mark, mark) for mark in line)
    return re.sub(r"(?i)(www)\.", r"\1&#46;", line.replace("://", "&#58;//"))
