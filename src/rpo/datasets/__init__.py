"""Data sets: tables that ship with the package, synthetic ones whose truth is known, digits and photos."""

from rpo.datasets.colored import ColoredDigits, colored_mnist, colored_setting
from rpo.datasets.confounded import Confounded, make_confounded
from rpo.datasets.illustration import draw_setting
from rpo.datasets.nico import nico, nico_album
from rpo.datasets.photos import photo_album, photos
from rpo.datasets.synthetic import Uneven, make_uneven
from rpo.datasets.tables import Table, load_cigar, load_radon, load_wage
from rpo.datasets.tying import Photos

__all__ = [
    "ColoredDigits",
    "Confounded",
    "Photos",
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
    "nico",
    "nico_album",
    "photo_album",
    "photos",
]
