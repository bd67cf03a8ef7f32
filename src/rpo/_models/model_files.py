"""A fitted Quality model as a folder: `model.json` to read, numbers in `weights.safetensors`, checksums in
`manifest.json`; a network in two files of its own. No pickle: nothing in a folder names code."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from sklearn.utils.validation import check_is_fitted

from rpo._io import words_of
from rpo._learners.stack import Stack, outputs
from rpo._models.adapting import Adaptation
from rpo._models.quality_estimators import QualityClassifier, QualityRegressor
from rpo._models.reference import arrays_of, read_reference
from rpo._saving.card import (
    LIMITS,
    WRONG,
    card_bytes,
    check_format,
    column,
    is_float,
    plain,
    read_card,
    read_column,
    read_labels,
    read_table,
    table,
    versions,
)
from rpo._saving.folders import read_folder, write_folder
from rpo._saving.packing import packed, under, unpacked, within
from rpo._table.columns import Column, check_columns, names_of
from rpo.exceptions import InputError

FORMAT = 2  # 2: what held-out domains showed, for intervals, checks and adapting
CLASSES: dict[str, Any] = {kind.__name__: kind for kind in (QualityRegressor, QualityClassifier)}
LABELS = ("domains_", "classes_", "feature_names_in_")
TABLES = ("decision_", "expected_error_", "dropped_")
REFERENCE, ADAPTATION = "reference", "adaptation"
NETWORK = "network"
NETWORK_FILES = {"network.json": "model.json", "network.safetensors": "weights.safetensors"}

Quality = QualityRegressor | QualityClassifier


def save(model: Quality, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a new folder, or over one with a saved model and nothing else; whole or not at all."""
    write_folder(path, files_of(model))


def load(path: str | os.PathLike[str], *, module: Any = None, made_by: str = "save") -> Any:
    """Load a model that was saved by `save` or by `rpo fit`; no code from the folder is run.

    Parameters
    ----------
    path : path
        The folder.
    module : nn.Module, callable or None
        Your own network, if the model was fitted with one.
    made_by : str
        What wrote the folder, for error messages.

    Returns
    -------
    estimator
        The fitted model; its predictions are the same as before saving.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, rpo
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = rpo.QualityRegressor("linear").fit(X, X[:, 0], domains=np.arange(60) % 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder + "/model")
    ...     bool((rpo.load(folder + "/model").predict(X) == model.predict(X)).all())
    True
    """
    folder = Path(path)
    card = read_card(read_folder(folder, LIMITS, made_by=made_by)["model.json"], folder)
    if card["class"] in CLASSES:
        return from_folder(folder, made_by=made_by)
    from rpo._networks import load as load_network

    return load_network(folder, module=module)


def from_folder(folder: Path, *, made_by: str = "save") -> Quality:
    """The Quality model in a folder, once everything about it was checked."""
    files = read_folder(folder, LIMITS, made_by=made_by)
    card = read_card(files["model.json"], folder)
    check_format(card, FORMAT, folder)
    try:
        network = None
        if any(part["kind"] == NETWORK for part in card["parts"]):
            network = _network(folder, made_by)
        return _restored(card, load_arrays(files["weights.safetensors"]), network)
    except InputError:
        raise
    except WRONG as error:
        raise InputError(f"{folder} is not a complete model ({words_of(error)}): save it again") from None


def files_of(model: Quality) -> dict[str, bytes]:
    """What a saved model consists of: the content of each file by its name."""
    check_is_fitted(model, "estimator_")
    if not isinstance(model.estimator, str):
        raise InputError(
            f"a {type(model.estimator).__name__} cannot be saved without pickle: use a named estimator "
            "(auto, linear, trees, network or a method), or pickle the model"
        )
    arrays: dict[str, NDArray[Any]] = {"kept": np.asarray(model.kept_, dtype=np.int64)}
    arrays |= under(REFERENCE, arrays_of(model.reference_))
    if model.adaptation_ is not None:
        arrays |= under(ADAPTATION, model.adaptation_.arrays())
    files, parts = dict[str, bytes](), []
    for place, (name, part) in enumerate(_parts(model).items()):
        if hasattr(part, "params_"):  # a network
            from rpo._networks.network_files import files_of as network_files

            made = network_files(part)
            files |= {ours: made[theirs] for ours, theirs in NETWORK_FILES.items()}
            kind = NETWORK
        else:
            kind, numbers = packed(part)
            arrays |= under(str(place), numbers)
        parts.append({"name": name, "kind": kind, "share": model.shares_[name]})
    card = {
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": {name: _parameter(name, value) for name, value in model.get_params(deep=False).items()},
        "columns": [one.model_dump() for one in model.columns_],
        "left_out": model.left_out_,
        "not_features": list(model.not_features_),
        "n_features_in": model.n_features_in_,
        "candidate": model.candidate_,
        "weighted": model.weighted_,
        "parts": parts,
        "labels": {name: column(name, getattr(model, name)) for name in LABELS if hasattr(model, name)},
        "tables": {name: table(getattr(model, name)) for name in TABLES},
        "versions": versions("rpo", "numpy", "scikit-learn"),
    }
    files["model.json"] = card_bytes(card)
    files["weights.safetensors"] = save_arrays({name: np.array(values, order="C") for name, values in arrays.items()})
    return files


def _parts(model: Quality) -> Mapping[str, Any]:
    """The learners that make up a model, by name."""
    if isinstance(model.estimator_, Stack):
        return model.estimator_.parts
    return {next(iter(model.shares_)): model.estimator_}


def _parameter(name: str, value: Any) -> Any:
    if name == "class_weight" and isinstance(value, Mapping):  # classes need not be text, as JSON's names are
        return [column(name, np.array(list(value))), [float(one) for one in value.values()]]
    return plain(name, value)


def _read_parameter(name: str, value: Any) -> Any:
    if name == "class_weight" and isinstance(value, list):
        return dict(zip(read_column(value[0]).tolist(), value[1], strict=True))
    return float(value["float"]) if is_float(value) else value


def _network(folder: Path, made_by: str) -> Any:
    from rpo._networks.network_files import from_files

    limits = {ours: LIMITS[theirs] for ours, theirs in NETWORK_FILES.items()}
    files = read_folder(folder, limits, made_by=made_by)
    return from_files({theirs: files[ours] for ours, theirs in NETWORK_FILES.items()}, folder)


def _restored(card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], network: Any) -> Quality:
    model: Quality = CLASSES[card["class"]](
        **{name: _read_parameter(name, value) for name, value in card["parameters"].items()}
    )
    model.columns_ = tuple(Column.model_validate(one) for one in card["columns"])
    check_columns(model.columns_)
    model.left_out_ = {str(name): str(reason) for name, reason in card["left_out"].items()}
    model.not_features_ = tuple(map(str, card["not_features"]))
    model.n_features_in_ = int(card["n_features_in"])
    model.candidate_, model.weighted_ = str(card["candidate"]), bool(card["weighted"])
    for name, saved in card["labels"].items():
        if name in LABELS:
            setattr(model, name, read_labels(name, saved))
    for name in TABLES:
        setattr(model, name, read_table(card["tables"][name]))
    names = names_of(model.columns_)[0]
    model.features_ = np.asarray(names, dtype=object)
    kept = np.asarray(arrays["kept"])
    if kept.dtype != np.int64 or kept.ndim != 1 or (np.diff(kept) <= 0).any():
        raise ValueError("the kept features are not valid")
    if len(kept) == 0 or kept[0] < 0 or kept[-1] >= len(names):
        raise ValueError("the kept features do not match the columns")
    model.kept_ = kept.astype(np.intp)
    classes = len(getattr(model, "classes_", ()))
    if (classes >= 2) != isinstance(model, QualityClassifier) or len(np.unique(model.domains_.astype(str))) == 0:
        raise ValueError("the classes or domains are not valid")
    parts, shares = {}, {}
    for place, part in enumerate(card["parts"]):
        found = network if part["kind"] == NETWORK else unpacked(part["kind"], within(str(place), arrays), len(kept))
        parts[str(part["name"])], shares[str(part["name"])] = found, float(part["share"])
    if not parts or not all(0 <= share <= 1 for share in shares.values()):
        raise ValueError("the learners or their shares are not valid")
    model.shares_ = shares
    model.estimator_ = Stack(parts, shares, classes) if model.estimator == "auto" else next(iter(parts.values()))
    model.quality_ = None
    model.reference_ = read_reference(
        within(REFERENCE, arrays), domains=len(model.domains_), columns=len(names), inputs=len(kept), classes=classes
    )
    moved = within(ADAPTATION, arrays)
    model.adaptation_ = Adaptation.read(moved, classes) if moved else None
    _try(model)
    return model


def _try(model: Quality) -> None:
    """One prediction, so that whatever is wrong shows now."""
    classes = len(getattr(model, "classes_", ()))
    row = np.zeros((1, len(model.kept_)))
    value = (
        model.estimator_.outputs(row)
        if isinstance(model.estimator_, Stack)
        else outputs(model.estimator_, row, classes)
    )
    if value.shape != ((1, classes) if classes else (1,)) or not np.isfinite(value).all():
        raise ValueError("the predictions are not finite numbers")
