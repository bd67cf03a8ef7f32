"""Formatting of numbers on the page."""

import math
import statistics
from collections.abc import Iterable
from typing import Any


def number(value: Any, digits: int | None = None) -> str:
    """Format a number with three digits, or as many decimals as its column has; a dash if it is missing.

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


def decimals(values: Iterable[Any], digits: int = 3) -> int:
    """Return the number of decimals of a column: its median then has three digits.

    >>> decimals([0.123, 0.5, 12.0]), decimals([0.5], 2), decimals([1500.0]), decimals([float("nan")])
    (3, 2, 0, 0)
    """
    sizes = [abs(float(value)) for value in values if sortable(value) != "" and value != 0]
    return min(6, max(0, digits - 1 - math.floor(math.log10(statistics.median(sizes))))) if sizes else 0


def sortable(value: Any) -> Any:
    """Return the value by which the page's script sorts, rounded to six digits; empty if it is missing.

    >>> sortable(float("nan")), sortable(None), sortable(1 / 3)
    ('', '', 0.333333)
    """
    if value is None or str(value) in ("nan", "<NA>"):
        return ""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def percent(share: Any) -> str:
    """Format a share in per cent, with a no-break space; never 0 or 100 % unless it is exactly that.

    >>> [percent(share).replace("\\xa0", " ") for share in (0.1234, 0.004, 0.00001, 1.0, 0.9999, -0.08)]
    ['12 %', '0.4 %', '< 0.1 %', '100 %', '> 99.9 %', '−8 %']
    """
    if sortable(share) == "":
        return "–"
    size = 100 * abs(share)
    if 0 < size < 0.05:
        return "< 0.1\N{NO-BREAK SPACE}%"
    if 99.95 <= size < 100:
        return "> 99.9\N{NO-BREAK SPACE}%"
    text = f"{size:.{1 if 0 < size < 0.95 or 99 < size < 100 else 0}f}\N{NO-BREAK SPACE}%"
    return f"−{text}" if share < 0 else text


def noise_digits(noise: Iterable[Any], task: str) -> int | None:
    """Return the number of decimals of a column of noise, for two digits; None for classes (shares).

    >>> noise_digits([1.5, 2.5], "regression"), noise_digits([0.1], "classification")
    (1, None)
    """
    return decimals(noise, 2) if task == "regression" else None


def amount(value: Any, digits: int | None) -> str:
    """Format a noise with its decimals, or as a share.

    >>> amount(1.5, 2), amount(0.5, None)
    ('1.50', '50\\xa0%')
    """
    return percent(value) if digits is None else number(value, digits)


def plain(value: Any) -> str:
    """Format a value of the user's table as it stands there.

    >>> import pandas as pd
    >>> [plain(value) for value in (1234.5, 3, "a", None, pd.NaT, True, pd.Timestamp("2020-01-01"))]
    ['1234.5', '3', 'a', '–', '–', 'True', '2020-01-01']
    """
    if value is None or str(value) in ("nan", "<NA>", "NaT"):
        return "–"
    if isinstance(value, float):
        return f"{value:.8g}"
    return str(value).removesuffix(" 00:00:00")
