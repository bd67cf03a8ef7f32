"""Strata in plain terms: what the rows of each have in common, in the words of the table."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo.frames.columns import Column, as_text, names_of
from rpo.grouping.strata import value_range

MOST_NAMED = 3  # categories named one by one


def strata_names(
    frame: pd.DataFrame, columns: Sequence[Column], features: Sequence[int], label: NDArray[np.intp]
) -> list[str]:
    """A name for each stratum from the columns its features come from.

    >>> frame = pd.DataFrame({"year": [1968, 1969, 1971], "city": ["Ulm", "Bonn", "Ulm"]})
    >>> plan = [Column(name="year", kind="number"), Column(name="city", kind="category", categories=("Bonn", "Ulm"))]
    >>> strata_names(frame, plan, [0, 2], np.array([0, 0, 1]))
    ['year 1968–1969', 'year 1971, city Ulm']
    """
    source = names_of(columns)[1]
    used = [columns[place] for place in dict.fromkeys(source[feature] for feature in features)]
    parts = [_by_stratum(frame[column.name], column, label) for column in used]
    names = [", ".join(filter(None, words)) or "all rows" for words in zip(*parts, strict=True)] or ["all rows"]
    seen = Counter[str]()
    for k, name in enumerate(names):  # strata of two features may share both ranges
        seen[name] += 1
        names[k] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names


def _by_stratum(values: "pd.Series[Any]", column: Column, label: NDArray[np.intp]) -> list[str]:
    number = int(label.max()) + 1
    if column.kind == "category":
        text = as_text(values).to_numpy()
        every = sorted(set(text))
        counts = [pd.Series(text[label == k]).value_counts() for k in range(number)]
        # A stratum that has them all is not told apart by them.
        return ["" if len(c) == len(every) else f"{column.name} {_either(c, every)}" for c in counts]
    known = values.notna().to_numpy()
    date = column.kind == "date"
    plain = pd.to_datetime(values, errors="coerce", utc=True, format="ISO8601") if date else pd.to_numeric(values)
    ends = plain[known].groupby(label[known]).agg(["min", "max"])
    gaps = np.bincount(label[~known], minlength=number) > 0
    words = []
    for k in range(number):
        parts = [_span(column, *ends.loc[k])] if k in ends.index else []
        words.append(f"{column.name} {' or '.join([*parts, *(['missing'] if gaps[k] else [])])}")
    return words


def _span(column: Column, low: Any, high: Any) -> str:
    if column.kind == "date":
        first, last = f"{low:%Y-%m-%d}", f"{high:%Y-%m-%d}"
        return first if first == last else f"{first} to {last}"
    if float(low) == int(low) and float(high) == int(high) and max(abs(low), abs(high)) < 1e6:
        return f"{low:.0f}" if low == high else f"{low:.0f}{'–' if low >= 0 else ' to '}{high:.0f}"
    return value_range(float(low), float(high))


def _either(counts: "pd.Series[int]", every: Sequence[str]) -> str:
    """The categories of a stratum, or those it lacks if these are fewer to name.

    >>> _either(pd.Series({"b": 3, "c": 1, "d": 1, "e": 1}), list("abcde"))
    'other than a'
    """
    names = [str(name) for name in counts.index]
    lacking = [name for name in every if name not in counts.index]
    if len(names) <= MOST_NAMED:
        return _or(sorted(names))
    if 0 < len(lacking) <= MOST_NAMED:
        return f"other than {_or(lacking)}"
    return f"{', '.join(names[: MOST_NAMED - 1])} or {len(names) - MOST_NAMED + 1} others"


def _or(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
