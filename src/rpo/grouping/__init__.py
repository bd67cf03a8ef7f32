"""Strata: rows that share their noise and density, from named columns, or found by search."""

from rpo.grouping.from_columns import ColumnStrata, strata_from_columns
from rpo.grouping.search import find_strata
from rpo.grouping.strata import NamedStrata, Strata

__all__ = [
    "ColumnStrata",
    "NamedStrata",
    "Strata",
    "find_strata",
    "strata_from_columns",
]
