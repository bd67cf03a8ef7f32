"""A fitted network as a folder: numbers in `weights.safetensors`, everything else in `model.json`, checksums in
`manifest.json`; no pickle anywhere."""

import math
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load as load_arrays
from sklearn.utils.validation import check_is_fitted
from torch import nn

from rpo._io import words_of
from rpo._networks.array_inputs import is_widths
from rpo._networks.base import DomainEstimator
from rpo._networks.domain_estimators import DomainClassifier, DomainRegressor
from rpo._networks.fitted_penalties import fitted_penalties
from rpo._networks.rpo_estimators import RPOClassifier, RPORegressor
from rpo._saving.card import (
    CARD,
    FORMAT,
    WEIGHTS,
    WRONG,
    add_prefix,
    check_complete,
    check_outputs,
    decode_frame,
    decode_value,
    encode_frame,
    encode_labels,
    encode_value,
    make_files,
    read_card,
    restore_labels,
    select_prefix,
)
from rpo.exceptions import InputError
from rpo.methods import methods

CLASSES = {kind.__name__: kind for kind in (RPORegressor, RPOClassifier, DomainRegressor, DomainClassifier)}
NEEDED = ("format", "module", "parameters", "fitted", "labels")
ARRAYS = ("x_mean_", "x_scale_", "loss_curve_")
PREFIXES = {"weights": "params_", "state": "state_"}
SCALARS = ("y_mean_", "y_scale_", "task_", "dtype_", "n_features_in_")
LABELS = ("classes_", "domains_", "strata_", "feature_names_in_")
MOST_LAYERS = 100
DTYPES = ("float32", "float64")


def encode_network(model: DomainEstimator) -> dict[str, bytes]:
    """Return the content of each file of a fitted network by its name."""
    check_is_fitted(model, "params_")
    try:
        _check(model)
    except WRONG as error:
        raise InputError(
            f"the parameters have changed since the fit ({words_of(error)}): fit the model again"
        ) from None
    card: dict[str, Any] = {
        "format": FORMAT,
        "class": type(model).__name__,
        "module": None if model.module is None else type(model.module).__name__,
        "parameters": {name: encode_value(name, v) for name, v in model.get_params().items() if name != "module"},
        "fitted": {name: getattr(model, name) for name in SCALARS if hasattr(model, name)},
        "labels": encode_labels(model, LABELS),
        "versions": {name: version(name) for name in ("rpo", "torch", "numpy", "scikit-learn")},
    }
    if hasattr(model, "quality_"):
        card |= {"scheme": model.penalties_.scheme, "quality": encode_frame(model.quality_)}
    arrays = {name: np.asarray(getattr(model, name)) for name in ARRAYS}
    for prefix, attribute in PREFIXES.items():
        arrays |= add_prefix(prefix, getattr(model, attribute))
    return make_files(card, arrays)


def decode_network(
    files: Mapping[str, bytes], folder: Path, *, module: nn.Module | Callable[..., nn.Module] | None = None
) -> Any:
    """Return the network that files hold, once everything about it was checked; `folder` is where they come from."""
    card = read_card(files[CARD], folder, NEEDED)
    if card["module"] and module is None:
        raise InputError(f"{folder} was fitted with your own network: pass it to load(path, module=…)")
    kind = CLASSES.get(card["class"])
    if kind is None:
        raise InputError(f"{folder} contains a {str(card['class'])[:40]!r}, which is not one of {', '.join(CLASSES)}")
    _check_known(card["parameters"], folder)
    with check_complete(folder):
        parameters: dict[str, Any] = {name: decode_value(value) for name, value in card["parameters"].items()}
        model = kind(**{**parameters, "module": module if card["module"] else None})
        _restore(model, card, load_arrays(files[WEIGHTS]))
        _check(model)
    return model


def _check_known(parameters: Any, folder: Path) -> None:
    """Refuse a method from outside whose code is not here: it is not in the folder."""
    name = parameters.get("method") if isinstance(parameters, dict) else None
    if isinstance(name, str) and name not in {method.name for method in methods()}:
        raise InputError(
            f"{folder} was fitted by method {name[:40]!r}, which is not registered: "
            "install its package, or import its module first (--plugin)"
        )


def _restore(model: DomainEstimator, card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    for name in ARRAYS:
        setattr(model, name, arrays[name])
    for name, value in card["fitted"].items():
        if name in SCALARS:
            setattr(model, name, value)
    restore_labels(model, card["labels"], LABELS)
    for prefix, attribute in PREFIXES.items():
        setattr(model, attribute, select_prefix(prefix, arrays))
    if "quality" in card:
        model.quality_ = decode_frame(card["quality"])
        model.penalties_ = fitted_penalties(model.quality_, model.state_, model.domains_, str(card["scheme"]))


def _check(model: DomainEstimator) -> None:
    """Check that what was read fits together: scales and weights are those of the inputs and of the network."""
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
    _check_numbers(model, inputs)
    method, _ = model._method()
    if model.module is not None:
        return  # a network of the user's own: its first call checks
    with torch.device("meta"):  # shapes alone: no memory is taken for a network that only the card knows
        net = model._net(method, (inputs,))
    shapes = {name: tuple(value.shape) for name, value in model.params_.items()}
    if shapes != {name: tuple(shape) for name, shape in net.shapes.items()}:
        raise ValueError("the parameters do not fit the network in model.json")
    outputs = model._forward(np.zeros((1, inputs)) + model.x_mean_)
    check_outputs(outputs.detach().numpy(), (1, classes if model.task_ == "multiclass" else 1))


def _check_numbers(model: DomainEstimator, inputs: int) -> None:
    scales = {"x_mean_": model.x_mean_, "x_scale_": model.x_scale_}
    for name, values in scales.items():
        if values.shape not in ((1,), (inputs,)):
            raise ValueError(f"{name} has the wrong shape")
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
