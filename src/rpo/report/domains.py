"""Domains, noisiest first: level, relation, novelty, noise and its interval."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from rpo.judging import Quality

MOST = 300


def section(found: "Quality", shorter: int) -> dict[str, Any]:
    """A row for each domain, with the drawing of its interval."""
    table = found.domains
    shown = table.head(MOST // shorter)
    return {
        "kind": "domains",
        "id": "domains",
        "title": "Domains, noisiest first",
        "rows": shown.to_dict("records"),
        "left": len(table) - len(shown),
        "drawings": intervals(shown, found.noise),
        "overall": found.noise,
        "regression": found.task == "regression",
    }


def intervals(table: "pd.DataFrame", overall: float) -> list[dict[str, float] | None]:
    """Where to draw each interval, in hundredths of the width; None where there is none.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"noise": [1.0, None], "low": [0.5, None], "high": [2.0, None]})
    >>> intervals(table, 1.0)
    [{'low': 25.0, 'noise': 50.0, 'high': 100.0, 'overall': 50.0}, None]
    """
    high = table["high"].to_numpy(float)
    # One wide interval must not flatten all others: what passes three times the noise overall is cut off.
    known = high[np.isfinite(high)]
    end = min(float(known.max()), 3 * max(overall, 1e-300)) if len(known) else 1.0
    end = max(end, overall, 1e-300)

    def place(value: float) -> float:
        return round(100 * min(value / end, 1.0), 1)

    names = ("low", "noise", "high")
    return [
        {name: place(value) for name, value in zip((*names, "overall"), (*ends, overall), strict=True)}
        if np.isfinite(ends).all()
        else None
        for ends in table[list(names)].to_numpy(float).tolist()
    ]
