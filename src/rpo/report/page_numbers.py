"""Figures as the page shows them."""

import math
import statistics
from collections.abc import Iterable
from typing import Any


def number(value: Any, digits: int | None = None) -> str:
    """A number with three digits, or as many decimals as its column has; a dash where there is none.

    >>> number(1234.5), number(0.01234), number(float("nan")), number(12), number(-0.5, 2), number(-1e-9, 2)
    ('1,230', '0.0123', '–', '12', '−0.50', '0.00')
    """
    if sortable(value) == "":
        return "–"
    if digits is not None:
        return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")
    if float(value) == int(value) or abs(value) >= 1e5:
        return f"{value:,.0f}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.3g}"


def decimals(values: Iterable[Any]) -> int:
    """The decimals of a column, so that a value in its middle has three digits and points stand under one another.

    >>> decimals([0.123, 0.5, 12.0]), decimals([1500.0]), decimals([float("nan")])
    (3, 0, 0)
    """
    sizes = [abs(float(value)) for value in values if sortable(value) != "" and value != 0]
    return min(6, max(0, 2 - math.floor(math.log10(statistics.median(sizes))))) if sizes else 0


def sortable(value: Any) -> Any:
    """What the page's script sorts by: the value itself, to six digits, or nothing.

    >>> sortable(float("nan")), sortable(None), sortable(1 / 3)
    ('', '', 0.333333)
    """
    if value is None or str(value) in ("nan", "<NA>"):
        return ""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def percent(share: float) -> str:
    """A share in hundredths, never parted from its sign.

    >>> percent(0.1234)
    '12\\xa0%'
    """
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"
