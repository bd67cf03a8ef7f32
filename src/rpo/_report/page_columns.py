"""The section on columns: findings, missing values, differences between domains, and misleading features."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rpo._report.page_drawing import about_zero

if TYPE_CHECKING:
    import pandas as pd

    from rpo._judging.judgement import Judgement

MOST, MOST_SAID, MOST_DOMAINS = 300, 30, 60
MOST_DOWN, MOST_ACROSS = 300, 100
GAPS = (0.0, 0.05, 0.2, 0.5, 0.9)  # shares of missing values at which cells get darker
SHIFTS = (0.2, 0.5, 1.0, 2.0)  # standardised differences, likewise


def section(judgement: "Judgement", shorter: int) -> dict[str, Any]:
    """Build the section: findings, two maps of domains by columns, the suspicious features, all columns."""
    shown = judgement.features.head(MOST // shorter)
    table = judgement.columns.table.head(MOST // shorter)
    suspicious = judgement.features[judgement.features["suspicious"]]["feature"].tolist()
    wrong = [finding.words for finding in judgement.columns.findings if finding.wrong]
    ordinary = [finding.words for finding in judgement.columns.findings if not finding.wrong]
    gaps = judgement.columns.missing
    gaps = gaps.loc[:, (gaps > 0).any()]
    shift, several = judgement.columns.shift, len(judgement.domains) > 1
    return {
        "title": "Columns",
        "wrong": wrong[: MOST_SAID // shorter],
        "left_wrong": max(0, len(wrong) - MOST_SAID // shorter),
        "ordinary": ordinary[: MOST_SAID // shorter],
        "left_ordinary": max(0, len(ordinary) - MOST_SAID // shorter),
        "missing": _map(gaps, shorter) if gaps.size else None,
        "shift": _map(shift, shorter) if several else None,
        "table": table.to_dict("records"),
        "left_table": len(judgement.columns.table) - len(table),
        "suspicious": [_draw(judgement, name, MOST_DOMAINS // shorter) for name in suspicious],
        "several": several,
        "rows": shown.to_dict("records"),
        "left": len(judgement.features) - len(shown),
    }


def _map(table: "pd.DataFrame", shorter: int) -> dict[str, Any]:
    """Build a map of domains by columns, sorted by the largest value; the longer axis runs down."""
    size = np.nan_to_num(np.abs(table.to_numpy(float)), nan=-1.0)
    table = table.iloc[np.argsort(-size.max(1), kind="stable"), np.argsort(-size.max(0), kind="stable")]
    down, across = ("domain", "column") if len(table) >= len(table.columns) else ("column", "domain")
    whole = table if down == "domain" else table.T
    shown = whole.iloc[: MOST_DOWN // shorter, : MOST_ACROSS // shorter]
    values = shown.to_numpy(float)
    return {
        "down": down,
        "across": across,
        "headings": [str(name) for name in shown.columns],
        "rows": [(str(name), row) for name, row in zip(shown.index, values.tolist(), strict=True)],
        "left_down": len(whole) - len(shown),
        "left_across": len(whole.columns) - len(shown.columns),
    }


def gap_class(share: float) -> str:
    """Return the CSS class of a share of missing values: the larger, the darker.

    >>> gap_class(0.0), gap_class(0.01), gap_class(1.0)
    ('', 'g1', 'g5')
    """
    return f"g{step}" if (step := int(np.searchsorted(GAPS, share))) else ""


def shift_class(difference: float) -> str:
    """Return the CSS class of a difference, upwards or downwards: the larger, the darker.

    >>> shift_class(0.1), shift_class(0.7), shift_class(-3.0), shift_class(float("nan"))
    ('', 'u2', 'd4', '')
    """
    step = int(np.searchsorted(SHIFTS, abs(difference))) if np.isfinite(difference) else 0
    return f"{'u' if difference > 0 else 'd'}{step}" if step else ""


def _draw(judgement: "Judgement", name: str, most: int) -> dict[str, Any]:
    """Draw the slope of one feature in every domain, sorted; of many domains, those at both ends."""
    table = judgement.slopes[judgement.slopes["feature"] == name].dropna().sort_values("slope", ignore_index=True)
    cut = len(table) - most
    shown = table.drop(index=range(most // 2, most // 2 + cut)) if cut > 0 else table
    return {
        "name": name,
        "rows": shown.to_dict("records"),
        "slopes": about_zero(shown["low"], shown["slope"], shown["high"]),
        "left": len(table) - len(shown),
    }
