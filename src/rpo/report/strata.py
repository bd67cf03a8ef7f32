"""Strata in plain terms, noisiest first."""

from typing import TYPE_CHECKING, Any

from rpo.report.domains import intervals

if TYPE_CHECKING:
    from rpo.judging import Quality

MOST = 100


def section(found: "Quality", shorter: int) -> dict[str, Any]:
    """A row for each stratum, with the drawing of its interval."""
    shown = found.strata.head(MOST // shorter)
    return {
        "kind": "strata",
        "id": "strata",
        "title": "Groups of rows",
        "rows": shown.to_dict("records"),
        "left": len(found.strata) - len(shown),
        "drawings": intervals(shown, found.noise),
        "overall": found.noise,
        "searched": found.groups.searched,
        "differ": bool(found.strata["noisy"].any()),
        "regression": found.task == "regression",
    }
