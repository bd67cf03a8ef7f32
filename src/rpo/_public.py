"""How names become public, and how they leave: one address that no move changes, and one release of warning."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Named = TypeVar("Named", bound=Callable[..., object])
P = ParamSpec("P")
R = TypeVar("R")


def public(thing: Named) -> Named:
    """Give a class or function the address `rpo`, so that reprs, pickles and documentation survive a move.

    >>> @public
    ... class Model: ...
    >>> Model
    <class 'rpo.Model'>
    """
    thing.__module__ = "rpo"
    return thing


def deprecated(old: str, new: str, function: Callable[P, R]) -> Callable[P, R]:
    """Return the function under its old name: every call warns, and says which name to use.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     deprecated("rpo.largest", "max", max)(1, 2)
    2
    >>> str(caught[0].message)
    'rpo.largest is deprecated and goes with the next minor version: use max'
    """

    @wraps(function)
    def warn_and_call(*args: P.args, **kwargs: P.kwargs) -> R:
        warnings.warn(
            f"{old} is deprecated and goes with the next minor version: use {new}", DeprecationWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    return warn_and_call
