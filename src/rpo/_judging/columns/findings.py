"""A finding: one plain sentence about a table, with its evidence; and the words that findings share."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rpo._io import few

MOST_NAMED = 3  # domains and values named one by one

# What each kind weighs before its extent: what cannot be true comes first, what is merely different last.
IMPORTANCE = {
    "filled": 0.9,
    "missing": 0.8,
    "sentinel": 0.7,
    "outside": 0.6,
    "unit": 0.55,
    "row number": 0.5,
    "unseen": 0.4,
    "mostly missing": 0.35,
    "padded": 0.3,
    "code": 0.25,
    "constant": 0.15,
    "shift": 0.05,
}
EXTENT = 0.09  # added in full if every row is affected: less than a step from one kind to the next


@dataclass(frozen=True)
class Finding:
    """What was found about one column, in one domain or in several.

    `words` is one sentence; `evidence` holds its numbers; `weight`, between 0 and 1, sorts by importance.
    """

    kind: str
    column: str
    domain: str | None
    words: str
    evidence: dict[str, Any] = field(default_factory=dict)
    weight: float = 0.0

    @property
    def wrong(self) -> bool:
        """Whether something needs to be put right; a shift is ordinary."""
        return self.kind != "shift"


def finding(
    kind: str, column: str, words: str, *, domain: str | None = None, extent: float = 0.0, **evidence: Any
) -> Finding:
    """A finding weighed by its kind, and by the share of rows that it concerns.

    >>> round(finding("filled", "age", "…", extent=1.0).weight, 2)
    0.99
    """
    return Finding(kind, column, domain, words, evidence, IMPORTANCE[kind] + EXTENT * extent)


@dataclass(frozen=True)
class Speech:
    """How the domains of a table are spoken of.

    >>> speech = Speech("site", ("A", "B", "C"))
    >>> speech.one(1), speech.some([0, 1]), speech.rest([0])
    ('site B', '2 of 3 sites (A, B)', 'the other sites')
    """

    column: str
    names: tuple[str, ...]

    @property
    def word(self) -> str:
        """What a domain is called within a sentence: the column's name, a capitalised word without its capital."""
        return self.column.lower() if re.fullmatch(r"[A-Z][a-z]{2,}", self.column) else self.column

    @property
    def _spoken(self) -> bool:
        return re.fullmatch(r"[a-zA-Z][a-z]{2,}", self.word) is not None

    @property
    def many(self) -> str:
        """The plural, if the word is one; a column called schoolNR, or d, has none."""
        if not self._spoken:
            return "domains"
        if re.search(r"[^aeiou]y$", self.word):
            return f"{self.word[:-1]}ies"
        return f"{self.word}es" if re.search(r"(s|x|z|ch|sh)$", self.word) else f"{self.word}s"

    def rest(self, named: Sequence[int]) -> str:
        """All domains but those just named."""
        return f"the other {self.many if len(self.names) - len(named) > 1 else self.word}"

    def one(self, domain: int) -> str:
        """A domain by its name, after what it is unless the name says it, or nobody would say the word.

        >>> Speech("site", ("B",)).one(0), Speech("cty.nm", ("YORK",)).one(0), Speech("cty.nm", ("7",)).one(0)
        ('site B', 'YORK', 'cty.nm 7')
        """
        name = self.names[domain]
        known = name.lower().startswith(self.word.lower()) or (not self._spoken and re.search(r"[^\W\d]{2}", name))
        return name if known else f"{self.word} {name}"

    def some(self, domains: Sequence[int]) -> str:
        """Domains by name if few, by number anyway."""
        if len(domains) == 1:
            return self.one(domains[0])
        shown = few([self.names[e] for e in domains], MOST_NAMED)
        return f"{len(domains):,} of {len(self.names):,} {self.many} ({shown})"

    def name(self, domains: Sequence[int]) -> str | None:
        """The one domain that a finding is about, if it is one."""
        return self.names[domains[0]] if len(domains) == 1 else None


def sentence(text: str) -> str:
    """A sentence begins with a capital, unless it begins with a name that has its own spelling.

    >>> sentence("site B is new."), sentence("schoolNR 7 is new.")
    ('Site B is new.', 'schoolNR 7 is new.')
    """
    first = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if re.fullmatch(r"[a-z]+", first) else text


def percent(share: float) -> str:
    """A share as people say it; never 0 or 100 % unless it is.

    >>> [percent(share) for share in (0.0, 0.0003, 0.004, 0.123, 0.9997, 1.0)]
    ['0 %', 'less than 0.1 %', '0.4 %', '12 %', 'more than 99.9 %', '100 %']
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    if share < 0.0005:
        return "less than 0.1 %"
    if share > 0.9995:
        return "more than 99.9 %"
    return f"{100 * share:.{1 if share < 0.01 or share > 0.99 else 0}f} %"


def number(value: float, *, date: bool = False) -> str:
    """A value as it would be typed; dates count in days from 1970.

    >>> number(-999.0), number(131.66667), number(9.96921e36), number(18262.0, date=True)
    ('-999', '131.7', '9.969e+36', '2020-01-01')
    """
    if date and abs(value) < 4e6:
        return str(np.datetime64(0, "D") + np.timedelta64(int(np.floor(value)), "D"))
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{value:.0f}"
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e6 else f"{value:.4g}"
