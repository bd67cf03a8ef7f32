"""The section on a new table, compared with the training domains of a model."""

from typing import Any, Protocol

import pandas as pd

from rpo._report.page_drawing import bars
from rpo._report.page_numbers import decimals

MOST_DOMAINS, MOST_COLUMNS, MOST_NEAREST = 200, 200, 10


class CheckResult(Protocol):
    """Attributes of a check (`rpo.check`) that the page shows."""

    @property
    def verdict(self) -> str:
        """As usual, careful or outside."""

    @property
    def summary(self) -> tuple[str, ...]:
        """The verdict and its reasons, in sentences."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was missing or unseen in the table."""

    @property
    def domains(self) -> pd.DataFrame:
        """A row for each domain of the table."""

    @property
    def columns(self) -> pd.DataFrame:
        """A row for each column in each of these domains."""

    @property
    def distances(self) -> pd.DataFrame:
        """A row for each training domain and each of these domains."""

    @property
    def task(self) -> str:
        """Regression or classification."""

    @property
    def training_domains(self) -> int:
        """Number of training domains."""


def section(check: CheckResult, shorter: int) -> dict[str, Any]:
    """Build the section: verdict, reasons, domains, columns, and the training domains nearest to the first."""
    domains = check.domains.head(MOST_DOMAINS // shorter)
    error = "error" in domains
    size = check.columns[[name for name in ("level", "spread", "relation") if name in check.columns]].abs().max(axis=1)
    columns = check.columns.assign(size=size, several=len(check.domains) > 1)
    if len(check.domains) > 1:  # of several domains, only columns that stand out
        columns = columns[columns["shifted"] | (columns["missing"] > 0) | (columns["unseen"] > 0)]
        columns = columns.sort_values("size", ascending=False, kind="stable")
    shown = columns.head(MOST_COLUMNS // shorter)
    first = check.domains["domain"].iloc[0]
    near = check.distances[check.distances["domain"] == first].head(MOST_NEAREST)
    values = pd.concat([domains["expected error"], domains["error"]]) if error else domains["expected error"]
    lengths = bars(values)
    return {
        "title": "Can the model be trusted on it?",
        "verdict": check.verdict,
        "words": check.summary,
        "notes": check.notes,
        "rows": domains.to_dict("records"),
        "expected": lengths[: len(domains)],
        "errors": lengths[len(domains) :] if error else None,
        "digits": decimals(values),
        "measure": "Brier score" if check.task == "classification" else "root mean squared",
        "left": len(check.domains) - len(domains),
        "training": check.training_domains,
        "columns": shown.to_dict("records"),
        "relation": "relation" in check.columns,
        "left_columns": len(columns) - len(shown),
        "near": near.to_dict("records"),
        "near_bars": bars(near["distance"]),
        "first": first,
    }
