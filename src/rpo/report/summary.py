"""The head of the page: two sentences and the figures behind them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rpo.report.page_numbers import percent, plain

if TYPE_CHECKING:
    from rpo.tables.quality import Quality


def section(found: "Quality", shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """Sentences, and tiles of figures."""
    ready, scale = found.prepared, found.residuals.scale
    tiles = [
        ("rows", plain(len(ready.y))),
        ("domains", plain(len(found.domains))),
        ("strata", plain(len(found.strata))),
        ("noise overall", plain(found.noise)),
    ]
    if ready.task == "regression":
        tiles.append(("of the variance explained", percent(1 - (found.noise / scale) ** 2)))
    else:
        share = np.unique(ready.y, return_counts=True)[1].max() / len(ready.y)
        tiles += [("classes", plain(len(np.unique(ready.y)))), ("largest class", percent(share))]
    return {"kind": "summary", "id": "summary", "sentences": found.summary, "tiles": tiles}
