"""Every method of the paper, one file each; importing this package fills the registry."""

from importlib import import_module
from pkgutil import iter_modules

from rpo.engine.method import REGISTRY, Method, get_method, methods

for _module in sorted(info.name for info in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")

__all__ = ["REGISTRY", "Method", "get_method", "methods"]
