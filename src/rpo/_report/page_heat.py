"""The section with the heat map: the noise of every group of rows in every domain."""

import math
from typing import TYPE_CHECKING, Any

from rpo._judging.heat_map import heat
from rpo._judging.noise import FEWEST_JUDGED
from rpo._report.page_numbers import noise_digits

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

MOST_DOMAINS, MOST_STRATA = 100, 24


def section(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build the section: domains down, groups across, both noisiest first."""
    domains = judgement.domains["domain"].tolist()[: MOST_DOMAINS // shorter]
    strata = judgement.strata["stratum"].tolist()[: MOST_STRATA // min(shorter, 4)]
    cells: dict[tuple[str, str], Any] = {
        (row["domain"], row["stratum"]): row for row in judgement.cells.to_dict("records")
    }
    return {
        "kind": "heat",
        "id": "heat",
        "title": "Groups of rows in each domain",
        "strata": strata,
        "rows": [
            {"domain": domain, "cells": [_cell(cells.get((domain, stratum)), judgement) for stratum in strata]}
            for domain in domains
        ],
        "digits": noise_digits([judgement.noise], judgement.task),
        "overall": judgement.noise,
        "known": math.isfinite(judgement.noise),
        "judged": bool(judgement.cells["noise"].notna().any()),
        "single": len(judgement.strata) == 1,
        "fewest": FEWEST_JUDGED[judgement.task],
        "regression": judgement.task == "regression",
        "left_domains": len(judgement.domains) - len(domains),
        "left_strata": len(judgement.strata) - len(strata),
    }


def _cell(row: dict[str, Any] | None, judgement: "Judgement") -> dict[str, Any] | None:
    """Colour a cell: red if significantly noisier; else only if its interval excludes the overall noise."""
    if row is None:
        return None
    noise = judgement.noise
    strength = abs(heat(row["noise"], noise, classes=judgement.task == "classification"))
    colour = "hot" if row["noisy"] else "warm" if row["low"] > noise else "cold" if row["high"] < noise else ""
    return row | {"colour": colour, "heat": strength}
