"""Columns: features whose relation to the target differs between domains, with their slope in each."""

from typing import TYPE_CHECKING, Any

from rpo.report.drawing import about_zero

if TYPE_CHECKING:
    from rpo.judging import Quality

MOST, MOST_DOMAINS = 300, 60


def section(found: "Quality", shorter: int) -> dict[str, Any]:
    """The suspicious features drawn domain by domain, then all of them."""
    shown = found.features.head(MOST // shorter)
    suspicious = found.features[found.features["suspicious"]]["feature"].tolist()
    return {
        "kind": "columns",
        "id": "columns",
        "title": "Columns",
        "suspicious": [_drawn(found, name, MOST_DOMAINS // shorter) for name in suspicious],
        "several": len(found.domains) > 1,
        "rows": shown.to_dict("records"),
        "left": len(found.features) - len(shown),
    }


def _drawn(found: "Quality", name: str, most: int) -> dict[str, Any]:
    """The slope of one feature in every domain, from the lowest to the highest; of many domains, both ends."""
    table = found.slopes[found.slopes["feature"] == name].dropna().sort_values("slope", ignore_index=True)
    cut = len(table) - most
    shown = table.drop(index=range(most // 2, most // 2 + cut)) if cut > 0 else table
    return {
        "name": name,
        "rows": shown.to_dict("records"),
        "slopes": about_zero(shown["low"], shown["slope"], shown["high"]),
        "left": len(table) - len(shown),
    }
