"""Columns as numbers: what is learned about each is plain data, the JSON of the model folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from rpo.exceptions import InputError

Array = NDArray[np.float64]
Room = Callable[[tuple[int, int], type[np.float64]], Array]

# The most frequent categories get a column each; the others, and those never seen, have zero in all of them.
MOST_CATEGORIES = 20
ABSENT = "(missing)"
# A text of which this share reads as numbers was meant as numbers, and the rest is a mistake to be told of.
MEANT_AS_NUMBERS = 0.9
NULL = "␀"
EXACT = 2**53  # beyond, floats are not every whole number
# A column's largest value lies between these, as numbers of single precision do, which forests and networks work in.
LARGEST, SMALLEST = 1e38, 1e-38
DAYS = (-719_162, 2_932_897)  # the years 1 to 9999, all that calendars know
LONG = 17  # digits: more than a number holds
AT_ONCE = 8  # columns whose numbers are held beside the table that is made of them
DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"


class Column(BaseModel):
    """What one column of the table is, and the constants that turn it into numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str
    kind: Literal["number", "date", "category"]
    fill: float = 0.0
    """What stands for a missing value: the median. Dates count in days from 1970."""
    gaps: bool = False
    """Whether values were missing: if so, a column says where."""
    categories: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the numbers it becomes."""
        if self.kind == "category":
            return tuple(f"{self.name}={category}" for category in self.categories)
        return (self.name, f"{self.name} missing") if self.gaps else (self.name,)


def check_columns(columns: Sequence[Column]) -> None:
    """Check columns read from a folder: refuse those that no table can have.

    >>> check_columns([Column(name="a", kind="number"), Column(name="a", kind="date")])
    Traceback (most recent call last):
    ValueError: a column is named twice
    """
    if len({column.name for column in columns}) != len(columns):
        raise ValueError("a column is named twice")
    for column in columns:
        if len(set(column.categories)) != len(column.categories):
            raise ValueError("a category is named twice")
        if (column.kind == "category") != bool(column.categories) or abs(column.fill) > LARGEST:
            raise ValueError("a column has categories or a fill value that does not fit its kind")
        if len(column.categories) > MOST_CATEGORIES:
            raise ValueError(f"a column has more than {MOST_CATEGORIES} categories")


@dataclass(frozen=True)
class LeftOut:
    """A column that is not used, and why."""

    name: str
    reason: str


def learn(values: "pd.Series[Any]", name: str, *, category: bool = False) -> Column | LeftOut:
    """Learn the kind of a column; leave out a column without information, raise if one cannot be used.

    >>> learn(pd.Series([3.0, None, 5.0]), "age")
    Column(name='age', kind='number', fill=4.0, gaps=True, categories=())
    >>> learn(pd.Series(["a", "b", "a"]), "city").outputs
    ('city=a', 'city=b')
    """
    known = values.dropna()
    if len(known) == 0:
        raise InputError(f"column {name!r} has no values: drop it with --drop")
    kind = "category" if category else kind_of(known, name)
    if kind == "category":
        return _category(values, name)
    numbers = typed(values, Column(name=name, kind=kind))
    infinite = int(np.isinf(numbers).sum())
    if infinite:
        raise InputError(
            f"column {name!r} is infinite in {infinite} of {len(numbers)} rows: correct them, or use --drop"
        )
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    largest = max(-low, high)
    if kind == "date" and (low < DAYS[0] or high > DAYS[1]):
        raise InputError(f"column {name!r} has dates outside the years 1 to 9999: correct them, or use --drop")
    if largest > LARGEST:
        raise InputError(f"column {name!r} has values up to {largest:.1g}: use another unit, or --drop")
    if 0 < largest < SMALLEST:
        raise InputError(f"column {name!r} is below {SMALLEST:g} in every row: use another unit, or --drop")
    gaps = bool(np.isnan(numbers).any())
    if low == high and not gaps:
        return LeftOut(name, "the same in every row")
    return Column(name=name, kind=kind, fill=float(np.nanmedian(numbers)), gaps=gaps)


def kind_of(known: "pd.Series[Any]", name: str) -> Literal["number", "date", "category"]:
    """Return the kind of a column without gaps: numbers, dates or categories, in any notation.

    >>> kind_of(pd.Series(["1", "2.5"]), "a"), kind_of(pd.Series(["2020-01-31"]), "b")
    ('number', 'date')
    """
    if pd.api.types.is_datetime64_any_dtype(known):
        return "date"
    if pd.api.types.is_numeric_dtype(known) or pd.api.types.is_bool_dtype(known):
        return "number"
    if isinstance(known.dtype, pd.CategoricalDtype):
        return "category"
    text = known.astype(str).str.strip()
    if text.str.fullmatch(DATE).all():
        if (wrong := pd.to_datetime(text, errors="coerce", utc=True, format="ISO8601").isna()).any():
            raise InputError(
                f"column {name!r} contains dates except for {int(wrong.sum())} of {len(text)} values, such as "
                f"{text[wrong].iloc[0]!r}: correct them, or use --category or --drop"
            )
        return "date"
    if are_codes(text):
        return "category"
    wrong = pd.to_numeric(text, errors="coerce").isna()
    if not wrong.any():
        return "number"
    if 1 - wrong.mean() >= MEANT_AS_NUMBERS:
        example = str(text[wrong].iloc[0])[:40]
        raise InputError(
            f"column {name!r} is numeric except for {int(wrong.sum())} of {len(text)} values, such as {example!r}: "
            "correct them, or use --category or --drop"
        )
    return "category"


def are_codes(text: "pd.Series[Any]") -> bool:
    """Return whether texts of digits are codes, not amounts: of equal length with leading zeros, or too long.

    Two digits are read as a number (months, days, hours), and so are numbers of other lengths.

    >>> are_codes(pd.Series(["02001", "10001"])), are_codes(pd.Series(["01", "12"])), are_codes(pd.Series(["1", "007"]))
    (True, False, False)
    """
    if not text.str.fullmatch(r"\d{3,}").all():
        return False
    length = text.str.len()
    padded = length.min() == length.max() and bool(text.str.startswith("0").any())
    return padded or bool(length.min() >= LONG)


def _category(values: "pd.Series[Any]", name: str) -> Column | LeftOut:
    text = as_text(values)
    counts = text.value_counts()
    if len(counts) == 1:
        return LeftOut(name, "the same in every row")
    if len(counts) > max(MOST_CATEGORIES, len(text) / 2):
        return LeftOut(name, f"{len(counts):,} different texts in {len(text):,} rows: a name, not a category")
    # Sorted by count, then by name: the order of the rows must not decide.
    order = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return Column(name=name, kind="category", categories=tuple(sorted(str(c) for c, _ in order[:MOST_CATEGORIES])))


def as_text(values: "pd.Series[Any]") -> "pd.Series[Any]":
    """Convert labels to text: whole numbers without a decimal point, missing values as a label of their own.

    A null character is written as its symbol: arrays of text lose it at the end of a label, which may be all of it.

    >>> as_text(pd.Series([1.0, None, 2.0])).tolist()
    ['1', '(missing)', '2']
    """
    if pd.api.types.is_float_dtype(values):
        known = values.dropna()
        if len(known) and float(known.abs().max()) < EXACT and (known % 1 == 0).all():
            values = values.astype("Int64")
    text = values.astype(object).where(values.notna(), ABSENT).astype(str)
    return text.str.replace("\0", NULL, regex=False) if text.str.contains("\0", regex=False).any() else text


def typed(values: "pd.Series[Any]", column: Column) -> Array:
    """Convert a column to numbers with gaps: numbers, days, or the index of the category (−1 for any other).

    >>> typed(pd.Series(["b", "z"]), Column(name="c", kind="category", categories=("a", "b"))).tolist()
    [1.0, -1.0]
    """
    if column.kind == "category":
        return (
            pd.Index(column.categories, dtype=object).get_indexer(pd.Index(as_text(values), dtype=object)).astype(float)
        )
    if column.kind == "date":
        if pd.api.types.is_numeric_dtype(values):  # a bare number says no date
            return np.full(len(values), np.nan)
        days = pd.to_datetime(values, errors="coerce", utc=True, format="ISO8601")
        seconds = days.dt.tz_localize(None).to_numpy("datetime64[s]")  # in nanoseconds, years end in 2262
        return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) / 86_400)
    return np.asarray(pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan), dtype=np.float64)


def check_reach(numbers: Array, name: str) -> None:
    """Refuse new values too large for sums and products, which training tables cannot have.

    >>> check_reach(np.array([1.0, 1e300]), "age")
    Traceback (most recent call last):
    rpo.exceptions.InputError: column 'age' is 1e+300 in row 2: correct it, or leave the cell empty
    """
    if np.isinf(numbers).any():
        raise InputError(f"column {name!r} is infinite (inf) in {int(np.isinf(numbers).sum())} rows: correct them")
    far = np.flatnonzero(np.abs(numbers) > LARGEST)
    if len(far):
        value = float(numbers[far[0]])
        raise InputError(f"column {name!r} is {value:.1g} in row {far[0] + 1}: correct it, or leave the cell empty")


def transform(frame: pd.DataFrame, columns: Sequence[Column], room: Room = np.empty) -> Array:
    """Return the numbers of all columns, `(rows, numbers)`, in the array that `room` makes: in memory, or in a file.

    >>> plan = [Column(name="age", kind="number", fill=4.0, gaps=True)]
    >>> transform(pd.DataFrame({"age": [3.0, None]}), plan).tolist()
    [[3.0, 0.0], [4.0, 1.0]]
    """
    table = room((len(frame), len(names_of(columns)[0])), np.float64)
    place = 0
    for first in range(0, len(columns), AT_ONCE):
        few = columns[first : first + AT_ONCE]
        width = len(names_of(few)[0])
        fill(table[:, place : place + width], [typed(frame[column.name], column) for column in few], few)
        place += width
    return table


def fill(table: Array, values: Sequence[Array], columns: Sequence[Column]) -> Array:
    """Write typed values to `table`: filled, with a column that marks gaps, or a column for each category.

    >>> about = Column(name="c", kind="category", categories=("a", "b"))
    >>> fill(np.empty((2, 2)), [np.array([1.0, -1.0])], [about]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    place = 0
    for value, column in zip(values, columns, strict=True):
        if column.kind == "category":
            for k in range(len(column.categories)):
                table[:, place + k] = value == k
        else:
            gone = np.isnan(value)
            table[:, place] = np.where(gone, column.fill, value) if gone.any() else value
            if column.gaps:
                table[:, place + 1] = gone
        place += len(column.outputs)
    return table


def names_of(columns: Sequence[Column]) -> tuple[list[str], list[int]]:
    """Return the names of the numbers, and the index of the column of each.

    >>> names_of([Column(name="age", kind="number", gaps=True), Column(name="dose", kind="number")])
    (['age', 'age missing', 'dose'], [0, 0, 1])
    """
    names = [name for column in columns for name in column.outputs]
    return names, [place for place, column in enumerate(columns) for _ in column.outputs]
