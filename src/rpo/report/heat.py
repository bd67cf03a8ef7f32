"""The heat map: noise, density and ρ of every stratum in every domain."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rpo.tables.quality import Quality

MOST_DOMAINS, MOST_STRATA = 60, 24
FULL = 2.0  # times the noise overall: the deepest colour


def section(found: "Quality", shorter: int) -> dict[str, Any]:
    """Domains down, strata across, both poorest first."""
    domains = found.domains["domain"].tolist()[: MOST_DOMAINS // shorter]
    strata = found.strata["stratum"].tolist()[: MOST_STRATA // min(shorter, 4)]
    cells: dict[tuple[str, str], Any] = {(row["domain"], row["stratum"]): row for row in found.cells.to_dict("records")}
    return {
        "kind": "heat",
        "id": "heat",
        "title": "Noise and density, stratum by domain",
        "strata": strata,
        "rows": [
            {"domain": domain, "cells": [_cell(cells.get((domain, stratum)), found.noise) for stratum in strata]}
            for domain in domains
        ],
        "overall": found.noise,
        "left_domains": len(found.domains) - len(domains),
        "left_strata": len(found.strata) - len(strata),
    }


def _cell(row: dict[str, Any] | None, overall: float) -> dict[str, Any] | None:
    if row is None:
        return None
    return row | {"heat": heat(row["noise"], overall)}


def heat(noise: float, overall: float) -> int:
    """How strong a cell is coloured, −100 (half the noise overall, or less) to 100 (twice it, or more).

    >>> heat(2.0, 1.0), heat(1.0, 1.0), heat(0.1, 1.0), heat(float("nan"), 1.0)
    (100, 0, -100, 0)
    """
    if not (noise > 0 and overall > 0):
        return 0
    return round(100 * float(np.clip(np.log(noise / overall) / np.log(FULL), -1, 1)))
