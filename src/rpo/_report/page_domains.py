"""The section on domains, noisiest first: level, relation, novelty and noise."""

import math
from typing import TYPE_CHECKING, Any

from rpo._judging.noise import FEWEST_JUDGED
from rpo._report.page_drawing import about_zero, bars, from_zero
from rpo._report.page_numbers import noise_digits

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

MOST = 300


def section(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build the section: a row for each domain, with its drawings."""
    table = judgement.domains
    shown = table.head(MOST // shorter)
    return {
        "kind": "domains",
        "id": "domains",
        "title": "Domains",
        "rows": shown.to_dict("records"),
        "left": len(table) - len(shown),
        "levels": about_zero(shown["offset_low"], shown["offset"], shown["offset_high"]),
        "relations": bars(shown["relation"], 1.0),
        "novelties": bars(shown["novelty"], 1.0),
        "noises": from_zero(shown["low"], shown["noise"], shown["high"], judgement.noise),
        "digits": noise_digits(shown["noise"], judgement.task),
        "overall": judgement.noise,
        "known": math.isfinite(judgement.noise),
        "fewest": FEWEST_JUDGED[judgement.task],
        "target": judgement.table.target,
        "regression": judgement.task == "regression",
    }
