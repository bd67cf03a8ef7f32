"""The section on groups of rows, noisiest first."""

from typing import TYPE_CHECKING, Any

from rpo._judging.noise import FEWEST_JUDGED
from rpo._report.page_drawing import from_zero
from rpo._report.page_numbers import noise_digits

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

MOST = 100


def section(found: "Judgement", shorter: int) -> dict[str, Any]:
    """Build the section: a row for each group, with the drawing of its interval."""
    shown = found.strata.head(MOST // shorter)
    return {
        "kind": "strata",
        "id": "strata",
        "title": "Groups of rows",
        "rows": shown.to_dict("records"),
        "left": len(found.strata) - len(shown),
        "noises": from_zero(shown["low"], shown["noise"], shown["high"], found.noise),
        "digits": noise_digits(shown["noise"], found.task),
        "overall": found.noise,
        "known": int(found.strata["judged"].sum()) > 1,
        "searched": found.assigned.searched,
        "single": len(found.strata) == 1,
        "fewest": FEWEST_JUDGED[found.task],
        "differ": bool(found.strata["noisy"].any()),
        "regression": found.task == "regression",
    }
