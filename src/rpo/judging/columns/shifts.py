"""Columns that differ between domains without anything being wrong: another mean, another share of a category."""

import numpy as np

from rpo.judging.columns.comparisons import clear, standing_out
from rpo.judging.columns.findings import Finding, Speech, finding, number, percent
from rpo.judging.columns.profiles import Array, Labels, Numbers, Whole

SHIFTED = 1.0  # standard deviations


def shifted(column: Numbers | Labels, speech: Speech, columns: int) -> list[Finding]:
    """A mean, or a category's share, of a domain at least one standard deviation from the rest: ordinary, but said.

    Not where a quarter of the domains are so: then none stands out, nor of columns that describe domains.
    """
    if column.per_domain:
        return []
    d = column.shift
    error = shift_error(d, column.count)
    p = np.where(np.isnan(d), np.nan, np.exp(-((np.abs(d) / error) ** 2) / 2))
    chosen = standing_out(np.flatnonzero((np.abs(np.nan_to_num(d)) >= SHIFTED) & clear(p, columns)), len(d))
    if len(chosen) == 0:
        return []
    e = chosen[int(np.argmax(np.abs(d[chosen]) - 2 * error[chosen]))]
    others = (
        ""
        if len(chosen) == 1
        else f"; {len(chosen):,} of {len(d):,} {speech.many} differ by one standard deviation or more"
    )
    if isinstance(column, Numbers):
        median = number(float(column.middle[e]), date=column.date)
        rest = number(float(np.median(column.x[column.domain != e])), date=column.date)
        words = (
            f"{column.name} is {abs(d[e]):.1f} standard deviations {'higher' if d[e] > 0 else 'lower'} in "
            f"{speech.one(e)} than in {speech.rest([e])} (median {median} against {rest}){others}."
        )
    else:
        label = int(np.argmax(np.abs(column.by_label[e])))
        mine = column.domain == e
        here, there = (float((column.code[rows] == label).mean()) for rows in (mine, ~mine))
        words = (
            f"{column.name} = {column.labels[label]} in {percent(here)} of the rows of {speech.one(e)}, in "
            f"{percent(there)} of those of {speech.rest([e])}{others}."
        )
    return [
        finding(
            "shift",
            column.name,
            words,
            domain=speech.names[e],
            extent=float(min(1.0, abs(d[e]) / 10)),
            difference=float(d[e]),
            domains=[speech.names[place] for place in chosen],
        )
    ]


def shift_error(d: Array, count: Whole) -> Array:
    r"""√(1/n + 1/n_rest + d²/2N): how far a standardised difference may be off.

    >>> shift_error(np.array([0.0]), np.array([4])).tolist()
    [inf]
    """
    n, rest = count.astype(float), count.sum() - count.astype(float)
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(1 / n + 1 / rest + np.nan_to_num(d) ** 2 / (2 * np.maximum(count.sum(), 1))))
