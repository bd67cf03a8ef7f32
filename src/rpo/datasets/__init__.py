"""Tables that ship with the package, and a synthetic one whose truth is known."""

from rpo.datasets.synthetic import Uneven, make_uneven
from rpo.datasets.tables import Table, load_cigar, load_radon, load_wage

__all__ = [
    "Table",
    "Uneven",
    "load_cigar",
    "load_radon",
    "load_wage",
    "make_uneven",
]
