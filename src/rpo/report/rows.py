"""Rows to look at first: the largest residuals."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpo.judging import Quality

MOST = 50


def section(found: "Quality", shorter: int) -> dict[str, Any]:
    """The rows that are furthest from what the others say about them."""
    ready = found.prepared
    return {
        "kind": "rows",
        "id": "rows",
        "title": "Rows to look at first",
        "target": ready.target,
        "regression": ready.task == "regression",
        "single": len(found.strata) == 1,
        "rows": found.rows.head(MOST // shorter).to_dict("records"),
    }
