"""What a single column is taken for and is not: codes, identifiers, row numbers, stand-ins for a missing value.

These rules look at how values repeat. Measured values fall where they fall: that many different ones never repeat
without being numbered, that they repeat equally often, or each in one domain alone, would be chance below 1e-6.
"""

import re
from typing import Any

import numpy as np
import pandas as pd

from rpo._io import few
from rpo._judging.columns.findings import Finding, Speech, finding, number, percent
from rpo._judging.columns.profiles import CHANCE, FEWEST_ROWS, Array, Labels, Numbers, Whole, homes
from rpo._stats.significance import excess

FEWEST_NUMBERED = 20  # rows, or units, before a numbering can be told from chance
CROWDED = 24.0  # n²/(2 · range) ≥ 12: n whole numbers drawn from the range are all different with p < 1e-5
FEWEST_PER_UNIT, FEWEST_IF_EVEN = 1.2, 1.5  # rows; numbers that hardly repeat do so evenly by chance
EVEN = 0.1  # variance of the rows per unit over their mean; chance gives 1
NESTED = 0.95  # share of units that lie in one domain
SPARSE = 0.3  # codes take that share of the places between the lowest and the highest
YEARS = (1800, 2100)
FAR = 5.0  # widths of the range of all other values
UNEVEN, ELSEWHERE = 0.2, 0.02  # zeros: share in some domain, and at most in the others
UNITS = "id nr patient subject participant pupil student person individual firm company household customer animal"
CODES = (
    "code zip zipcode postcode fips icd sic naics isco type category region district county province state country "
    "city town sector industry occupation race ethnicity religion denomination ward site centre center hospital"
)


def last_word(name: str) -> str:
    """The last word of a column's name, which says what it is: an id of a patient, not a patient's age.

    >>> [last_word(name) for name in ("patient_id", "schoolNR", "Firm", "class size")]
    ['id', 'nr', 'firm', 'size']
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return words[-1].lower() if words else ""


def constant(name: str, reason: str) -> list[Finding]:
    """A column left out because it is the same in every row."""
    if reason != "the same in every row":
        return []
    return [finding("constant", name, f"{name} has the same value in every row; it is left out.")]


def padded(values: "pd.Series[Any]", name: str, kind: str) -> list[Finding]:
    """Texts of digits alone, some with leading zeros, that are read as numbers."""
    if kind != "number" or pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return []
    texts = pd.Series(pd.unique(values.dropna())).astype(str).str.strip()
    leading = texts[texts.str.fullmatch(r"0\d+")]
    if len(leading) < 2 or not texts.str.fullmatch(r"\d+").all():
        return []
    words = (
        f"{name} has leading zeros (such as {few(sorted(leading), 2)}), like a code, but is read as a number; "
        f"{_do('category', name)} treats it as categorical."
    )
    return [finding("padded", name, words, examples=sorted(leading)[:3])]


def numbered(column: Numbers, speech: Speech) -> list[Finding]:
    """Whole numbers that are no amounts: a row number, the number of a unit, or codes."""
    if not column.whole or len(column.every) < FEWEST_NUMBERED:
        return []
    values, times = column.distinct
    n, number_of = len(column.every), len(values)
    low, high = float(values[0]), float(values[-1])
    if YEARS[0] <= low and high <= YEARS[1]:
        return []  # years repeat as evenly as units do
    if number_of == n:
        if CROWDED * (high - low + 1) > n**2 and last_word(column.name) not in UNITS.split():
            return []
        run = "counts the rows" if high - low + 1 == n else "is different in every row"
        words = (
            f"{name_range(column.name, low, high)} {run}, like a row number; {_do('drop', column.name)} leaves it out."
        )
        return [finding("row number", column.name, words, extent=1.0, distinct=number_of)]
    code = np.searchsorted(values, column.x) if number_of >= FEWEST_NUMBERED else np.zeros(0, dtype=np.intp)
    found = unit(column.name, times, code, column.domain, speech)
    if found or column.per_domain:
        return found
    named = last_word(column.name) in CODES.split() and number_of > 2
    if not named and not scattered(values, times):
        return []
    shown = few([number(float(value)) for value in values], 4)
    words = (
        f"{column.name} looks like codes ({shown}) rather than amounts; if so, {_do('category', column.name)} treats "
        "it as categorical."
    )
    return [finding("code", column.name, words, distinct=number_of)]


def lettered(column: Labels, speech: Speech) -> list[Finding]:
    """Texts that name the unit or the row rather than a category."""
    n, number_of = len(column.code), len(column.labels)
    if n < FEWEST_NUMBERED:
        return []
    if number_of == n:
        words = f"{column.name} is different in every row, like a name; {_do('drop', column.name)} leaves it out."
        return [finding("row number", column.name, words, extent=1.0, distinct=number_of)]
    return unit(column.name, column.times, column.code, column.domain, speech)


def unit(name: str, times: Whole, code: Whole, domain: Whole, speech: Speech) -> list[Finding]:
    """Many values (at least 20), several rows each, that are named so, repeat equally often or lie within domains."""
    number_of, domains = len(times), len(speech.names)
    if number_of < FEWEST_NUMBERED or float(times.mean()) < FEWEST_PER_UNIT:
        return []
    per_unit = float(times.mean())
    even = per_unit >= FEWEST_IF_EVEN and float(times.var()) < EVEN * per_unit and number_of >= 3 * per_unit
    repeated = times >= 2
    home = homes(code, domain, number_of)
    nested = domains > 1 and number_of >= 2 * domains and float((home[repeated] >= 0).mean()) >= NESTED
    named = last_word(name) in UNITS.split()
    if not (named or even or nested):
        return []
    why = (
        "about the same number of rows each"
        if even
        else f"each within one {speech.word}"
        if nested
        else f"{per_unit:.1f} rows each"
    )
    words = (
        f"{name} looks like an id ({number_of:,} values, {why}): if it identifies people, firms or the like, "
        f"{_do('unit', name)} keeps the rows of each together; otherwise {_do('drop', name)} leaves it out."
    )
    return [finding("unit", name, words, distinct=number_of, rows_per_unit=per_unit, nested=nested, even=even)]


def scattered(values: Array, times: Whole) -> bool:
    """Whether whole numbers lie as codes do: few, each frequent, with gaps that neither repeat nor grow.

    >>> frequent = np.full(4, 100)
    >>> scattered(np.array([0.0, 1, 20, 31]), frequent), scattered(np.array([10.0, 25, 50, 100]), frequent)
    (True, False)
    """
    often = times >= max(FEWEST_ROWS, 0.01 * times.sum())
    if often.sum() < 4 or times[often].sum() < NESTED * times.sum():
        return False
    gaps = np.diff(values[often])
    if np.abs(values).max() > 2**53:
        return False
    step = float(np.gcd.reduce(gaps.astype(np.int64)))
    growing = (np.diff(gaps) >= 0).all() or (np.diff(gaps) <= 0).all()
    return bool(often.sum() < SPARSE * (gaps.sum() / step + 1) and not growing)


def sentinel(column: Numbers, speech: Speech, columns: int) -> tuple[list[Finding], list[float]]:
    """The lowest or highest value, in five rows or more, apart from all others: likely a missing value in disguise.

    Apart by five times the range of all others; or, for values people use (−9, 99, 999, …), below zero where all
    others are not, or by a tenth of that range and twice the widest gap in its middle. Zeros are true zeros unless a
    domain has them in 20 % of its rows and the others in less than 2 %. Returns the values too.
    """
    values, times = column.distinct
    if len(values) < 3 or column.per_domain:
        return [], []
    found: list[Finding] = []
    taken: list[float] = []
    for end, beside in ((0, 1), (-1, -2)):
        value, near = float(values[end]), float(values[beside])
        rest = values[1:] if end == 0 else values[:-1]
        if times[end] < FEWEST_ROWS or times[end] <= times[beside] or not _apart(value, near, rest):
            continue
        by_domain = column.times(value)
        if value == 0 and not _uneven(by_domain, column.count, columns):
            continue
        if not _used(value) and len(column.count) > 1 and (by_domain > 0).sum() == 1:
            continue
        taken.append(value)
        shown = number(value, date=column.date)
        ends = [number(float(end_of), date=column.date) for end_of in (rest[0], rest[-1])]
        most = int(np.argmax(by_domain / np.maximum(column.count, 1)))
        where = ""
        if len(column.count) > 1 and by_domain[most] == times[end]:
            where = f", all of them in {speech.one(most)}"
        words = (
            f"{column.name} is {shown} in {times[end]:,} rows ({percent(times[end] / len(column.x))}){where}, and "
            f"between {ends[0]} and {ends[1]} in the others: {shown} may stand for a missing value."
        )
        found.append(
            finding(
                "sentinel",
                column.name,
                words,
                domain=speech.names[most] if where else None,
                extent=float(times[end] / len(column.x)),
                value=value,
                rows=int(times[end]),
                range=[float(rest[0]), float(rest[-1])],
            )
        )
    return found, taken


def _apart(value: float, near: float, rest: Array) -> bool:
    gap, width = abs(value - near), float(rest[-1] - rest[0])
    if gap > FAR * width:
        return True
    if not _used(value):
        return False
    if value < 0 and rest[0] >= 0:
        return True
    middle = rest[int(0.05 * len(rest)) : int(np.ceil(0.95 * len(rest)))]
    widest = float(np.diff(middle).max()) if len(middle) > 1 else width
    return gap >= 0.1 * width and gap >= 2 * widest


def _used(value: float) -> bool:
    """Whether people write it for a missing value: zero, nines, or −77 and −88."""
    return bool(re.fullmatch(r"0|-?9+|-(7+|8+)", number(value)))


def _uneven(k: Whole, n: Whole, columns: int) -> bool:
    high = k >= UNEVEN * np.maximum(n, 1)
    there, n_there = int(k[~high].sum()), int(n[~high].sum())
    if not high.any() or n_there == 0 or there > ELSEWHERE * n_there:
        return False
    p = excess(k[high], n[high], there, n_there)
    return bool((p * len(n) * columns <= CHANCE).any())


def name_range(name: str, low: float, high: float) -> str:
    """A column with the range of its whole numbers.

    >>> name_range("id", 1, 506)
    'id (1 to 506)'
    """
    return f"{name} ({number(low)} to {number(high)})"


def _do(option: str, name: str) -> str:
    python = f"unit={name!r}" if option == "unit" else f"{option}=[{name!r}]"
    return f"--{option} {name} ({python} in Python)"
