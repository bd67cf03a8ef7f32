"""The section with the rows to look at first, and files to download."""

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rpo._report.page_numbers import number, percent

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

MOST, MOST_COLUMNS = 100, 30
FAR = 3.0  # times the usual noise: rows below it are ordinary
MOST_WEIGHTS = 30_000  # rows; with more, the file would dominate the page
PREFIX = "column "


def section(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build the section: the rows that are furthest from their expected value."""
    columns = [name for name in judgement.rows.columns if name.startswith(PREFIX)]
    shown = columns[: MOST_COLUMNS // shorter]
    regression = judgement.task == "regression"
    table = odd(judgement)
    rows: list[dict[str, Any]] = table.head(MOST // shorter).to_dict("records")  # type: ignore[assignment]
    return {
        "title": "Rows to look at first",
        "target": judgement.table.target,
        "regression": regression,
        "single": len(judgement.strata) == 1,
        "rows": [row | {"why": why(row)} for row in rows],
        "columns": [(name, name.removeprefix(PREFIX)) for name in shown],
        "left": len(columns) - len(shown),
        "downloads": _downloads(judgement, table) if shorter == 1 else [],
    }


def odd(judgement: "Judgement") -> pd.DataFrame:
    """Return rows far from their expected value: three times the usual noise, or another class than expected."""
    if judgement.task == "regression":
        return judgement.rows[judgement.rows["times"] >= FAR]
    return judgement.rows[judgement.rows["expected"] != judgement.rows["target"]]


def why(row: dict[str, Any]) -> str:
    """Explain in words why a row is listed.

    >>> why({"times": 6.04}), why({"probability": 0.0123, "times": 4.4})
    ('6.0 times the usual noise of its domain', 'its label has a probability of 1\\xa0%')
    """
    if "probability" in row:
        return f"its label has a probability of {percent(row['probability'])}"
    return f"{number(row['times'], 1)} times the usual noise of its domain"


def _downloads(judgement: "Judgement", rows: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return name, label and content of each file to download."""
    files = [("rows-to-check.csv", "These rows as CSV", csv_uri(rows))] if len(rows) else []
    if judgement.scope is None and len(judgement.weight) <= MOST_WEIGHTS and (judgement.weight != 1).any():
        weights = pd.DataFrame({"row": np.arange(1, len(judgement.weight) + 1), "weight": judgement.weight})
        files.append(("weights.csv", "The weight of every row as CSV", csv_uri(weights)))
    return files


def csv_uri(table: pd.DataFrame) -> str:
    """Encode a table as a CSV file inside a link.

    >>> csv_uri(pd.DataFrame({"a": [1]}))
    'data:text/csv;charset=utf-8;base64,YQoxCg=='
    """
    text = table.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    return f"data:text/csv;charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"
