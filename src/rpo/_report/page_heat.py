"""The section with the heat map: the noise of every group of rows in every domain."""

import math
from typing import TYPE_CHECKING, Any

from rpo._judging.heat_map import heat
from rpo._judging.noise import FEWEST_JUDGED
from rpo._report.page_numbers import noise_digits

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement

MOST_DOMAINS, MOST_STRATA = 100, 24


def section(found: "Judgement", shorter: int) -> dict[str, Any]:
    """Build the section: domains down, groups across, both noisiest first."""
    domains = found.domains["domain"].tolist()[: MOST_DOMAINS // shorter]
    strata = found.strata["stratum"].tolist()[: MOST_STRATA // min(shorter, 4)]
    cells: dict[tuple[str, str], Any] = {(row["domain"], row["stratum"]): row for row in found.cells.to_dict("records")}
    return {
        "kind": "heat",
        "id": "heat",
        "title": "Groups of rows in each domain",
        "strata": strata,
        "rows": [
            {"domain": domain, "cells": [_cell(cells.get((domain, stratum)), found) for stratum in strata]}
            for domain in domains
        ],
        "digits": noise_digits([found.noise], found.task),
        "overall": found.noise,
        "known": math.isfinite(found.noise),
        "judged": bool(found.cells["noise"].notna().any()),
        "single": len(found.strata) == 1,
        "fewest": FEWEST_JUDGED[found.task],
        "regression": found.task == "regression",
        "left_domains": len(found.domains) - len(domains),
        "left_strata": len(found.strata) - len(strata),
    }


def _cell(row: dict[str, Any] | None, found: "Judgement") -> dict[str, Any] | None:
    """Colour a cell: red if significantly noisier; else only if its interval excludes the overall noise."""
    if row is None:
        return None
    strength = abs(heat(row["noise"], found.noise, classes=found.task == "classification"))
    colour = (
        "hot" if row["noisy"] else "warm" if row["low"] > found.noise else "cold" if row["high"] < found.noise else ""
    )
    return row | {"colour": colour, "heat": strength}
