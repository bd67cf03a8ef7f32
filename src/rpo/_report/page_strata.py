"""The section on groups of rows, noisiest first."""

from typing import TYPE_CHECKING, Any

from rpo._judging.noise import FEWEST_JUDGED
from rpo._report.page_drawing import from_zero
from rpo._report.page_numbers import noise_digits

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

MOST = 100


def section(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build the section: a row for each group, with the drawing of its interval."""
    shown = judgement.strata.head(MOST // shorter)
    return {
        "kind": "strata",
        "id": "strata",
        "title": "Groups of rows",
        "rows": shown.to_dict("records"),
        "left": len(judgement.strata) - len(shown),
        "noises": from_zero(shown["low"], shown["noise"], shown["high"], judgement.noise),
        "digits": noise_digits(shown["noise"], judgement.task),
        "overall": judgement.noise,
        "known": int(judgement.strata["judged"].sum()) > 1,
        "searched": judgement.assigned.searched,
        "single": len(judgement.strata) == 1,
        "fewest": FEWEST_JUDGED[judgement.task],
        "differ": bool(judgement.strata["noisy"].any()),
        "regression": judgement.task == "regression",
    }
