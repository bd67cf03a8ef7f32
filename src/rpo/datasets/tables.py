"""The tables that ship with the package: Cigar, Wage and Radon."""

import gzip
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from rpo._io import Task
from rpo.datasets.catalogue import entries, read


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its roles: what to predict, from what, and which column says where a row comes from.

    Parameters
    ----------
    frame : DataFrame
        All of it.
    target : str
        The column to predict.
    features : list of str
        The columns to predict from.
    domain : str or None
        The column that says where a row comes from.
    description, source, name : str
        What it is, where it is from, and what it is called.
    task : "regression" or "classification"
        What the target is.

    Examples
    --------
    >>> import rpo
    >>> rpo.datasets.load_wage().target
    'lwage'
    """

    frame: pd.DataFrame = field(repr=False)
    target: str
    features: list[str]
    domain: str | None
    description: str
    source: str
    name: str
    task: Task

    @property
    def X(self) -> pd.DataFrame:
        """The features."""
        return self.frame[self.features]

    @property
    def y(self) -> "pd.Series[Any]":
        """The target."""
        return self.frame[self.target]

    @property
    def domains(self) -> "pd.Series[Any] | None":
        """The domain of every row."""
        return None if self.domain is None else self.frame[self.domain]


def load_cigar() -> Table:
    """Load cigarette sales per head in 46 states over 30 years; the state is the domain.

    Population and income enter as logarithms (`log_pop`, `log_pop16`, `log_ndi`).

    Examples
    --------
    >>> import rpo
    >>> cigar = rpo.datasets.load_cigar()
    >>> cigar.X.shape, cigar.target, cigar.domains.nunique()
    ((1380, 7), 'sales', 46)
    """
    frame = _read("cigar")
    logs = {f"log_{name}": np.log(frame[name]) for name in ("pop", "pop16", "ndi")}
    features = ["year", "price", "log_pop", "log_pop16", "cpi", "log_ndi", "pimin"]
    return _table("cigar", frame.assign(**logs), target="sales", features=features, domain="state")


def load_wage() -> Table:
    """Load the log hourly wage of 545 young men over eight years; the year is the domain.

    The year, not the man (`nr`): eight rows a man leave nothing to stratify, and most features are constant there.

    Examples
    --------
    >>> import rpo
    >>> wage = rpo.datasets.load_wage()
    >>> wage.X.shape, wage.target, wage.domains.nunique()
    ((4360, 14), 'lwage', 8)
    """
    features = ["year", "educ", "exper", "expersq", "black", "hisp", "married", "union", "hours", "poorhlth"]
    features += ["south", "nrtheast", "nrthcen", "rur"]
    return _table("wage", _read("wage"), target="lwage", features=features, domain="year")


def load_radon() -> Table:
    """Load log radon in 919 homes; the county is the domain: 85 of them, of 1 to 116 homes.

    `basement` is coded as its source has it: 0 measured in the basement, 1 on the first floor.

    Examples
    --------
    >>> import rpo
    >>> radon = rpo.datasets.load_radon()
    >>> radon.X.shape, radon.target, int(radon.domains.value_counts().min())
    ((919, 2), 'log.radon', 1)
    """
    return _table("radon", _read("radon"), target="log.radon", features=["basement", "uranium"], domain="county.name")


def _read(name: str) -> pd.DataFrame:
    (entry,) = entries([name])
    frame = pd.read_csv(io.BytesIO(gzip.decompress(read(entry))))
    return frame[list(entry.columns)]


def _table(name: str, frame: pd.DataFrame, *, target: str, features: list[str], domain: str) -> Table:
    (entry,) = entries([name])
    source = f"{entry.source}: {entry.reference}"
    return Table(frame, target, features, domain, entry.title, source, name, entry.task)
