"""The head of the page: two sentences and the figures behind them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rpo.report.page_numbers import decimals, number, percent

if TYPE_CHECKING:
    from rpo.judging import Quality


def section(found: "Quality", shorter: int) -> dict[str, Any]:  # noqa: ARG001 (all sections have one signature)
    """Sentences, and tiles of figures."""
    ready = found.prepared
    tiles = [
        ("rows", number(len(ready.y))),
        ("domains", number(len(found.domains))),
        ("groups of rows", number(len(found.strata))),
    ]
    if ready.task == "regression":
        tiles.append(("noise overall", number(found.noise, decimals([found.noise]))))
        explained = 1 - np.mean((ready.y - found.expected.value) ** 2) / np.var(ready.y)
        tiles.append(("of the variance explained", percent(float(explained))))
    else:
        share = np.unique(ready.y, return_counts=True)[1].max() / len(ready.y)
        tiles += [("classes", number(len(np.unique(ready.y)))), ("largest class", percent(share))]
    return {"kind": "summary", "id": "summary", "sentences": found.summary, "tiles": tiles}
