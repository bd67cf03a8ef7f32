"""Data sets for a run: training rows, validation rows, and test domains by name."""

import inspect
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch

from rpo.engine import Data, make_data
from rpo.exceptions import InputError
from rpo_lab.data.confounded import Part, make_confounded
from rpo_lab.data.places import make_counties, make_regions
from rpo_lab.runner.specification import DataSpec, Judged, canonical


@dataclass(frozen=True)
class Problem:
    """Rows for training, for selecting models, and for testing."""

    train: Data
    validation: Data
    tests: Mapping[str, Data]
    unit: float = 1.0
    """What one unit of the target is in that of the results."""

    @property
    def bytes(self) -> int:
        """Memory of its inputs."""
        return sum(data.tensor.nbytes for data in (self.train, self.validation, *self.tests.values()))


# Memory for problems that are kept: hundreds of tables, or one draw of the images, which are cheap to draw again. More,
# and joblib takes the worker for one that leaks.
KEPT_BYTES = 128 * 2**20

PROBLEMS: dict[str, Callable[..., Problem]] = {}

# Loaders that stand elsewhere, by the module that registers them: it is imported when one is asked for, in whichever
# process, so that tables need no images.
ELSEWHERE = {
    "colored": "rpo_lab.image_problems",
    "colored-twice": "rpo_lab.image_problems",
    "digits": "rpo_lab.image_problems",
    "photos": "rpo_lab.image_problems",
    "nico": "rpo_lab.image_problems",
    "real": "rpo_lab.real.folds",
}


# Options that change no shape, and are dear: what they are when only the shape is asked for.
SHAPELESS: dict[str, Any] = {"real": {"strata": False}}


def outline(data: DataSpec) -> DataSpec:
    """Return a data set of the same shape that is cheaper to load: a judgement changes none.

    >>> outline(DataSpec(name="real", options={"table": "exam", "strata": True})).options
    {'table': 'exam', 'strata': False}
    """
    return DataSpec(name=data.name, options={**data.options, **SHAPELESS.get(data.name, {})})


def problem(name: str) -> Callable[[Callable[..., Problem]], Callable[..., Problem]]:
    """Register a loader `(seed, **options) -> Problem`; its defaults are those of the data set."""

    def register(loader: Callable[..., Problem]) -> Callable[..., Problem]:
        PROBLEMS[name] = loader
        return loader

    return register


def get_problem(name: str) -> Callable[..., Problem]:
    """Return the loader of that name, or raise an error that lists them."""
    if name in ELSEWHERE:
        import_module(ELSEWHERE[name])
    if name not in PROBLEMS:
        known = ", ".join(sorted({*PROBLEMS, *ELSEWHERE}))
        raise InputError(f"unknown data set {name!r} for an experiment: use one of {known}")
    return PROBLEMS[name]


def load(data: DataSpec, seed: int) -> Problem:
    """Load the problem of a run; the last ones are kept, up to `KEPT_BYTES`, for runs of the same data come together.

    >>> load(DataSpec(name="confounded", options={"table": "cigar"}), seed=0).train.n_rows
    828
    """
    key = (data.name, canonical(data.options), data.judged, seed)
    if key not in _kept:
        _kept[key] = _load(data.name, canonical(data.options), seed) if data.judged is None else _judged(data, seed)
    _kept.move_to_end(key)
    while len(_kept) > 1 and sum(entry.bytes for entry in _kept.values()) > KEPT_BYTES:
        _kept.popitem(last=False)
    return _kept[key]


_kept: "OrderedDict[tuple[str, bytes, Judged | None, int], Problem]" = OrderedDict()


def _load(name: str, options: bytes, seed: int) -> Problem:
    loader = get_problem(name)
    values = json.loads(options)
    known = inspect.signature(loader).parameters
    return loader(
        seed=seed, **{key: tuple(v) if isinstance(v, list) else v for key, v in values.items() if key in known}
    )


def _judged(data: DataSpec, seed: int) -> Problem:
    from rpo_lab.runner.judged import judged  # learners that most studies do without

    assert data.judged is not None
    return judged(load(DataSpec(name=data.name, options=data.options), seed), data.judged, seed)


def same_options(source: Callable[..., Any], **more: Any) -> Callable[[Callable[..., Problem]], Callable[..., Problem]]:
    """Add to a loader's signature the options of the function that it calls, and more with their defaults."""

    def decorate(loader: Callable[..., Problem]) -> Callable[..., Problem]:
        keyword = inspect.Parameter.KEYWORD_ONLY
        own = {name: inspect.Parameter(name, keyword, default=default) for name, default in more.items()}
        options = {**inspect.signature(source).parameters, **own}
        loader.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [option.replace(kind=keyword) for option in options.values()]
        )
        return loader

    return decorate


@problem("confounded")
@same_options(make_confounded)
def confounded(**options: Any) -> Problem:
    """Make the domains of Table 1 (`rpo_lab.data.confounded.make_confounded`)."""
    parts = make_confounded(**options)
    return Problem(_data(parts.train), _data(parts.validation), {"test": _data(parts.test)})


@problem("counties")
@same_options(make_counties)
def counties(**options: Any) -> Problem:
    """Load Radon with counties as domains, some of them held out (`rpo_lab.data.places`)."""
    train, validation, test = map(_data, make_counties(**options))
    return Problem(train, validation, {"test": test})


@problem("regions")
@same_options(make_regions)
def regions(**options: Any) -> Problem:
    """Load Cigar by region, with one region held out (`rpo_lab.data.places`)."""
    train, validation, test = map(_data, make_regions(**options))
    return Problem(train, validation, {"test": test})


def _data(part: Part) -> Data:
    columns = (part.X, part.y, part.domain, part.stratum, part.weight)
    x, y, domain, stratum, weight = (torch.from_numpy(column) for column in columns)
    return make_data(x, y, domain, task="regression", stratum=stratum, weight=weight)
