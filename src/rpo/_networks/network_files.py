"""A fitted model as a folder: numbers in `weights.safetensors`, everything else in `model.json`, checksums in
`manifest.json`; no pickle anywhere."""

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from torch import nn

from rpo._io import words_of
from rpo._networks.array_inputs import is_widths
from rpo._networks.base import DomainEstimator
from rpo._networks.domain_estimators import DomainClassifier, DomainRegressor
from rpo._networks.fitted_penalties import fitted_penalties
from rpo._networks.rpo_estimators import RPOClassifier, RPORegressor
from rpo._saving.card import (
    LIMITS,
    WRONG,
    card_bytes,
    check_format,
    column,
    is_float,
    plain,
    read_card,
    read_labels,
    read_table,
    table,
    versions,
)
from rpo._saving.folders import read_folder, write_folder
from rpo.exceptions import InputError
from rpo.methods import methods

FORMAT = 2
CLASSES = {kind.__name__: kind for kind in (RPORegressor, RPOClassifier, DomainRegressor, DomainClassifier)}
ARRAYS = ("x_mean_", "x_scale_", "loss_curve_")
SCALARS = ("y_mean_", "y_scale_", "task_", "dtype_", "n_features_in_")
LABELS = ("classes_", "domains_", "strata_", "feature_names_in_")
MOST_LAYERS = 100
DTYPES = ("float32", "float64")


def save(model: DomainEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a new folder, or over one with a saved model and nothing else; whole or not at all."""
    write_folder(path, files_of(model))


def files_of(model: DomainEstimator) -> dict[str, bytes]:
    """What a saved model consists of: the content of each file by its name."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "params_")
    try:
        _check(model)
    except WRONG as error:
        raise InputError(
            f"the parameters have changed since the fit ({words_of(error)}): fit the model again"
        ) from None
    return {"model.json": card_bytes(_card(model)), "weights.safetensors": save_arrays(_arrays(model))}


def load(path: str | os.PathLike[str], *, module: nn.Module | Callable[..., nn.Module] | None = None) -> Any:
    """The model saved in a folder; `module` again if it was fitted with a network of your own.

    >>> import numpy as np, rpo, tempfile
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = rpo.DomainRegressor(steps=20).fit(X, X[:, 0], domains=np.arange(40) % 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder + "/model")
    ...     bool((rpo.load(folder + "/model").predict(X) == model.predict(X)).all())
    True
    """
    return from_files(read_folder(path, LIMITS), Path(path), module=module)


def from_files(
    files: Mapping[str, bytes], folder: Path, *, module: nn.Module | Callable[..., nn.Module] | None = None
) -> Any:
    """The model that some files hold, once everything about it was checked; `folder` is where they come from."""
    card = _read_card(files["model.json"], folder)
    if card["module"] and module is None:
        raise InputError(f"{folder} was fitted with your own network: pass it to load(path, module=…)")
    kind = CLASSES.get(card["class"])
    if kind is None:
        raise InputError(f"{folder} contains a {str(card['class'])[:40]!r}, which is not one of {', '.join(CLASSES)}")
    _check_known(card["parameters"], folder)
    try:
        given = {n: float(v["float"]) if is_float(v) else v for n, v in card["parameters"].items()}
        parameters: dict[str, Any] = {**given, "module": module if card["module"] else None}
        model = kind(**parameters)
        _restore(model, card, load_arrays(files["weights.safetensors"]))
        _check(model)
    except WRONG as error:
        raise InputError(f"{folder} is not a complete model ({words_of(error)}): save it again") from None
    return model


def _check_known(parameters: Any, folder: Path) -> None:
    """A method from outside is not in the folder: its code must be here."""
    name = parameters.get("method") if isinstance(parameters, dict) else None
    if isinstance(name, str) and name not in {method.name for method in methods()}:
        raise InputError(
            f"{folder} was fitted by method {name[:40]!r}, which is not registered: "
            "install its package, or import its module first (--plugin)"
        )


def _card(model: DomainEstimator) -> dict[str, Any]:
    parameters = {name: plain(name, value) for name, value in model.get_params().items() if name != "module"}
    card: dict[str, Any] = {
        "format": FORMAT,
        "class": type(model).__name__,
        "module": None if model.module is None else type(model.module).__name__,
        "parameters": parameters,
        "fitted": {name: getattr(model, name) for name in SCALARS if hasattr(model, name)},
        "labels": {name: column(name, getattr(model, name)) for name in LABELS if hasattr(model, name)},
        "versions": versions("rpo", "torch", "numpy", "scikit-learn"),
    }
    if hasattr(model, "quality_"):
        card["scheme"] = model.penalties_.scheme
        card["quality"] = table(model.quality_)
    return card


def _arrays(model: DomainEstimator) -> dict[str, NDArray[Any]]:
    named = {name: np.asarray(getattr(model, name)) for name in ARRAYS}
    named |= {f"weights/{name}": value for name, value in model.params_.items()}
    named |= {f"state/{name}": value for name, value in model.state_.items()}
    return {name: value.copy(order="C") for name, value in named.items()}


def _read_card(content: bytes, folder: Path) -> dict[str, Any]:
    card = read_card(content, folder, ("format", "module", "parameters", "fitted", "labels"))
    check_format(card, FORMAT, folder)
    return card


def _restore(model: DomainEstimator, card: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    for name in ARRAYS:
        setattr(model, name, arrays[name])
    for name, value in card["fitted"].items():
        if name in SCALARS:
            setattr(model, name, value)
    for name, saved in card["labels"].items():
        if name in LABELS:
            setattr(model, name, read_labels(name, saved))
    for prefix, attribute in (("weights/", "params_"), ("state/", "state_")):
        found = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        setattr(model, attribute, found)
    if "quality" in card:
        model.quality_ = read_table(card["quality"])
        model.penalties_ = fitted_penalties(model.quality_, model.state_, model.domains_, str(card["scheme"]))


def _check(model: DomainEstimator) -> None:
    """What was read must fit together: scales and weights are those of the inputs and the network in the card."""
    inputs = model.n_features_in_
    if type(inputs) is not int or inputs < 1 or not is_widths(model.hidden) or len(model.hidden) > MOST_LAYERS:
        raise ValueError("the numbers of inputs or layers are not valid")
    if model.dtype_ not in DTYPES:
        raise ValueError("unknown precision")
    classes = len(getattr(model, "classes_", ()))
    if classes != {"regression": 0, "binary": 2}.get(model.task_, max(classes, 3)):
        raise ValueError(f"{classes} classes do not fit a {model.task_} model")
    if len(getattr(model, "feature_names_in_", range(inputs))) != inputs:
        raise ValueError("the numbers of inputs and of their names differ")
    for name in ("x_mean_", "x_scale_"):
        if getattr(model, name).shape not in ((1,), (inputs,)):
            raise ValueError(f"{name} has the wrong shape")
    scales = {"x_mean_": model.x_mean_, "x_scale_": model.x_scale_}
    for name, values in sorted((scales | model.params_).items()):  # a file gives its arrays in any order
        if values.dtype.kind != "f" or (name in model.params_ and values.dtype != model.dtype_):
            raise ValueError(f"{name} has type {values.dtype}")
        if not np.isfinite(values).all():
            raise ValueError(f"{name} is not finite")
    if (model.x_scale_ == 0).any():
        raise ValueError("x_scale_ is zero")
    for name in ("y_mean_", "y_scale_") if model.task_ == "regression" else ():
        value = getattr(model, name)
        if type(value) not in (int, float) or not math.isfinite(value):
            raise ValueError(f"{name} is not finite")
    method, _ = model._method()
    if model.module is not None:
        return  # a network of the user's own: its first call checks
    with torch.device("meta"):  # shapes alone: no memory is taken for a network that only the card knows
        net = model._net(method, (inputs,))
    found = {name: tuple(value.shape) for name, value in model.params_.items()}
    if found != {name: tuple(shape) for name, shape in net.shapes.items()}:
        raise ValueError("the parameters do not fit the network in model.json")
    guess = model._forward(np.zeros((1, inputs)) + model.x_mean_)  # whatever else is wrong shows now
    if guess.shape != (1, classes if model.task_ == "multiclass" else 1):
        raise ValueError("the predictions do not fit the classes")


__all__ = ["files_of", "from_files", "load", "save"]
