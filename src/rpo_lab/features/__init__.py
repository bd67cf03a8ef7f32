"""Frozen backbones: photos turned into vectors once, and kept."""

from rpo_lab.features.backbone import Backbone, get_backbone
from rpo_lab.features.extraction import extract
from rpo_lab.features.lite0 import lite0, pretrained

__all__ = ["Backbone", "extract", "get_backbone", "lite0", "pretrained"]
