"""Data sets: tables that ship with the package, real ones to fetch, and synthetic ones whose truth is known."""

from rpo.datasets.confounded import Confounded, make_confounded
from rpo.datasets.real import load_real
from rpo.datasets.synthetic import Uneven, make_uneven
from rpo.datasets.tables import Table, load_cigar, load_radon, load_wage

__all__ = [
    "Confounded",
    "Table",
    "Uneven",
    "load_cigar",
    "load_radon",
    "load_real",
    "load_wage",
    "make_confounded",
    "make_uneven",
]
