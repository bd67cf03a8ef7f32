"""Strata: rows that share their noise and density, from named columns, from the class, or found by search."""

from rpo.grouping.cells import split_by_domain
from rpo.grouping.classes import strata_from_classes
from rpo.grouping.columns import strata_from_columns
from rpo.grouping.found import find_strata
from rpo.grouping.strata import NamedStrata, Strata

__all__ = [
    "NamedStrata",
    "Strata",
    "find_strata",
    "split_by_domain",
    "strata_from_classes",
    "strata_from_columns",
]
