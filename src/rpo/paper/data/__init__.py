"""Digits and photos of the paper's image experiments."""

from rpo.paper.data.colored import ColoredDigits, colored_mnist, colored_setting
from rpo.paper.data.nico import nico, nico_album
from rpo.paper.data.photos import photo_album, photos
from rpo.paper.data.tying import Photos

__all__ = [
    "ColoredDigits",
    "Photos",
    "colored_mnist",
    "colored_setting",
    "nico",
    "nico_album",
    "photo_album",
    "photos",
]
