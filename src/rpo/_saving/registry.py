"""Fitted learners as arrays and back: scikit-learn's objects and ours are restored from their fitted attributes.

To add a learner: a function that returns its numbers by name, one that checks them and restores it, and an entry of
`REGISTRY`. A folder names a kind of this registry, and never a class.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from rpo._learners import NAMED
from rpo._learners.bases import Basis
from rpo._learners.learners import Additive, AdditiveClassifier, Line
from rpo._saving.card import Arrays, add_prefix, read_numbers, select_prefix
from rpo._saving.nodes import BinnedBoosted, Boosted, Forest, class_arrays, read_classes
from rpo._stats.ridge import Ridge
from rpo.exceptions import InputError

MOST_CURVES = 1_000_000  # numbers that make up the knots of all curves
LEAST_SCALE = 1e-150  # of a column or a product of two: numbers divided by it are numbers

Saved = Mapping[str, NDArray[Any]]


class Kind(NamedTuple):
    """How learners with the same numbers are saved; the class of a pipeline is that of its last step."""

    classes: tuple[str, ...]
    encode: Callable[[Any], Arrays]
    decode: Callable[[Saved, int], Any]


def encode(model: Any) -> tuple[str, Arrays]:
    """Return the kind of a fitted learner, and its numbers by name.

    >>> encode(Line().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]))[0]
    'line'
    """
    name = type(model[-1] if isinstance(model, Pipeline) else model).__name__
    for kind, entry in REGISTRY.items():
        if name in entry.classes:
            return kind, entry.encode(model)
    raise unknown_class(model)


def decode(kind: str, arrays: Saved, inputs: int) -> Any:
    """Return the learner that was encoded; raise a ValueError or KeyError if anything about it is wrong.

    >>> decode(*encode(Line().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])), 1).predict([[3.0]]).round(1)
    array([3.])
    """
    if kind not in REGISTRY:
        raise ValueError(f"unknown kind of learner {kind[:40]!r}")
    return REGISTRY[kind].decode(arrays, inputs)


def unknown_class(model: Any) -> InputError:
    """Return the error about a learner that cannot be saved."""
    return InputError(
        f"a {type(model).__name__} cannot be saved without pickle: use a named estimator "
        f"({', '.join(NAMED)} or a method), or pickle the model"
    )


def _encode_line(model: Line) -> Arrays:
    return _encode_ridge(model.line_)


def _decode_line(arrays: Saved, inputs: int) -> Line:
    model = Line()
    model.line_, model.n_features_in_ = _decode_ridge(arrays, inputs), inputs
    return model


def _encode_additive(model: Additive) -> Arrays:
    trees = add_prefix("trees", BinnedBoosted.convert(model.trees_).arrays()) if model.trees else {}
    reach = np.array([model.low_, model.high_])
    return {**_encode_basis(model), **_encode_ridge(model.line_), "reach": reach, **trees}


def _decode_additive(arrays: Saved, inputs: int) -> Additive:
    trees = select_prefix("trees", arrays)
    model = Additive(trees=bool(trees))
    columns = _decode_basis(model, arrays, inputs)
    model.line_, model.offset_ = _decode_ridge(arrays, columns), np.zeros(0)
    model.low_, model.high_ = read_numbers(arrays, "reach", (2,))
    if trees:
        model.trees_ = BinnedBoosted.read(trees, inputs)
    return model


def _encode_additive_classifier(model: AdditiveClassifier) -> Arrays:
    return {**_encode_basis(model), **_encode_scaler(model.scale_), **_encode_lines(model.logistic_)}


def _decode_additive_classifier(arrays: Saved, inputs: int) -> AdditiveClassifier:
    model = AdditiveClassifier()
    columns = _decode_basis(model, arrays, inputs)
    model.scale_, model.logistic_ = _decode_scaler(arrays, columns), _decode_lines(arrays, columns)
    model.classes_ = model.logistic_.classes_
    return model


def _encode_logistic(model: Pipeline) -> Arrays:
    return {**_encode_scaler(model[0]), **_encode_lines(model[-1])}


def _decode_logistic(arrays: Saved, inputs: int) -> Pipeline:
    return make_pipeline(_decode_scaler(arrays, inputs), _decode_lines(arrays, inputs))


def _encode_constant(model: DummyRegressor | DummyClassifier) -> Arrays:
    if isinstance(model, DummyRegressor):
        return {"value": np.ravel(model.constant_)}
    return {"value": np.asarray(model.class_prior_), **class_arrays(model.classes_)}


def _decode_constant(arrays: Saved, _: int) -> DummyRegressor | DummyClassifier:
    classes = read_classes(arrays)
    if classes is None:
        return DummyRegressor().fit(np.zeros((1, 1)), read_numbers(arrays, "value", (1,)))
    model = DummyClassifier(strategy="prior").fit(np.zeros((len(classes), 1)), classes)
    model.class_prior_ = read_numbers(arrays, "value", (len(classes),))
    return model


REGISTRY = {
    "line": Kind(("Line", "AnchorLine"), _encode_line, _decode_line),
    "additive": Kind(("Additive",), _encode_additive, _decode_additive),
    "additive logistic": Kind(("AdditiveClassifier",), _encode_additive_classifier, _decode_additive_classifier),
    "logistic": Kind(("LogisticRegression",), _encode_logistic, _decode_logistic),
    "boosted trees": Kind(
        ("HistGradientBoostingRegressor", "HistGradientBoostingClassifier", "BinnedBoosted"),
        lambda model: BinnedBoosted.convert(model).arrays(),
        BinnedBoosted.read,
    ),
    "trees": Kind(
        ("LGBMRegressor", "LGBMClassifier", "Boosted"),
        lambda model: Boosted.convert(model).arrays(),
        Boosted.read,
    ),
    "forest": Kind(
        ("ExtraTreesRegressor", "ExtraTreesClassifier", "Forest"),
        lambda model: Forest.convert(model).arrays(),
        Forest.read,
    ),
    "constant": Kind(("DummyRegressor", "DummyClassifier"), _encode_constant, _decode_constant),
}


def _encode_ridge(line: Ridge) -> Arrays:
    return {"coef": line.coef, "intercept": np.array([line.intercept]), "freedom": np.array([line.freedom])}


def _decode_ridge(arrays: Saved, columns: int) -> Ridge:
    coef = read_numbers(arrays, "coef", (columns,))
    return Ridge(coef, *(float(read_numbers(arrays, name, (1,))[0]) for name in ("intercept", "freedom")))


def _encode_scaler(scaler: StandardScaler) -> Arrays:
    return {"mean": scaler.mean_, "scale": scaler.scale_}


def _decode_scaler(arrays: Saved, columns: int) -> StandardScaler:
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_ = (read_numbers(arrays, name, (columns,)) for name in ("mean", "scale"))
    if (scaler.scale_ < LEAST_SCALE).any():
        raise ValueError("a scale is too small")
    scaler.var_, scaler.n_features_in_ = scaler.scale_**2, columns
    return scaler


def _encode_lines(model: LogisticRegression) -> Arrays:
    return {"lines": model.coef_, "levels": model.intercept_, **class_arrays(model.classes_)}


def _decode_lines(arrays: Saved, columns: int) -> LogisticRegression:
    classes = read_classes(arrays)
    if classes is None or len(classes) < 2:
        raise ValueError("a classifier has fewer than two classes")
    lines = 1 if len(classes) == 2 else len(classes)
    model = LogisticRegression()
    model.coef_ = read_numbers(arrays, "lines", (lines, columns))
    model.intercept_ = read_numbers(arrays, "levels", (lines,))
    model.classes_, model.n_features_in_ = classes, columns
    return model


# What a basis of curves is saved as, and its attributes.
BASIS = {"low": "low_", "high": "high_", "middle": "mean_", "deviation": "scale_"}


def _encode_basis(model: Additive | AdditiveClassifier) -> Arrays:
    basis = model.basis_
    numbers = {name: getattr(basis, attribute) for name, attribute in BASIS.items()}
    knots = {} if basis.spline_ is None else {"knots": np.asarray(basis.spline_.knots)}
    return {**numbers, "curved": basis.curved_.astype(np.int64), **knots, "pairs": model.pairs_}


def _decode_basis(model: Additive | AdditiveClassifier, arrays: Saved, inputs: int) -> int:
    """Restore curves and products of pairs, and return how many columns they make."""
    basis = model.basis_ = Basis()
    for name, attribute in BASIS.items():
        setattr(basis, attribute, read_numbers(arrays, name, (inputs,)))
    if (basis.scale_ < LEAST_SCALE).any() or (basis.low_ > basis.high_).any():
        raise ValueError("a scale or range of a column is not valid")
    basis.curved_ = read_numbers(arrays, "curved", (inputs,)) > 0
    basis.spline_ = _decode_curves(arrays, int(basis.curved_.sum())) if basis.curved_.any() else None
    model.pairs_, model.n_features_in_ = _decode_pairs(arrays, inputs), inputs
    return inputs + (0 if basis.spline_ is None else basis.spline_.n_features_out_) + len(model.pairs_)


def _decode_curves(arrays: Saved, curves: int) -> SplineTransformer:
    knots = read_numbers(arrays, "knots", (len(arrays["knots"]), curves))
    if len(knots) < 2 or knots.size > MOST_CURVES:
        raise ValueError("the number of knots is not valid")
    spline = SplineTransformer(degree=3, knots=knots, extrapolation="linear", include_bias=False)
    return spline.fit(np.zeros((2, curves)))  # the knots are given: nothing is learned


def _decode_pairs(arrays: Saved, inputs: int) -> NDArray[np.intp]:
    pairs = np.asarray(arrays["pairs"])
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind != "i":
        raise ValueError("products are not pairs of columns")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= inputs):
        raise ValueError("a product uses a column that does not exist")
    return pairs.astype(np.intp)
