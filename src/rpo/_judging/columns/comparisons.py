"""A column's domains set against one another: what one records and the others do not, and what is merely shifted.

Each rule asks three things: is the difference larger than chance (a binomial test of each side against the other's
share, Holm over domains, times the number of columns, at most 0.001), is it large (a share given with each rule), and
is it not explained by something ordinary (columns that describe domains, long tails, true zeros).
"""

import numpy as np
from numpy.typing import NDArray

from rpo._io import few
from rpo._judging.columns.findings import MOST_NAMED, Finding, Speech, finding, number, percent, sentence
from rpo._judging.columns.profiles import ALIKE, CHANCE, FEWEST_ROWS, Array, Labels, Numbers, Whole
from rpo._stats.significance import excess, holm

MOSTLY, APART = 0.6, 0.5  # missing in that share of a domain's rows, and that much more often than elsewhere
NEARLY_ALL = 0.9  # missing in that share of all rows, or of all but those of a few domains
FEWEST_FILLED = 10  # rows of a domain that one value fills
HARDLY = 0.1  # share of the others' rows that may have that value too
MEASURED = 10  # a column with more values than that is measured, not coded
FEW_DOMAINS = 0.05  # several values, each filling a domain, are ordinary unless they are as few as that
OUTSIDE, MARGIN = 0.2, 0.5  # share of a domain's rows beyond the others' range, by that share of its width
FEWEST_OTHERS = 20
SKEWED = 0.2
TRIMMED = 0.005  # of each domain's rows on either side, before its range counts
UNSEEN = 0.1  # share of a domain's rows with categories that no other domain has
STANDING_OUT = 0.25
SHIFTED = 1.0  # standard deviations


def clear(p: Array, columns: int) -> NDArray[np.bool_]:
    """Which p-values stand after Holm's correction over domains and for the number of columns; NaN never does.

    >>> clear(np.array([1e-9, 0.5, np.nan]), 10).tolist()
    [True, False, False]
    """
    adjusted = holm([None if np.isnan(value) else float(value) for value in p])
    return np.array([value is not None and value * columns <= CHANCE for value in adjusted], dtype=bool)


def standing_out(chosen: Whole, domains: int) -> list[int]:
    """These domains, if they are two or a quarter of all at most: where many differ, none stands out.

    >>> standing_out(np.array([4]), 10), standing_out(np.arange(4), 10)
    ([4], [])
    """
    return chosen.tolist() if len(chosen) <= max(2, STANDING_OUT * domains) else []


def missing(name: str, gaps: Whole, rows: Whole, speech: Speech, columns: int) -> list[Finding]:
    """Missing in 60 % of a domain's rows and 50 points more often than elsewhere; or in 90 % of all rows.

    Where nearly all domains lack the column, those that have it are named instead.
    """
    total, share = int(rows.sum()), gaps / np.maximum(rows, 1)
    others, others_rows = gaps.sum() - gaps, total - rows
    enough = rows >= FEWEST_ROWS
    more = enough & clear(np.where(enough, excess(gaps, rows, others, others_rows), np.nan), columns)
    less = enough & clear(
        np.where(enough, excess(rows - gaps, rows, others_rows - others, others_rows), np.nan), columns
    )
    lacking, having = more & (share >= MOSTLY), less & (share < MOSTLY)
    if lacking.any() and _pooled(gaps, rows, lacking) - _pooled(gaps, rows, ~lacking) >= APART:
        return [_lacking(name, gaps, rows, lacking, speech)]
    outside_them = _pooled(gaps, rows, ~having)
    if having.any() and outside_them >= NEARLY_ALL and outside_them - _pooled(gaps, rows, having) >= APART:
        return [_having(name, gaps, rows, having, speech)]
    if gaps.sum() >= NEARLY_ALL * total:
        overall = float(gaps.sum() / total)
        words = f"{name} is missing in {percent(overall)} of all {total:,} rows."
        return [finding("mostly missing", name, words, extent=overall, share=overall, rows=total)]
    return []


def _lacking(name: str, gaps: Whole, rows: Whole, chosen: NDArray[np.bool_], speech: Speech) -> Finding:
    places, elsewhere = np.flatnonzero(chosen).tolist(), _pooled(gaps, rows, ~chosen)
    shares = gaps[chosen] / rows[chosen]
    low, high = percent(float(shares.min())), percent(float(shares.max()))
    span = low if low == high else f"{low} to {high}" if "than" in low + high else f"{low.removesuffix(' %')}–{high}"
    rest = "and never" if elsewhere == 0 else f"but only in {percent(elsewhere)} of those"
    return finding(
        "missing",
        name,
        f"{name} is missing in {span} of the rows of {speech.some(places)}, {rest} in {speech.rest(places)}.",
        domain=speech.name(places),
        extent=float(gaps[chosen].sum() / rows.sum()),
        domains=[speech.names[e] for e in places],
        shares=shares.tolist(),
        elsewhere=elsewhere,
    )


def _having(name: str, gaps: Whole, rows: Whole, chosen: NDArray[np.bool_], speech: Speech) -> Finding:
    places, here, there = np.flatnonzero(chosen).tolist(), _pooled(gaps, rows, chosen), _pooled(gaps, rows, ~chosen)
    return finding(
        "missing",
        name,
        f"{name} is recorded in {percent(1 - here)} of the rows of {speech.some(places)}, but only in "
        f"{percent(1 - there)} of those of {speech.rest(places)}.",
        domain=speech.name(places),
        extent=float(gaps[~chosen].sum() / rows.sum()),
        present=[speech.names[e] for e in places],
        share=here,
        elsewhere=there,
    )


def filled(column: Numbers, speech: Speech, columns: int) -> tuple[list[Finding], list[float]]:
    """One value in 95 % of a domain's rows (at least 10) and in at most 10 % of the others', which measure.

    Nothing is said if several values each fill a domain: such a column describes domains. The others measure if they
    have more than ten different values, or values on one side of this one only. Returns the value too.
    """
    candidates = (column.count >= FEWEST_FILLED) & (column.share_alike >= ALIKE)
    if not candidates.any() or column.per_domain:
        return [], []
    values, times = np.unique(column.middle[candidates], return_counts=True)
    value = float(values[times.argmax()])
    if len(values) > 1 and times.max() < 0.8 * times.sum() and times.sum() > FEW_DOMAINS * len(column.count):
        return [], []
    k = column.times(value)
    chosen = candidates & (column.middle == value)
    here, n = int(k[chosen].sum()), int(column.count[chosen].sum())
    there, rest = int(k[~chosen].sum()), int(column.count[~chosen].sum())
    if rest < FEWEST_FILLED or there > HARDLY * rest:
        return [], []
    p = excess(k[chosen], column.count[chosen], there, rest)
    outsiders = np.unique(column.x[~chosen[column.domain]])
    measured = len(outsiders) > MEASURED or bool(value < outsiders[0] or value > outsiders[-1])
    if not measured or float(p.max()) * len(column.count) * columns > CHANCE:
        return [], []
    places = np.flatnonzero(chosen).tolist()
    their = "its" if len(places) == 1 else "their"
    extent = f"all of {their} {n:,} rows" if here == n else f"{here:,} of {their} {n:,} rows"
    verb = "records" if len(places) == 1 else "record"
    does = "do" if len(column.count) - len(places) > 1 else "does"
    rest_words = (
        f"never {does}"
        if there == 0
        else f"{does} so in {percent(there / rest)} of {'theirs' if does == 'do' else 'its own'}"
    )
    words = f"{speech.some(places)} {verb} {column.name} = {number(value, date=column.date)} in {extent}; "
    made = finding(
        "filled",
        column.name,
        sentence(f"{words}{speech.rest(places)} {rest_words}."),
        domain=speech.name(places),
        extent=here / len(column.x),
        value=value,
        domains=[speech.names[e] for e in places],
        rows=n,
        rows_with_value=here,
        share_elsewhere=there / rest,
    )
    return [made], [value]


def outside(column: Numbers, speech: Speech, columns: int) -> list[Finding]:
    """At least 20 % of a domain's rows (and five) beyond the range of all others by half of its width.

    A domain's range leaves out the 0.5 % of its rows furthest out on either side. Skewed columns without negative
    values are taken as log(1 + x/median). Nothing is said where the other domains lie further apart than their own
    rows do: then another place is ordinary (latitude, year of a study).
    """
    if column.date or column.per_domain or (column.count > 0).sum() < 2 or len(column.every) < FEWEST_OTHERS:
        return []
    ten, half, ninety = (float(column.every[int(q * (len(column.every) - 1))]) for q in (0.1, 0.5, 0.9))
    skewed = column.every[0] >= 0 and (ninety - half) - (half - ten) > SKEWED * (ninety - ten)
    positive = column.every[column.every.searchsorted(0, side="right") :]
    unit = float(np.median(positive)) if skewed else 1.0

    def scaled(value: Array) -> Array:
        return np.log1p(value / unit) if skewed else value

    x = scaled(column.x)
    least, most = -_others_most(-column.at(TRIMMED)), _others_most(column.at(1 - TRIMMED))
    low, high = scaled(least), scaled(most)
    margin = MARGIN * (high - low)
    below = np.bincount(column.domain[x < (low - margin)[column.domain]], minlength=len(column.count))
    above = np.bincount(column.domain[x > (high + margin)[column.domain]], minlength=len(column.count))
    k, rest = below + above, len(x) - column.count
    p = excess(k, column.count, np.zeros(len(k)), rest)
    large = (k >= FEWEST_ROWS) & (k >= OUTSIDE * column.count) & (rest >= FEWEST_OTHERS)
    chosen = np.flatnonzero(large & clear(np.where(large, p, np.nan), columns) & _others_overlap(column))
    made = []
    for e in standing_out(chosen, len(k)):
        ends_there = [float(least[e]), float(most[e])]
        words = (
            f"{percent(k[e] / column.count[e])} of the rows of {speech.one(e)} have a {column.name} far outside the "
            f"range of {speech.rest([e])} ({number(ends_there[0])} to {number(ends_there[1])}); its median is "
            f"{number(float(column.middle[e]))}."
        )
        made.append(
            finding(
                "outside",
                column.name,
                words,
                domain=speech.names[e],
                extent=float(k[e] / len(x)),
                rows=int(k[e]),
                share=float(k[e] / column.count[e]),
                range_elsewhere=ends_there,
                median=float(column.middle[e]),
            )
        )
    return made


def unseen(column: Labels, speech: Speech, columns: int) -> list[Finding]:
    """At least 10 % of a domain's rows (and five) with categories that no other domain has.

    Nothing is said of columns that describe domains, nor where most categories belong to one domain each, more than
    two for a domain: those are names within domains.
    """
    own = column.home >= 0
    names_within = own.sum() >= 0.5 * len(own) and len(own) > 2 * len(column.count)
    if len(own) == 0 or column.per_domain or names_within:
        return []
    often = column.times >= FEWEST_ROWS
    k = np.bincount(column.domain[(own & often)[column.code]], minlength=len(column.count))
    p = excess(k, column.count, np.zeros(len(k)), len(column.code) - column.count)
    large = (k >= FEWEST_ROWS) & (k >= UNSEEN * column.count)
    chosen = np.flatnonzero(large & clear(np.where(large, p, np.nan), columns))
    made = []
    for e in standing_out(chosen, len(k)):
        labels = [column.labels[code] for code in np.flatnonzero(own & often & (column.home == e))]
        named = " or ".join(labels) if len(labels) == 2 else few(labels, MOST_NAMED)
        words = (
            f"{percent(k[e] / column.count[e])} of the rows of {speech.one(e)} have {column.name} = {named}, "
            f"which {_no_other(speech)}."
        )
        made.append(
            finding(
                "unseen",
                column.name,
                words,
                domain=speech.names[e],
                extent=float(k[e] / len(column.code)),
                categories=labels,
                rows=int(k[e]),
                share=float(k[e] / column.count[e]),
            )
        )
    return made


def _pooled(k: Whole, n: Whole, chosen: NDArray[np.bool_]) -> float:
    return float(k[chosen].sum() / max(1, n[chosen].sum()))


def _others_most(value: Array) -> Array:
    """The largest value of all other domains; minus infinity if there are none."""
    known = np.where(np.isnan(value), -np.inf, value)
    first = int(np.argmax(known))
    second = np.max(np.delete(known, first), initial=-np.inf)
    return np.asarray(np.where(np.arange(len(known)) == first, second, known[first]))


def _others_overlap(column: Numbers) -> NDArray[np.bool_]:
    """Whether the variance between the other domains is at most the variance within them."""
    total, squares = column.moments
    n = np.maximum(column.count, 1)
    within = squares - total**2 / n
    rest = np.maximum(len(column.x) - column.count, 1)
    all_within, everything = within.sum() - within, squares.sum() - squares - (total.sum() - total) ** 2 / rest
    overlap: NDArray[np.bool_] = everything - all_within <= all_within
    return overlap


def _no_other(speech: Speech) -> str:
    return f"no other {speech.word} has" if len(speech.names) > 2 else f"{speech.rest([0])} does not have"


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
            f"{speech.one(e)} than in {speech.rest([e])} (median {median} compared with {rest}){others}."
        )
    else:
        label = int(np.argmax(np.abs(column.by_label[e])))
        mine = column.domain == e
        here, there = (float((column.code[rows] == label).mean()) for rows in (mine, ~mine))
        words = (
            f"{column.name} = {column.labels[label]} in {percent(here)} of the rows of {speech.one(e)}, but in "
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
