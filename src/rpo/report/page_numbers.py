"""Figures as the page shows them."""


def plain(value: float) -> str:
    """Three digits, thousands apart.

    >>> plain(0.12345), plain(12345)
    ('0.123', '12,345')
    """
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def percent(share: float) -> str:
    """A share in hundredths.

    >>> percent(0.1234)
    '12 %'
    """
    return f"{100 * share:.0f} %"
