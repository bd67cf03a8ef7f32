"""A sample of a dataset, drawn by domain: first the rows of every domain are counted, then a share of each is drawn.

A row is drawn if its key, a hash of its content, is below the share of its domain. So the sample depends neither on
the division of rows into files nor on their order, and copies of a row come together.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._table.batches import encode_texts, keys, known, places
from rpo._table.dataset import Dataset, Part
from rpo._table.passes import TABLE, Given
from rpo._table.reading import frame_of
from rpo._table.table import MOST_DOMAINS, WITHOUT_DOMAIN
from rpo.exceptions import InputError

SAMPLE_ROWS = 200_000
KEY = ""  # the column of a sample that holds the keys: no column of a table has that name


@dataclass(frozen=True, eq=False)
class Counts:
    """Rows of every domain that have a target, and rows that lack target or domain."""

    by_domain: Counter[str] = field(default_factory=Counter)
    without_target: int = 0
    without_domain: int = 0

    def check(self, target: str, domain: str | None) -> dict[str, int]:
        """Return the rows of every domain, sorted by name; raise if domains cannot be judged."""
        if self.without_domain:
            raise InputError(f"the domain {domain!r} is missing in {self.without_domain:,} rows: fill them in")
        if not self.by_domain:
            raise InputError(f"the target {target!r} has no values: choose another column")
        if len(self.by_domain) > MOST_DOMAINS:
            raise InputError(f"the domain {domain!r} has more than {MOST_DOMAINS:,} values: group them into fewer")
        return dict(sorted(self.by_domain.items()))


@dataclass(frozen=True, eq=False)
class Counting:
    """Count the rows of each domain that have a target."""

    dataset: Dataset
    target: str | None
    """None counts all rows."""
    domain: str | None

    def __call__(self, part: Part) -> Given:
        """Return the names of a part's domains, their rows, and how many rows lack target or domain."""
        counts, without_target, without_domain = Counter[str](), 0, 0
        names = [name for name in (self.target, self.domain) if name is not None]
        for batch in self.dataset.batches(part, list(dict.fromkeys(names)) or self.dataset.columns[:1]):
            there = np.ones(batch.num_rows, dtype=bool) if self.target is None else known(batch.column(self.target))
            without_target += int((~there).sum())
            code, texts = np.zeros(batch.num_rows, dtype=np.intp), [WITHOUT_DOMAIN]
            if self.domain is not None:
                code, texts = encode_texts(batch.column(self.domain))
            without_domain += int((code[there] < 0).sum())
            rows = np.bincount(code[there & (code >= 0)], minlength=len(texts))
            for name, number in zip(texts, rows.tolist(), strict=True):
                counts.update({name: number} if number else {})
            if len(counts) > MOST_DOMAINS:
                break  # enough to refuse
        return {
            "domain": np.array(list(counts), dtype=str),
            "rows": np.array(list(counts.values()), dtype=np.int64),
            "without": np.array([without_target, without_domain]),
        }


def counted(counts: Counts, given: Given) -> Counts:
    """Add the counts of a part."""
    new = Counter(dict(zip(given["domain"].tolist(), given["rows"].tolist(), strict=True)))
    target, domain = given["without"].tolist()
    return Counts(counts.by_domain + new, counts.without_target + target, counts.without_domain + domain)


def shares(rows: Sequence[int], most: int) -> NDArray[np.float64]:
    """Return the share of each domain to draw, for about `most` rows in total, as evenly over domains as possible.

    >>> shares([100, 1_000, 10_000], 1_100).round(2).tolist()
    [1.0, 0.5, 0.05]
    """
    count = np.sort(np.asarray(rows, dtype=np.float64))
    level = (most - (np.cumsum(count) - count)) / np.arange(len(count), 0, -1)
    full = count >= level
    quota = float(level[np.argmax(full)]) if full.any() else np.inf
    return np.minimum(1.0, quota / np.asarray(rows, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Drawing:
    """Draw the rows to learn from."""

    dataset: Dataset
    target: str
    domain: str | None
    share: Mapping[str, float]
    columns: tuple[str, ...]
    seed: int

    def __call__(self, part: Part) -> Given:
        """Return the rows drawn of a part, with their keys as a column more."""
        import pyarrow as pa

        share = np.array([*self.share.values(), 0.0, 0.0])
        place = {name: k for k, name in enumerate(self.share)}
        limit = np.where(share >= 1, np.inf, share * 2.0**64)
        drawn, key = [], []
        for batch in self.dataset.batches(part, self.columns):
            keys_of = keys(batch, self.seed)
            code: Any = 0 if self.domain is None else places(batch.column(self.domain), place)
            chosen = np.flatnonzero(keys_of < limit[code])
            chosen = chosen[known(batch.column(self.target).take(pa.array(chosen)))]
            drawn.append(batch.take(pa.array(chosen)))
            key.append(keys_of[chosen])
        return {TABLE: self.dataset.decoded(drawn).append_column(KEY, [np.concatenate(key)])} if drawn else {}


def drawn(tables: list[Any], given: Given) -> list[Any]:
    """Add the rows drawn of a part."""
    return [*tables, *given.values()]


def sample_of(tables: Sequence[Any]) -> pd.DataFrame:
    """Return the drawn rows as a data frame in the order of their keys, whatever the order of files."""
    import pyarrow as pa

    whole = pa.concat_tables(tables)
    order = np.argsort(whole.column(KEY).to_numpy(), kind="stable")
    return frame_of(whole.drop_columns([KEY]).take(pa.array(order)))
