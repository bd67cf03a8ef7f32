"""The head of the page: at most five findings, each with a link to its evidence, and figures of the table."""

from typing import TYPE_CHECKING, Any

from rpo._report.page_numbers import decimals, number, percent

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

SHARES = ("variance explained", "largest class", "wrong labels")
PLACES = {
    "domains": "domains",
    "strata": "groups of rows",
    "features": "columns",
    "columns": "columns",
    "rows": "rows",
}


def section(judgement: "Judgement", shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """Build the section: sentences with links, and tiles with figures."""
    return {
        "kind": "summary",
        "id": "summary",
        "title": "What to do first",
        "findings": [(sentence, PLACES[place], place) for place, sentence in judgement.findings],
        "tiles": [(name, _figure(name, value)) for name, value in judgement.overview.items()],
    }


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return "cannot tell"
    if name == "variance explained" and value <= 0:
        return "none"  # held-out rows are predicted worse than by the mean
    if name in SHARES:
        return percent(value)
    return number(int(value)) if value.is_integer() else number(value, decimals([value]))
