"""Photos as a run needs them: features of a frozen backbone for an MLP, or pixels for a network of convolutions."""

import inspect
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from rpo.engine import Data, make_data
from rpo.exceptions import InputError
from rpo_lab.data.nico import nico
from rpo_lab.data.photos import photos
from rpo_lab.data.tying import Photos
from rpo_lab.features import extract
from rpo_lab.runner.problems import Problem, problem

Inputs = Literal["features", "pixels"]


def _options(source: Callable[..., Photos], **more: Any) -> Callable[[Callable[..., Problem]], Callable[..., Problem]]:
    """Give a loader the options of the data set it draws from, and more."""

    def decorate(loader: Callable[..., Problem]) -> Callable[..., Problem]:
        known = inspect.signature(source).parameters | {
            name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in more.items()
        }
        given = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in known.values()]
        loader.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
        return loader

    return decorate


@problem("photos")
@_options(photos, inputs="features", backbone="lite0", size=32)
def photo_problem(*, inputs: Inputs, backbone: str, size: int, **options: Any) -> Problem:
    """The stand-in for NICO (`rpo_lab.data.photos`)."""
    return as_problem(photos(**options), inputs, backbone, size)


@problem("nico")
@_options(nico, root="", inputs="features", backbone="lite0", size=32)
def nico_problem(*, root: str, inputs: Inputs, backbone: str, size: int, **options: Any) -> Problem:
    """NICO from a folder (`rpo_lab.data.nico`)."""
    return as_problem(nico(root, **options), inputs, backbone, size)


def as_problem(data: Photos, inputs: Inputs, backbone: str, size: int) -> Problem:
    """Strata are kind × context. Tests: the test domain; `home`, the validation rows under their true labels."""
    train = data.rows("train")
    if inputs == "features":
        x = extract(data.album, data.picture, backbone=backbone, progress=False)
        x = (x - x[train].mean(axis=0)) / (x[train].std(axis=0) + 1e-6)
    elif inputs == "pixels":
        pixels = data.album.pixels(data.picture, size)
        x = pixels.transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
    else:
        raise InputError(f"inputs must be 'features' or 'pixels', got {inputs!r}")
    stratum = data.stratum
    home = data.rows("validation")
    tests = {name: data.rows(name) for name in ("test", "balanced")}

    def part(rows: NDArray[np.intp], y: NDArray[np.int8], domain: NDArray[Any]) -> Data:
        columns = (x[rows], y[rows].astype(np.float32), domain.astype(np.int64), stratum[rows])
        inputs, label, domains, strata = map(torch.from_numpy, columns)
        return make_data(inputs, label, domains, task="binary", stratum=strata)

    return Problem(
        part(train, data.y, data.domain[train]),
        part(home, data.y, data.domain[home]),
        {
            name: part(rows, data.true_y, np.zeros(len(rows)))
            for name, rows in {**tests, "home": home}.items()
            if len(rows)
        },
    )
