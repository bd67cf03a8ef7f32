"""RPO: models that hold up on unseen domains, from training data of uneven quality."""

from importlib import import_module as _import
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from rpo import datasets, engine, exceptions, functional, grouping, methods
    from rpo._compare import Comparison, compare
    from rpo._models import QualityClassifier, QualityRegressor, load
    from rpo._models.checking import Check, check
    from rpo._networks import DomainClassifier, DomainRegressor, RPOClassifier, RPORegressor
    from rpo._networks.sweep import sweep
    from rpo._quality import Quality, quality
    from rpo.engine import Monitor, Source

__version__ = "0.2.0"

__all__ = [
    "Check",
    "Comparison",
    "DomainClassifier",
    "DomainRegressor",
    "Monitor",
    "Quality",
    "QualityClassifier",
    "QualityRegressor",
    "RPOClassifier",
    "RPORegressor",
    "Source",
    "__version__",
    "check",
    "compare",
    "datasets",
    "engine",
    "exceptions",
    "functional",
    "grouping",
    "load",
    "methods",
    "quality",
    "sweep",
]

_HOMES = {
    "Check": "rpo._models.checking",
    "Comparison": "rpo._compare",
    "DomainClassifier": "rpo._networks",
    "DomainRegressor": "rpo._networks",
    "Monitor": "rpo.engine",
    "Quality": "rpo._quality",
    "QualityClassifier": "rpo._models",
    "QualityRegressor": "rpo._models",
    "RPOClassifier": "rpo._networks",
    "RPORegressor": "rpo._networks",
    "Source": "rpo.engine",
    "check": "rpo._models.checking",
    "compare": "rpo._compare",
    "load": "rpo._models",
    "quality": "rpo._quality",
    "sweep": "rpo._networks.sweep",
}


def __getattr__(name: str) -> _Any:
    """Import on first use: torch takes two seconds, and `rpo --help` needs none of it."""
    if name in _HOMES:
        return getattr(_import(_HOMES[name]), name)
    if name in __all__:
        return _import(f"rpo.{name}")
    raise AttributeError(f"module 'rpo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
