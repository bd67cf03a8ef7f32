"""The section for readers of the paper: η and ρ."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

MOST = 200


def section(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build the section: every cell, those of the smallest η first."""
    shown = judgement.penalties.head(MOST // shorter)
    return {
        "kind": "paper",
        "id": "paper",
        "title": "For readers of the paper",
        "rows": shown.to_dict("records"),
        "left": len(judgement.penalties) - len(shown),
    }
