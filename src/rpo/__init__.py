"""RPO: models that hold up on domains never seen, from data of uneven quality."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpo import datasets, engine, functional, grouping, methods
    from rpo.estimators import DomainClassifier, DomainRegressor, RPOClassifier, RPORegressor, load
    from rpo.studies.comparison import compare
    from rpo.tables.quality import quality

__version__ = "0.1.0"

_ESTIMATORS = ("DomainClassifier", "DomainRegressor", "RPOClassifier", "RPORegressor", "load")
_TABLES = {"compare": "rpo.studies.comparison", "quality": "rpo.tables.quality"}
_PACKAGES = ("datasets", "engine", "functional", "grouping", "methods")

__all__ = [
    "DomainClassifier",
    "DomainRegressor",
    "RPOClassifier",
    "RPORegressor",
    "compare",
    "datasets",
    "engine",
    "functional",
    "grouping",
    "load",
    "methods",
    "quality",
]


def __getattr__(name: str) -> Any:
    """Import on first use: torch takes two seconds, and `rpo --help` needs none of it."""
    if name in _ESTIMATORS:
        return getattr(import_module("rpo.estimators"), name)
    if name in _TABLES:
        return getattr(import_module(_TABLES[name]), name)
    if name in _PACKAGES:
        return import_module(f"rpo.{name}")
    raise AttributeError(f"module 'rpo' has no attribute {name!r}")
