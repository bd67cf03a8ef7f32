"""RPO: models that hold up on unseen domains, from training data of uneven quality."""

from importlib import import_module as _import
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from rpo import datasets, engine, exceptions, functional, grouping, methods
    from rpo.engine import Monitor, Source
    from rpo.estimators import DomainClassifier, DomainRegressor, RPOClassifier, RPORegressor
    from rpo.estimators.sweep import sweep
    from rpo.judging import quality
    from rpo.models import QualityClassifier, QualityRegressor, load
    from rpo.studies.comparison import compare
    from rpo.tables.checking import check

__version__ = "0.2.0"

__all__ = [
    "DomainClassifier",
    "DomainRegressor",
    "Monitor",
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
    "DomainClassifier": "rpo.estimators",
    "DomainRegressor": "rpo.estimators",
    "Monitor": "rpo.engine",
    "QualityClassifier": "rpo.models",
    "QualityRegressor": "rpo.models",
    "RPOClassifier": "rpo.estimators",
    "RPORegressor": "rpo.estimators",
    "Source": "rpo.engine",
    "check": "rpo.tables.checking",
    "compare": "rpo.studies.comparison",
    "load": "rpo.models",
    "quality": "rpo.judging",
    "sweep": "rpo.estimators.sweep",
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
