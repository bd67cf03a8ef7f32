"""The section on the expected error of a fitted model on a new domain, compared with simpler models."""

from typing import TYPE_CHECKING, Any, Protocol

from rpo._report.page_drawing import bars
from rpo._report.page_numbers import decimals, number, percent

if TYPE_CHECKING:
    import pandas as pd


class Fitted(Protocol):
    """Attributes of a model (`rpo.QualityRegressor`, `rpo.QualityClassifier`) that the page shows."""

    expected_error_: "pd.DataFrame"
    """A row for each learner, the model's own first: error on held-out domains, spread over them, the worst."""
    shares_: dict[str, float]
    """What each learner contributes."""

    @property
    def coverage_(self) -> "pd.DataFrame":
        """Coverage of intervals on held-out training domains, a row for each level."""


def section(model: Fitted, shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """Build the section: one sentence, the learners and their shares, and the coverage of intervals."""
    coverage = model.coverage_
    table = model.expected_error_.rename_axis("learner").reset_index()
    digits = decimals(table["error"])
    rows: list[dict[str, Any]] = table.to_dict("records")  # type: ignore[assignment]
    return {
        "title": "Expected error on a new domain",
        "words": _words(rows[0], digits),
        "rows": rows,
        "bars": bars(table["error"]),
        "digits": digits,
        "wrong": "wrong" in table,
        "shares": ", ".join(f"{name} {percent(share)}" for name, share in model.shares_.items() if share > 0),
        "levels": coverage.to_dict("records"),
        "sizes": decimals(coverage["size"], 2),
        "by_domain": "lowest" in coverage,
    }


def _words(own: dict[str, Any], digits: int) -> str:
    """Describe the error of the model in a sentence.

    >>> _words({"error": 0.774, "worst": 1.702, "worst_domain": "B"}, 2)
    'On held-out domains the root mean squared error of the model is 0.77; at worst, in B, it is 1.70.'
    >>> _words({"error": 0.4, "worst": 0.5, "worst_domain": "B", "wrong": 0.25}, 2).replace("\\xa0", " ")
    'On held-out domains the model is wrong in 25 % of the rows; its error is largest in B.'
    """
    if "wrong" in own:
        wrong = percent(own["wrong"])
        return (
            f"On held-out domains the model is wrong in {wrong} of the rows; its error is largest in "
            f"{own['worst_domain']}."
        )
    return (
        f"On held-out domains the root mean squared error of the model is {number(own['error'], digits)}; "
        f"at worst, in {own['worst_domain']}, it is {number(own['worst'], digits)}."
    )
