"""Data sets as a run needs them: training rows, validation rows, and test domains by name."""

import inspect
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rpo.datasets.colored import ColoredDigits, colored_mnist
from rpo.datasets.confounded import Part, make_confounded
from rpo.datasets.counties import make_counties
from rpo.datasets.regions import make_regions
from rpo.engine import Data, make_data
from rpo.exceptions import InputError
from rpo.experiments.specification import DataSpec, canonical
from rpo.functional.statistics import Array


@dataclass(frozen=True)
class Problem:
    """What a run trains on, what models are chosen by, and what they are tested on."""

    train: Data
    validation: Data
    tests: Mapping[str, Data]

    @property
    def bytes(self) -> int:
        """Memory of its inputs."""
        return sum(data.x.nbytes for data in (self.train, self.validation, *self.tests.values()))


# Memory for problems that are kept: hundreds of tables, or one draw of the images, which are cheap to draw again. More,
# and joblib takes the worker for one that leaks.
KEPT_BYTES = 128 * 2**20
VALIDATION = 0.2  # share of the rows of training domains of images that models are chosen by

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
    """The problem of a run; the last ones are kept, up to `KEPT_BYTES`, for runs of the same data come together.

    >>> load(DataSpec(name="confounded", options={"table": "cigar"}), seed=0).train.n_rows
    828
    """
    key = (data.name, canonical(data.options), seed)
    if key not in _kept:
        _kept[key] = _load(*key)
    _kept.move_to_end(key)
    while len(_kept) > 1 and sum(kept.bytes for kept in _kept.values()) > KEPT_BYTES:
        _kept.popitem(last=False)
    return _kept[key]


_kept: "OrderedDict[tuple[str, bytes, int], Problem]" = OrderedDict()


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


@problem("counties")
@_same_options(make_counties)
def counties(**options: Any) -> Problem:
    """Radon, a domain a county, some counties held out (`rpo.datasets.counties`)."""
    train, validation, test = map(_data, make_counties(**options))
    return Problem(train, validation, {"test": test})


@problem("regions")
@_same_options(make_regions)
def regions(**options: Any) -> Problem:
    """Cigar by region, one region held out (`rpo.datasets.regions`)."""
    train, validation, test = map(_data, make_regions(**options))
    return Problem(train, validation, {"test": test})


@problem("colored")
@_same_options(colored_mnist)
def colored(**options: Any) -> Problem:
    """Colored-MNIST (`rpo.datasets.colored_mnist`), strata by digit; a fifth of the training rows is for validation."""
    drawn = colored_mnist(**options)
    return _coloured(drawn, np.ones(len(drawn.y)), options["seed"])


@problem("digits")
def digits(
    *,
    bad_share: float = 0.0,
    flip: float = 0.25,
    keep: float = 1.0,
    flip_after_colouring: bool = True,
    colours: str = "all",
    known_noise: bool = False,
    seed: int = 0,
) -> Problem:
    """scikit-learn's digits, coloured, labels flipped in a share of the cells (domain, digit), wherever they fall.

    `colours="chance"` draws colours by chance, so that nothing is spurious; with `known_noise` training rows weigh
    (1 − 2 flip)² in the bad cells, which nobody knows of real data.
    """
    if colours not in ("all", "chance"):
        raise InputError(f"colours is {colours!r}: use 'all' or 'chance'")
    chance = {"colour_flip": (0.5, 0.5, 0.5), "test_colour_flip": 0.5} if colours == "chance" else {}
    drawn = colored_mnist(
        digits="sklearn",
        bad_share=bad_share,
        flip=flip,
        keep=keep,
        flip_after_colouring=flip_after_colouring,
        seed=seed,
        **chance,  # type: ignore[arg-type]
    )
    bad = np.array([cell in drawn.setting.cells for cell in zip(drawn.domain, drawn.digit, strict=True)])
    return _coloured(drawn, np.where(bad & known_noise, (1 - 2 * flip) ** 2, 1.0), seed)


def _coloured(drawn: ColoredDigits, weight: Array, seed: int) -> Problem:
    mixed = np.random.default_rng([seed, 8]).permutation(drawn.train)
    cut = round(VALIDATION * len(mixed))

    def part(rows: np.ndarray[Any, Any], domain: np.ndarray[Any, Any]) -> Data:
        columns = (drawn.x(rows), drawn.y[rows].astype(np.float32), domain, drawn.digit[rows].astype(np.int64))
        x, y, domains, stratum = map(torch.from_numpy, columns)
        return make_data(x, y, domains, task="binary", stratum=stratum, weight=torch.from_numpy(weight[rows]))

    validation, train = (np.sort(rows) for rows in (mixed[:cut], mixed[cut:]))
    return Problem(
        part(train, drawn.domain[train].astype(np.int64)),
        part(validation, drawn.domain[validation].astype(np.int64)),
        {"test": part(drawn.test, np.zeros(len(drawn.test), dtype=np.int64))},
    )


def _data(part: Part) -> Data:
    columns = (part.X, part.y, part.domain, part.stratum, part.weight)
    x, y, domain, stratum, weight = (torch.from_numpy(column) for column in columns)
    return make_data(x, y, domain, task="regression", stratum=stratum, weight=weight)
