"""Frozen backbones: photos turned into vectors once, and kept."""

from rpo.paper.features.backbone import Backbone, get_backbone
from rpo.paper.features.extraction import extract
from rpo.paper.features.lite0 import lite0, pretrained

__all__ = ["Backbone", "extract", "get_backbone", "lite0", "pretrained"]
