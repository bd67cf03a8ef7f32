"""One column as the rules look at it: its values sorted, within domains and over all, and counted."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._judging.sums import Grouped, by_group
from rpo._stats.significance import standardised
from rpo._table.columns import MOST_CATEGORIES, Column, as_text, typed

Array = NDArray[np.float64]
Whole = NDArray[np.intp]

CHANCE = 0.001  # of a false finding of one kind in a whole table
FEWEST_ROWS = 5  # a domain with fewer values is too small to be compared
FENCE = 3.0  # interquartile ranges beyond the quartiles: Tukey's "far out"
TAIL = 0.01  # where the quartiles coincide, the outermost share on either side
ALIKE = 0.95  # a domain of which this share has one value is filled by it
MOST_DOMAINS, NEARLY_ALL_DOMAINS = 0.5, 0.9  # so filled, by several values or by two: the column describes domains


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers or dates, known ones only: `x` sorted within each domain, `every` sorted over all."""

    name: str
    date: bool
    x: Array
    domain: Whole
    count: Whole
    every: Array

    @classmethod
    def of(cls, values: "pd.Series[Any]", column: Column, rows: Grouped) -> "Numbers":
        """The known values of a column.

        >>> rows = Grouped.of(np.zeros(3, int), 1)
        >>> made = Numbers.of(pd.Series([3.0, None, 1.0]), Column(name="a", kind="number"), rows)
        >>> made.x.tolist(), made.count.tolist()
        ([1.0, 3.0], [2])
        """
        x = typed(values, column)[rows.order]
        known = np.isfinite(x)
        return cls.sorted(column.name, column.kind == "date", x[known], rows.group[known], len(rows.count))

    @classmethod
    def sorted(cls, name: str, date: bool, x: Array, domain: Whole, domains: int) -> "Numbers":
        """The same of values without gaps, whose domains stand together; `x` is sorted in place."""
        count = np.bincount(domain, minlength=domains)
        sort_within(x, count)
        return cls(name, date, x, domain, count, np.sort(x))

    def without(self, values: list[float]) -> "Numbers":
        """The same column with these values taken for missing."""
        keep = ~np.isin(self.x, values)
        return Numbers.sorted(self.name, self.date, self.x[keep], self.domain[keep], len(self.count))

    @cached_property
    def distinct(self) -> tuple[Array, Whole]:
        """The different values, sorted, and how often each occurs."""
        new = np.ones(len(self.every), dtype=bool)
        np.not_equal(self.every[1:], self.every[:-1], out=new[1:])
        first = np.flatnonzero(new)
        return self.every[first], np.diff(first, append=len(self.every))

    @cached_property
    def whole(self) -> bool:
        """Whether all are whole numbers."""
        return not self.date and bool((self.every == np.rint(self.every)).all())

    def at(self, share: float) -> Array:
        """The value of each domain below which that share of its rows lies; NaN where there is none."""
        return value_at(self.x, self.count, share)

    @cached_property
    def middle(self) -> Array:
        """The median of each domain, an actual value."""
        return self.at(0.5)

    def times(self, value: float) -> Whole:
        """How often each domain has the value."""
        return np.bincount(self.domain[self.x == value], minlength=len(self.count))

    @cached_property
    def share_alike(self) -> Array:
        """The share of each domain's rows that equal its median."""
        return share_of(self.x == self.middle[self.domain], self.domain, self.count)

    @cached_property
    def per_domain(self) -> bool:
        """Whether the column describes domains rather than rows."""
        return describes_domains(self.middle, self.share_alike, self.count)

    @cached_property
    def fences(self) -> tuple[float, float, float]:
        """Tukey's far fences, between which values count, and the median."""
        low, centre, high = (float(self.every[int(q * (len(self.every) - 1))]) for q in (0.25, 0.5, 0.75))
        reach = FENCE * (high - low)
        if reach > 0:
            low, high = low - reach, high + reach
        else:
            cut = int(TAIL * len(self.every))
            low, high = self.every[cut], self.every[len(self.every) - 1 - cut]
        return float(low), centre, float(high)

    @cached_property
    def moments(self) -> tuple[Array, Array]:
        """Sums and sums of squares by domain about the median, values beyond the fences drawn to them."""
        return sums_between(self.x, self.fences, Grouped(np.zeros(0, dtype=np.intp), self.count))[1:]

    @cached_property
    def shift(self) -> Array:
        """Standardised difference of each domain's mean from that of the rest; NaN where too few."""
        if len(self.every) == 0:
            return np.full(len(self.count), np.nan)
        total, squares = self.moments
        return differences(total, squares, self.count.astype(float))


@dataclass(frozen=True, eq=False)
class Labels:
    """Categories, known ones only: `code` counts the labels from the most frequent one."""

    name: str
    labels: tuple[str, ...]
    code: Whole
    domain: Whole
    count: Whole

    @classmethod
    def of(cls, values: "pd.Series[Any]", name: str, rows: Grouped) -> "Labels":
        """The known labels of a column.

        >>> made = Labels.of(pd.Series(["b", None, "b", "a"]), "c", Grouped.of(np.zeros(4, int), 1))
        >>> made.labels, made.code.tolist()
        (('b', 'a'), [0, 0, 1])
        """
        raw, different = pd.factorize(values)
        # Labels differ as texts: 1 and "1" are one.
        same, texts = pd.factorize(as_text(pd.Series(different)).to_numpy(object))
        known = raw >= 0
        times = np.bincount(same[raw[known]], minlength=len(texts))
        rank = np.lexsort((texts.astype(str), -times)) if len(texts) else np.empty(0, int)
        place = np.empty(len(texts), dtype=np.intp)
        place[rank] = np.arange(len(texts))
        ordered = raw[rows.order]
        there = ordered >= 0
        code, domain = place[same[ordered[there]]], rows.group[there]
        return cls(name, tuple(map(str, texts[rank])), code, domain, np.bincount(domain, minlength=len(rows.count)))

    @cached_property
    def times(self) -> Whole:
        """How often each label occurs."""
        return np.bincount(self.code, minlength=len(self.labels))

    @cached_property
    def home(self) -> Whole:
        """The one domain in which a label occurs; −1 if it occurs in several."""
        return homes(self.code, self.domain, len(self.labels))

    @cached_property
    def per_domain(self) -> bool:
        """Whether the column describes domains rather than rows."""
        code = self.code.astype(float)
        sort_within(code, self.count)
        middle = value_at(code, self.count, 0.5)
        return describes_domains(middle, share_of(code == middle[self.domain], self.domain, self.count), self.count)

    @cached_property
    def _table(self) -> Array:
        """Rows by label and domain, the most frequent labels only."""
        return counts(self.code, self.domain, len(self.count), min(len(self.labels), MOST_CATEGORIES))

    @cached_property
    def by_label(self) -> Array:
        """Standardised difference of each label's share in each domain from its share in the rest."""
        shares = [differences(k, k, self.count.astype(float)) for k in self._table]
        return np.column_stack(shares) if shares else np.full((len(self.count), 1), np.nan)

    @cached_property
    def shift(self) -> Array:
        """The largest of those, without its sign."""
        largest: Array = np.abs(self.by_label).max(1)
        return largest


def sort_within(x: Array, count: Whole) -> None:
    """Sort the values of each domain in place."""
    for part in np.split(x, np.cumsum(count)[:-1]):
        part.sort()


def value_at(x: Array, count: Whole, share: float) -> Array:
    """The value below which that share of each domain's rows lies, of values sorted within domains; NaN without rows.

    >>> value_at(np.array([1.0, 2.0, 3.0, 7.0]), np.array([3, 0, 1]), 0.5).tolist()
    [2.0, nan, 7.0]
    """
    found = np.full(len(count), np.nan)
    some = count > 0
    start = np.cumsum(count) - count
    found[some] = x[(start + np.minimum((share * count).astype(int), count - 1))[some]]
    return found


def share_of(flags: NDArray[np.bool_], domain: Whole, count: Whole) -> Array:
    """The share of each domain's rows that are flagged; NaN without rows."""
    k = np.bincount(domain[flags], minlength=len(count))
    return np.asarray(np.where(count > 0, k / np.maximum(count, 1), np.nan))


def describes_domains(middle: Array, share: Array, count: Whole) -> bool:
    """Whether a column describes domains: most are filled by a value of their own, or nearly all by one of two or more.

    Where one value alone fills domains, that is no description but perhaps a fault.

    >>> describes_domains(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 1.0, 1.0, 0.3]), np.full(4, 50))
    True
    """
    large = count >= 2
    filled = large & (share >= ALIKE)
    values = len(np.unique(middle[filled]))
    several = values > max(1, filled.sum() / 10) and filled.sum() >= MOST_DOMAINS * large.sum()
    return bool(large.sum() >= 2 and (several or (values > 1 and filled.sum() >= NEARLY_ALL_DOMAINS * large.sum())))


def between_fences(x: Array, fences: tuple[float, float, float], out: Array | None = None) -> Array:
    """Return values about the median, drawn to the fences, in units of their distance: their squares are numbers.

    >>> between_fences(np.array([0.0, 9.0]), (-1.0, 0.0, 3.0)).tolist()
    [0.0, 0.75]
    """
    low, centre, high = fences
    z: Array = np.clip(x, low, high, out=out)
    z -= centre
    z /= (high - low) or 1.0
    return z


def sums_between(
    x: Array, fences: tuple[float, float, float], rows: Grouped, out: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return by group how many values are known, and Σz and Σz² of them `between_fences`; `x` in the order of `rows`.

    >>> rows = Grouped.of(np.array([0, 1, 1]), 2)
    >>> [sums.tolist() for sums in sums_between(np.array([0.0, 9.0, np.nan]), (-1.0, 0.0, 3.0), rows)]
    [[1.0, 1.0], [0.0, 0.75], [0.0, 0.5625]]
    """
    known, z = rows.count.astype(np.float64), between_fences(x, fences, out)
    total = rows.sums(z)
    if np.isnan(total).any():  # most columns have no gaps
        gone = np.isnan(z)
        z[gone] = 0.0
        known, total = known - rows.sums(gone.astype(np.float64)), rows.sums(z)
    z *= z
    return known, total, rows.sums(z)


def counts(code: NDArray[Any], domain: Whole, domains: int, width: int) -> Array:
    """Return how often each of the first codes occurs in each domain, `(width, domains)`; below zero is none.

    >>> counts(np.array([0, 1, 2, -1]), np.array([0, 0, 1, 1]), 2, 2).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    flat = domain * (width + 1) + np.where((code >= 0) & (code < width), code, width).astype(np.intp)
    return by_group(flat, None, domains * (width + 1)).reshape(domains, -1)[:, :width].T


def differences(total: Array, squares: Array, count: Array) -> Array:
    """Standardised difference of each domain from all others together, by sums; NaN where either has too few rows."""
    n, rest = np.maximum(count, 1), np.maximum(count.sum() - count, 1)
    # Rounded, for sums of the same value differ in their last bits.
    mean, mean_rest = np.round(total / n, 12), np.round((total.sum() - total) / rest, 12)
    variance, variance_rest = squares / n - mean**2, (squares.sum() - squares) / rest - mean_rest**2
    tiny = 1e-12 * float(squares.sum() / n.sum())  # what rounding leaves of no variance
    spreads = [np.where(part > tiny, part, 0.0) for part in (variance, variance_rest)]
    enough = (count >= FEWEST_ROWS) & (count.sum() - count >= FEWEST_ROWS)
    return np.where(enough, standardised(mean, spreads[0], mean_rest, spreads[1]), np.nan)


def homes(code: Whole, domain: Whole, number: int) -> Whole:
    """The one domain in which each code occurs, −1 if in several; domains stand together.

    >>> homes(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
    [0, -1]
    """
    first, last = np.full(number, -1), np.full(number, -1)
    first[code[::-1]] = domain[::-1]  # of several rows with a code, the last assignment stays
    last[code] = domain
    return np.where(first == last, first, -1)
