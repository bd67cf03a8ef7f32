"""A fitted model as a folder: numbers in `weights.safetensors`, everything else in `model.json`; no pickle anywhere."""

import json
import os
import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from torch import nn

from rpo.estimators.base import DomainEstimator
from rpo.estimators.domain import DomainClassifier, DomainRegressor
from rpo.estimators.quality import fitted_penalties
from rpo.estimators.rpo import RPOClassifier, RPORegressor
from rpo.exceptions import InputError

FORMAT = 1
CLASSES = {kind.__name__: kind for kind in (RPORegressor, RPOClassifier, DomainRegressor, DomainClassifier)}
ARRAYS = ("x_mean_", "x_scale_", "loss_curve_")
SCALARS = ("y_mean_", "y_scale_", "task_", "dtype_", "n_features_in_")
LABELS = ("classes_", "domains_", "strata_", "feature_names_in_")
LABEL_KINDS = "biufUO"


def save(model: DomainEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a new folder, or over a folder that holds one; whole or not at all."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "weights_")
    target = Path(path)
    if target.exists() and not (target / "model.json").is_file():
        raise InputError(f"{target} exists and is not a saved model: choose another path")
    target.parent.mkdir(parents=True, exist_ok=True)
    card = json.dumps(_card(model), indent=2, ensure_ascii=False, allow_nan=False)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        try:
            save_file(_arrays(model), new / "weights.safetensors")
        except SafetensorError as error:
            raise OSError(f"cannot write {target}: {error}") from None
        (new / "model.json").write_text(card, encoding="utf-8")
        if target.exists():
            target.rename(Path(scratch) / "old")
        new.rename(target)


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
    folder = Path(path)
    card = _read_card(folder)
    if card["module"] and module is None:
        raise InputError(f"{folder} was fitted with a network of its own: give it again, load(path, module=…)")
    kind = CLASSES.get(card["class"])
    if kind is None:
        raise InputError(f"{folder} holds a {card['class']!r}, which is none of {', '.join(CLASSES)}")
    try:
        parameters: dict[str, Any] = {**card["parameters"], "module": module if card["module"] else None}
        model = kind(**parameters)
        _restore(model, card, _read_arrays(folder))
        _check_shapes(model, folder)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{folder} is not a whole model ({' '.join(str(error).split())}): save it again") from None
    return model


def _card(model: DomainEstimator) -> dict[str, Any]:
    parameters = {name: _plain(name, value) for name, value in model.get_params().items() if name != "module"}
    card: dict[str, Any] = {
        "format": FORMAT,
        "class": type(model).__name__,
        "module": None if model.module is None else type(model.module).__name__,
        "parameters": parameters,
        "fitted": {name: getattr(model, name) for name in SCALARS if hasattr(model, name)},
        "labels": {name: _labels(name, getattr(model, name)) for name in LABELS if hasattr(model, name)},
        "versions": _versions(),
    }
    if hasattr(model, "quality_"):
        card["scheme"] = model.penalties_.scheme
        card["quality"] = json.loads(model.quality_.to_json(orient="split", double_precision=15))
    return card


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, tuple):
        return list(value)
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return value
    raise InputError(f"parameter {name} is a {type(value).__name__}, which JSON cannot hold: use a plain value")


def _labels(name: str, values: NDArray[Any]) -> dict[str, Any]:
    if values.dtype.kind not in LABEL_KINDS:
        raise InputError(f"{name} holds {values.dtype}, which JSON cannot: turn them into text before fitting")
    return {"dtype": values.dtype.str, "values": [_plain(name, value) for value in values.tolist()]}


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("rpo", "torch", "numpy", "scikit-learn")}


def _arrays(model: DomainEstimator) -> dict[str, NDArray[Any]]:
    named = {name: np.asarray(getattr(model, name)) for name in ARRAYS}
    named |= {f"weights/{name}": value for name, value in model.weights_.items()}
    named |= {f"state/{name}": value for name, value in model.state_.items()}
    return {name: value.copy(order="C") for name, value in named.items()}


def _read_card(folder: Path) -> dict[str, Any]:
    try:
        card = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder} holds no model.json: give a folder that `save` wrote") from None
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"{folder / 'model.json'} cannot be read ({error}): save the model again") from None
    needed = {"format", "class", "module", "parameters", "fitted", "labels"}
    if not isinstance(card, dict) or not needed <= set(card):
        raise InputError(f"{folder / 'model.json'} is not the card of a model: save the model again")
    if card["format"] != FORMAT:
        raise InputError(
            f"{folder} is of format {card['format']!r}, this version reads {FORMAT}: use a matching version"
        )
    return card


def _read_arrays(folder: Path) -> dict[str, NDArray[Any]]:
    try:
        with safe_open(folder / "weights.safetensors", framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise InputError(f"{folder} holds no weights.safetensors: save the model again") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{folder / 'weights.safetensors'} cannot be read ({error}): save the model again") from None


def _restore(model: DomainEstimator, card: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    for name in ARRAYS:
        setattr(model, name, arrays[name])
    for name, value in card["fitted"].items():
        if name in SCALARS:
            setattr(model, name, value)
    for name, saved in card["labels"].items():
        if name in LABELS and np.dtype(saved["dtype"]).kind in LABEL_KINDS:
            setattr(model, name, np.array(saved["values"], dtype=np.dtype(saved["dtype"])))
    for prefix in ("weights", "state"):
        found = {name.removeprefix(f"{prefix}/"): a for name, a in arrays.items() if name.startswith(f"{prefix}/")}
        setattr(model, f"{prefix}_", found)
    if "quality" in card:
        model.quality_ = pd.read_json(StringIO(json.dumps(card["quality"])), orient="split", precise_float=True)
        model.penalties_ = fitted_penalties(model.quality_, model.state_, model.domains_, str(card["scheme"]))


def _check_shapes(model: DomainEstimator, folder: Path) -> None:
    """The weights must be those of the network that the card describes."""
    method, _ = model._method()
    if model.module is not None:
        return  # a network of the user's own: its first call checks
    net = model._net(method, (int(model.n_features_in_),))
    found = {name: tuple(value.shape) for name, value in model.weights_.items()}
    wanted = {name: tuple(shape) for name, shape in net.shapes.items()}
    if found != wanted:
        raise InputError(f"the weights in {folder} are not those of the network in its card: save the model again")


__all__ = ["load", "save"]
