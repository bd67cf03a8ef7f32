"""Every method, one file each; importing this package fills the registry.

A method of your own is a function under `@method(...)` (docs/your-method.md).
"""

from importlib import import_module
from pkgutil import iter_modules

from rpo.engine.method import (
    BOTH,
    CLASSIFICATION,
    REGISTRY,
    REGRESSION,
    REMOVED,
    Choice,
    Gradient,
    Hyper,
    Method,
    State,
    Terms,
    Values,
    get_method,
    log_uniform,
    method,
    methods,
    one_of,
    uniform,
)
from rpo.engine.plugins import load_plugin

for _module in sorted(info.name for info in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")

REMOVED.update(
    {
        "rpo-weights": "0.2: QualityRegressor(estimator='network') weights rows by judged quality (--method network)",
        "erm-screened": "0.2: QualityRegressor(estimator='network') drops suspicious features (--method network)",
    }
)

__all__ = [
    "BOTH",
    "CLASSIFICATION",
    "REGISTRY",
    "REGRESSION",
    "REMOVED",
    "Choice",
    "Gradient",
    "Hyper",
    "Method",
    "State",
    "Terms",
    "Values",
    "get_method",
    "load_plugin",
    "log_uniform",
    "method",
    "methods",
    "one_of",
    "uniform",
]
