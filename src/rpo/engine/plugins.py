"""Methods from installed packages, modules named by the user, and notebooks; and their transfer to workers.

A package, this one too, lists its modules or functions in the entry-point group `rpo.methods`. Importing a module
registers its methods; a function that is not itself a method is called, and registers them.
"""

import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from rpo.engine.method import OURS, REGISTRY, Method, is_ours
from rpo.exceptions import InputError

GROUP = "rpo.methods"


@cache
def _entry_points() -> tuple[dict[str, str], list[EntryPoint]]:
    """Return the errors of entry points that could not be loaded, and those still to load, ours at the end."""
    return {}, sorted(entry_points(group=GROUP), key=lambda point: _is_own(point.module))


def load_installed() -> Mapping[str, str]:
    """Load the methods of installed packages; return the error of each that fails, by entry point."""
    broken, waiting = _entry_points()
    while waiting:  # reentrant: a plugin may ask for a method while it is being loaded
        point = waiting.pop()
        try:
            _register(point.load())
        except Exception as error:
            broken[point.value] = format_error(error)
    return broken


def load_plugin(name: str) -> None:
    """Import `module`, or `module:function`, from the current folder or wherever Python looks.

    >>> load_plugin("no_such_module")
    Traceback (most recent call last):
    rpo.exceptions.InputError: plugin 'no_such_module' could not be loaded (ModuleNotFoundError: ...): ...
    """
    module, _, function = name.partition(":")
    load_installed()
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        plugin: Any = import_module(module)
        for part in filter(None, function.split(".")):
            plugin = getattr(plugin, part)
        _register(plugin)
    except Exception as error:
        raise InputError(
            f"plugin {name!r} could not be loaded ({format_error(error)}): use an importable module, or module:function"
        ) from None


def _register(plugin: Any) -> None:
    """Call a function that registers methods; modules and registered methods need no call."""
    if not isinstance(plugin, ModuleType) and not any(method.objective is plugin for method in REGISTRY.values()):
        plugin()


def format_error(error: BaseException) -> str:
    """Return an error's type and message on one line.

    >>> format_error(KeyError("a"))
    "KeyError: 'a'"
    """
    return " ".join(f"{type(error).__name__}: {error}".split())


# --- transfer to workers ------------------------------------------------------------------------------------------


def pack_methods() -> bytes:
    """Serialise the methods that a worker would not find by itself; empty if there are none.

    Methods of installed packages are not included: a worker has its own, and `check_same` compares.
    """
    import cloudpickle

    homes = {point.module.partition(".")[0] for point in entry_points(group=GROUP)}
    methods = [m for m in REGISTRY.values() if not is_ours(m.objective) and _root(m) not in homes]
    if not methods:
        return b""
    modules = {m.objective.__module__ for m in methods} - {"__main__"}
    by_value = [sys.modules[name] for name in sorted(modules & set(sys.modules))]
    for module in by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        content: bytes = cloudpickle.dumps(methods)
    except Exception as error:
        names = ", ".join(sorted(m.name for m in methods))
        raise InputError(
            f"{names} cannot be sent to worker processes ({format_error(error)}): "
            "use jobs=1, or install the code as a package"
        ) from None
    finally:
        for module in by_value:
            cloudpickle.unregister_pickle_by_value(module)
    return content


def unpack_methods(content: bytes) -> None:
    """Register, in a worker, the methods serialised by `pack_methods`."""
    if not content:
        return
    import cloudpickle

    load_installed()
    for method in cloudpickle.loads(content):
        REGISTRY[method.name] = method


def check_same(method: Method, source: str) -> None:
    """Raise an error, in a worker, if the method's code differs from the code that the run was started with."""
    if method.source != source:
        raise InputError(
            f"method {method.name!r} differs from the one the study was started with: install the same code everywhere"
        )


def _root(method: Method) -> str:
    return method.objective.__module__.partition(".")[0]


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == OURS
