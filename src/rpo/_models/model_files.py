"""A fitted Quality model as a folder: `model.json` to read, numbers in `weights.safetensors`, checksums in
`manifest.json`; a network in two files of its own. No pickle: nothing in a folder names code."""

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_arrays
from sklearn.utils.validation import check_is_fitted

from rpo._learners.stacking import Stack
from rpo._models.adapting import Adaptation
from rpo._models.quality_estimators import QualityClassifier, QualityRegressor
from rpo._models.reference import arrays_of, read_reference
from rpo._public import public
from rpo._saving.card import (
    CARD,
    FORMAT,
    LIMITS,
    WEIGHTS,
    Arrays,
    add_prefix,
    check_complete,
    check_outputs,
    decode_column,
    decode_frame,
    decode_value,
    encode_column,
    encode_frame,
    encode_labels,
    encode_value,
    make_files,
    read_card,
    read_columns,
    restore_labels,
    select_prefix,
)
from rpo._saving.folders import read_folder
from rpo._saving.registry import decode, encode, unknown_class
from rpo._table.columns import check_columns, names_of

CLASSES: dict[str, Any] = {kind.__name__: kind for kind in (QualityRegressor, QualityClassifier)}
LABELS = ("domains_", "classes_", "feature_names_in_")
FRAMES = ("decision_", "expected_error_", "dropped_")
REFERENCE, ADAPTATION = "reference", "adaptation"
NETWORK = "network"
NETWORK_FILES = {"network.json": CARD, "network.safetensors": WEIGHTS}

Quality = QualityRegressor | QualityClassifier


@public
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
    return decode_model(read_folder(path, LIMITS, made_by=made_by), Path(path), module=module, made_by=made_by)


def encode_model(model: Any) -> dict[str, bytes]:
    """Return the content of each file of a fitted model by its name."""
    if not isinstance(model, Quality):
        from rpo._networks.network_files import encode_network

        return encode_network(model)
    check_is_fitted(model, "estimator_")
    if not isinstance(model.estimator, str):
        raise unknown_class(model.estimator)
    parts, arrays, files = _encode_learners(model)
    arrays |= {"kept": np.asarray(model.kept_, dtype=np.int64), **add_prefix(REFERENCE, arrays_of(model.reference_))}
    if model.adaptation_ is not None:
        arrays |= add_prefix(ADAPTATION, model.adaptation_.arrays())
    card = {
        "format": FORMAT,
        "class": type(model).__name__,
        "parameters": {name: _encode_parameter(name, value) for name, value in model.get_params(deep=False).items()},
        "columns": [column.model_dump() for column in model.columns_],
        "left_out": model.left_out_,
        "not_features": list(model.not_features_),
        "n_features_in": model.n_features_in_,
        "candidate": model.candidate_,
        "weighted": model.weighted_,
        "parts": parts,
        "labels": encode_labels(model, LABELS),
        "tables": {name: encode_frame(getattr(model, name)) for name in FRAMES},
        "versions": {name: version(name) for name in ("rpo", "numpy", "scikit-learn")},
    }
    return {**files, **make_files(card, arrays)}


def decode_model(files: Mapping[str, bytes], folder: Path, *, module: Any = None, made_by: str = "save") -> Any:
    """Return the model that files hold, once everything about it was checked.

    `folder` is where they come from; the files of a network within the model are read from there.
    """
    card = read_card(files[CARD], folder)
    if card["class"] not in CLASSES:
        from rpo._networks.network_files import decode_network

        return decode_network(files, folder, module=module)
    with check_complete(folder):
        has_network = any(part["kind"] == NETWORK for part in card["parts"])
    network = _read_network(folder, made_by) if has_network else None
    with check_complete(folder):
        return _restore(card, load_arrays(files[WEIGHTS]), network)


def _encode_learners(model: Quality) -> tuple[list[dict[str, Any]], Arrays, dict[str, bytes]]:
    """Return what the card says of the learners of a model, their arrays, and the files of a network."""
    parts, arrays, files = [], Arrays(), dict[str, bytes]()
    single = {next(iter(model.shares_)): model.estimator_}
    learners = model.estimator_.parts if isinstance(model.estimator_, Stack) else single
    for place, (name, learner) in enumerate(learners.items()):
        kind = NETWORK
        if hasattr(learner, "params_"):
            content = encode_model(learner)
            files = {ours: content[theirs] for ours, theirs in NETWORK_FILES.items()}
        else:
            kind, numbers = encode(learner)
            arrays |= add_prefix(str(place), numbers)
        parts.append({"name": name, "kind": kind, "share": model.shares_[name]})
    return parts, arrays, files


def _read_network(folder: Path, made_by: str) -> Any:
    files = read_folder(folder, {ours: LIMITS[theirs] for ours, theirs in NETWORK_FILES.items()}, made_by=made_by)
    from rpo._networks.network_files import decode_network

    return decode_network({theirs: files[ours] for ours, theirs in NETWORK_FILES.items()}, folder)


def _encode_parameter(name: str, value: Any) -> Any:
    if name == "class_weight" and isinstance(value, Mapping):  # classes need not be text, as JSON's names are
        return [encode_column(name, np.array(list(value))), [float(weight) for weight in value.values()]]
    return encode_value(name, value)


def _decode_parameter(name: str, value: Any) -> Any:
    if name == "class_weight" and isinstance(value, list):
        return dict(zip(decode_column(value[0]).tolist(), value[1], strict=True))
    return decode_value(value)


def _restore(card: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], network: Any) -> Quality:
    parameters = {name: _decode_parameter(name, value) for name, value in card["parameters"].items()}
    model: Quality = CLASSES[card["class"]](**parameters)
    model.columns_ = read_columns(card["columns"])
    check_columns(model.columns_)
    model.features_ = np.asarray(names_of(model.columns_)[0], dtype=object)
    model.left_out_ = {str(name): str(reason) for name, reason in card["left_out"].items()}
    model.not_features_ = tuple(map(str, card["not_features"]))
    model.n_features_in_ = int(card["n_features_in"])
    model.candidate_, model.weighted_ = str(card["candidate"]), bool(card["weighted"])
    model.quality_ = None
    restore_labels(model, card["labels"], LABELS)
    for name in FRAMES:
        setattr(model, name, decode_frame(card["tables"][name]))
    model.kept_ = _read_columns(arrays, len(model.features_))
    classes = len(getattr(model, "classes_", ()))
    if (classes >= 2) != isinstance(model, QualityClassifier) or len(np.unique(model.domains_.astype(str))) == 0:
        raise ValueError("the classes or domains are not valid")
    _restore_learners(model, card["parts"], arrays, network)
    sizes = {"domains": len(model.domains_), "columns": len(model.features_), "inputs": len(model.kept_)}
    model.reference_ = read_reference(select_prefix(REFERENCE, arrays), **sizes, classes=classes)
    adaptation = select_prefix(ADAPTATION, arrays)
    model.adaptation_ = Adaptation.read(adaptation, classes) if adaptation else None
    return model


def _read_columns(arrays: Mapping[str, NDArray[Any]], features: int) -> NDArray[np.intp]:
    columns = np.asarray(arrays["kept"])
    if columns.dtype != np.int64 or columns.ndim != 1 or (np.diff(columns) <= 0).any():
        raise ValueError("the kept features are not valid")
    if len(columns) == 0 or columns[0] < 0 or columns[-1] >= features:
        raise ValueError("the kept features do not match the columns")
    return columns.astype(np.intp)


def _restore_learners(model: Quality, saved: list[Any], arrays: Mapping[str, NDArray[Any]], network: Any) -> None:
    """Set the learners and their shares; a prediction of a row of zeros shows what else is wrong."""
    inputs, classes = len(model.kept_), len(getattr(model, "classes_", ()))
    parts = {}
    for place, part in enumerate(saved):
        own = select_prefix(str(place), arrays)
        parts[str(part["name"])] = network if part["kind"] == NETWORK else decode(part["kind"], own, inputs)
    model.shares_ = {str(part["name"]): float(part["share"]) for part in saved}
    if not parts or not all(0 <= share <= 1 for share in model.shares_.values()):
        raise ValueError("the learners or their shares are not valid")
    stack = Stack(parts, model.shares_, classes)
    check_outputs(stack.outputs(np.zeros((1, inputs))), (1, classes) if classes else (1,))
    model.estimator_ = stack if model.estimator == "auto" else next(iter(parts.values()))
