"""What is known about a table's quality: `Judgement`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rpo._judging.columns import Columns
from rpo._judging.heat_map import heat_map
from rpo._judging.proposition import penalties, squared
from rpo._judging.sentences import findings
from rpo._learners.crossfit import Expected
from rpo._stats.ridge import Array
from rpo._table.table import Table
from rpo.grouping.strata import NamedStrata

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Scope:
    """How many rows a judgement is about, if it learned from a sample of them."""

    rows: int
    sample: int
    files: int = 1
    explained: float | None = None
    """The share of the target's variance that models of the sample explain in all rows; None for classes."""

    @property
    def words(self) -> str:
        """What is of all rows, and what of the sample."""
        return (
            f"Levels, noise, weights, missing values and shifts of columns are computed from all {self.rows:,} rows. "
            f"Models, groups of rows, suspicious features, relations, errors on held-out domains and findings about "
            f"columns come from a sample of {self.sample:,} rows, balanced between domains as far as possible."
        )


@dataclass(frozen=True, eq=False)
class Judgement:
    """The quality of a table as data frames; `rpo.Quality` describes them, and adds the page."""

    domains: pd.DataFrame
    strata: pd.DataFrame
    cells: pd.DataFrame
    rows: pd.DataFrame
    features: pd.DataFrame
    slopes: pd.DataFrame
    weight: Array
    table: Table = field(repr=False)
    expected: Expected = field(repr=False)
    assigned: NamedStrata = field(repr=False)
    columns: Columns = field(repr=False)
    noise: float
    """The noise of all rows together; for classes the share of wrong labels."""
    misfit: float = 0.0
    """The variance by which models miss a domain that they never saw, beyond its noise; 0 for classes."""
    copies: int = 0
    """Rows that repeat another in every column, if that cannot be chance."""
    scope: Scope | None = None
    """Of a dataset of which a sample was judged: `table`, `expected`, `assigned` and `weight` are the sample's."""

    @property
    def task(self) -> str:
        """ "regression" or "classification"."""
        return self.table.task

    @property
    def summary(self) -> tuple[str, ...]:
        """The findings in at most five sentences, the most important first."""
        return tuple(sentence for _, sentence in self.findings)

    @property
    def findings(self) -> tuple[tuple[str, str], ...]:
        """The same sentences, each with the table that has the evidence."""
        return findings(self)

    @property
    def penalties(self) -> pd.DataFrame:
        """η of every domain and ρ of every cell as Proposition 1 of RPO would have them; for readers of the paper."""
        return penalties(self)

    @property
    def overview(self) -> dict[str, float | None]:
        """The table in figures: rows, columns, domains, groups; noise and explained variance, or classes."""
        ready = self.table
        sizes = {
            "rows": len(ready.y) if self.scope is None else self.scope.rows,
            "columns": len(ready.columns),
            "domains": len(self.domains),
            "groups of rows": len(self.strata),
        }
        if self.task == "regression":
            explained = None if self.scope is None else self.scope.explained
            explained = 1 - float(squared(self).mean()) if explained is None else explained
            figures = {"noise": self.noise, "variance explained": explained}
        else:
            count = np.unique(ready.y, return_counts=True)[1]
            figures = {"classes": len(count), "largest class": count.max() / len(ready.y), "wrong labels": self.noise}
        return {name: float(value) if np.isfinite(value) else None for name, value in (sizes | figures).items()}

    def figure(self) -> "Figure":
        """Draw the noise of every stratum in every domain as a heat map.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return heat_map(self)
