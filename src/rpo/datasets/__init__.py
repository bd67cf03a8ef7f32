"""Data sets: tables that ship with the package, and synthetic ones whose truth is known."""

from rpo.datasets.colored import ColoredDigits, colored_mnist, colored_setting
from rpo.datasets.confounded import Confounded, make_confounded
from rpo.datasets.illustration import draw_setting
from rpo.datasets.synthetic import Uneven, make_uneven
from rpo.datasets.tables import Table, load_cigar, load_radon, load_wage

__all__ = [
    "ColoredDigits",
    "Confounded",
    "Table",
    "Uneven",
    "colored_mnist",
    "colored_setting",
    "draw_setting",
    "load_cigar",
    "load_radon",
    "load_wage",
    "make_confounded",
    "make_uneven",
]
