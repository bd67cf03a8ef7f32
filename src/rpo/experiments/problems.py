"""Data sets as a run needs them: training rows, validation rows, and test domains by name."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from rpo.datasets.confounded import Part, make_confounded
from rpo.engine import Data, make_data
from rpo.exceptions import InputError
from rpo.experiments.specification import DataSpec, canonical


@dataclass(frozen=True)
class Problem:
    """What a run trains on, what models are chosen by, and what they are tested on."""

    train: Data
    validation: Data
    tests: Mapping[str, Data]


PROBLEMS: dict[str, Callable[..., Problem]] = {}


def problem(name: str) -> Callable[[Callable[..., Problem]], Callable[..., Problem]]:
    """Put a loader `(seed, **options) -> Problem` into the list; its defaults are the data set's."""

    def register(loader: Callable[..., Problem]) -> Callable[..., Problem]:
        PROBLEMS[name] = loader
        return loader

    return register


def get_problem(name: str) -> Callable[..., Problem]:
    """The loader of that name, or an error that lists them."""
    if name not in PROBLEMS:
        raise InputError(f"unknown data set {name!r} for an experiment: use one of {', '.join(sorted(PROBLEMS))}")
    return PROBLEMS[name]


def load(data: DataSpec, seed: int) -> Problem:
    """The problem of a run; the last few are kept, for runs come in stacks of the same data.

    >>> load(DataSpec(name="confounded", options={"table": "cigar"}), seed=0).train.n_rows
    828
    """
    return _load(data.name, canonical(data.options), seed)


@lru_cache(maxsize=64)
def _load(name: str, options: bytes, seed: int) -> Problem:
    loader = get_problem(name)
    given = json.loads(options)
    known = inspect.signature(loader).parameters
    return loader(
        seed=seed, **{key: tuple(v) if isinstance(v, list) else v for key, v in given.items() if key in known}
    )


def _same_options(source: Callable[..., Any]) -> Callable[[Callable[..., Problem]], Callable[..., Problem]]:
    """Give a loader the signature of the function it passes its options to."""

    def decorate(loader: Callable[..., Problem]) -> Callable[..., Problem]:
        loader.__signature__ = inspect.signature(source)  # type: ignore[attr-defined]
        return loader

    return decorate


@problem("confounded")
@_same_options(make_confounded)
def confounded(**options: Any) -> Problem:
    """The domains of Table 1 (`rpo.datasets.make_confounded`)."""
    made = make_confounded(**options)
    return Problem(_data(made.train), _data(made.validation), {"test": _data(made.test)})


def _data(part: Part) -> Data:
    x, y, domain, stratum = (torch.from_numpy(a) for a in (part.X, part.y, part.domain, part.stratum))
    return make_data(x, y, domain, task="regression", stratum=stratum)
