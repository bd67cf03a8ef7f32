"""The heat map: noise and density of every stratum in every domain."""

from typing import TYPE_CHECKING, Any

from rpo.judging.heat_map import heat

if TYPE_CHECKING:
    from rpo.judging import Quality

MOST_DOMAINS, MOST_STRATA = 60, 24


def section(found: "Quality", shorter: int) -> dict[str, Any]:
    """Domains down, strata across, both noisiest first."""
    domains = found.domains["domain"].tolist()[: MOST_DOMAINS // shorter]
    strata = found.strata["stratum"].tolist()[: MOST_STRATA // min(shorter, 4)]
    cells: dict[tuple[str, str], Any] = {(row["domain"], row["stratum"]): row for row in found.cells.to_dict("records")}
    return {
        "kind": "heat",
        "id": "heat",
        "title": "Noise and density, stratum by domain",
        "strata": strata,
        "rows": [
            {"domain": domain, "cells": [_cell(cells.get((domain, stratum)), found) for stratum in strata]}
            for domain in domains
        ],
        "overall": found.noise,
        "regression": found.task == "regression",
        "left_domains": len(found.domains) - len(domains),
        "left_strata": len(found.strata) - len(strata),
    }


def _cell(row: dict[str, Any] | None, found: "Quality") -> dict[str, Any] | None:
    if row is None:
        return None
    return row | {"heat": heat(row["noise"], found.noise, classes=found.task == "classification")}
