"""Learners of a Quality model as arrays and back: lines, curves, trees. What comes back predicts, and is fitted anew by
fitting the model anew."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import SplineTransformer

from rpo._learners.bases import Basis, Coarse
from rpo._learners.learners import Additive, AdditiveClassifier, Line
from rpo._saving.nodes import Arrays, Boosted, Forest, Nodes, is_number, probabilities
from rpo._stats.ridge import Array, Ridge
from rpo.exceptions import InputError

MOST_CURVES = 1_000_000  # numbers that make up the knots of all curves
LEAST_SCALE = 1e-150  # of a column or a product of two: numbers divided by it are numbers


@dataclass(frozen=True, eq=False)
class Scale:
    """(x − mean)/scale, by columns."""

    mean: Array
    scale: Array

    def transform(self, X: ArrayLike) -> Array:
        """Standardised columns."""
        return np.asarray((np.asarray(X, dtype=np.float64) - self.mean) / self.scale)


@dataclass(frozen=True, eq=False)
class Logistic:
    """Probabilities from lines."""

    coef: Array
    intercept: Array
    classes_: NDArray[Any]

    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each class."""
        return probabilities(np.asarray(X, dtype=np.float64) @ self.coef.T + self.intercept)


@dataclass(frozen=True, eq=False)
class Steps:
    """A transformation, then a learner."""

    first: Any
    last: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """Those of the learner."""
        return np.asarray(self.last.classes_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Of the learner, after the transformation."""
        return np.asarray(self.last.predict(self.first.transform(X)))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Of the learner, after the transformation."""
        return np.asarray(self.last.predict_proba(self.first.transform(X)))


@dataclass(frozen=True, eq=False)
class Constant:
    """The same for every row: the mean, or the shares of the classes."""

    value: Array
    classes_: NDArray[Any] | None = None

    def predict(self, X: ArrayLike) -> Array:
        """The mean."""
        return np.full(len(np.asarray(X)), self.value[0])

    def predict_proba(self, X: ArrayLike) -> Array:
        """The shares."""
        return np.tile(self.value, (len(np.asarray(X)), 1))


def packed(model: Any) -> tuple[str, Arrays]:
    """The kind of a fitted learner, and its numbers.

    >>> packed(Line().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]))[0]
    'line'
    """
    if isinstance(model, Line):
        return "line", _ridge(model.line_)
    if isinstance(model, Additive):
        rest = under("trees", _boosted(model.trees_)) if model.trees else {}
        reach = {"reach": np.array([model.low_, model.high_])}
        return "additive", {**_basis(model.basis_), "pairs": model.pairs_, **_ridge(model.line_), **reach, **rest}
    if isinstance(model, AdditiveClassifier):
        more = {**_scale(model.scale_), **_logistic(model.logistic_)}
        return "additive logistic", {**_basis(model.basis_), "pairs": model.pairs_, **more}
    if isinstance(model, Pipeline) and isinstance(model[-1], LogisticRegression):
        return "logistic", {**_scale(model[0]), **_logistic(model[-1])}
    if isinstance(model, Pipeline | Steps) and isinstance(_first(model), Coarse):
        return "boosted trees", _boosted(model)
    if isinstance(model, Boosted) or type(model).__name__ in ("LGBMRegressor", "LGBMClassifier"):  # without bins
        trees = model if isinstance(model, Boosted) else Boosted.of_lightgbm(model)
        return "trees", {**trees.nodes.arrays(), **_classes(trees), "baseline": trees.baseline}
    if isinstance(model, ExtraTreesRegressor | ExtraTreesClassifier | Forest):
        forest = model if isinstance(model, Forest) else Forest.of(model)
        return "forest", {**forest.nodes.arrays(), **_classes(forest)}
    if isinstance(model, DummyRegressor | DummyClassifier | Constant):
        return "constant", _constant(model)
    if isinstance(model, Steps):
        return "logistic", {**_scale(model.first), **_logistic(model.last)}
    raise InputError(
        f"a {type(model).__name__} cannot be saved without pickle: use a named estimator "
        "(auto, linear, trees, network or a method), or pickle the model"
    )


def unpacked(kind: str, arrays: Mapping[str, NDArray[Any]], inputs: int) -> Any:
    """The learner that was packed; a ValueError or KeyError if anything about it is off."""
    if kind == "line":
        line = Line()
        line.line_ = _read_ridge(arrays, inputs)
        line.n_features_in_ = inputs
        return line
    if kind == "additive":
        curves = Additive(trees=any(name.startswith("trees/") for name in arrays))
        curves.basis_, curves.pairs_ = _read_basis(arrays, inputs), _read_pairs(arrays, inputs)
        curves.line_, curves.offset_ = _read_ridge(arrays, width(curves)), np.zeros(0)
        curves.low_, curves.high_ = _numbers(arrays, "reach", (2,))
        curves.n_features_in_ = inputs
        if curves.trees:
            curves.trees_ = _read_boosted(within("trees", arrays), inputs)
        return curves
    if kind == "additive logistic":
        odds = AdditiveClassifier()
        odds.basis_, odds.pairs_ = _read_basis(arrays, inputs), _read_pairs(arrays, inputs)
        odds.scale_, odds.logistic_ = _read_scale(arrays, width(odds)), _read_logistic(arrays, width(odds))
        odds.classes_, odds.n_features_in_ = odds.logistic_.classes_, inputs
        return odds
    if kind == "logistic":
        return Steps(_read_scale(arrays, inputs), _read_logistic(arrays, inputs))
    if kind == "boosted trees":
        return _read_boosted(arrays, inputs)
    if kind == "trees":
        return _read_trees(arrays, inputs)
    if kind == "forest":
        classes = _read_classes(arrays)
        nodes = Nodes.read(arrays, inputs)
        if nodes.value.shape[1] != (1 if classes is None else len(classes)):
            raise ValueError("the forest does not match the classes")
        return Forest(nodes, classes)
    if kind == "constant":
        classes = _read_classes(arrays)
        return Constant(_numbers(arrays, "value", (1 if classes is None else len(classes),)), classes)
    raise ValueError(f"unknown kind of learner {kind[:40]!r}")


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Arrays with a prefix before their names.

    >>> list(under("trees", {"left": np.zeros(1)}))
    ['trees/left']
    """
    return {f"{prefix}/{name}": values for name, values in arrays.items()}


def within(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Those that have a prefix, without it.

    >>> list(within("trees", {"trees/left": np.zeros(1), "left": np.zeros(1)}))
    ['left']
    """
    return {name[len(prefix) + 1 :]: a for name, a in arrays.items() if name.startswith(f"{prefix}/")}


def width(model: Additive | AdditiveClassifier) -> int:
    """How many columns curves and products make."""
    basis = model.basis_
    curves = 0 if basis.spline_ is None else basis.spline_.n_features_out_
    return len(basis.mean_) + curves + len(model.pairs_)


def _first(model: Pipeline | Steps) -> Any:
    return model.first if isinstance(model, Steps) else model[0]


def _numbers(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> Array:
    found = np.asarray(arrays[name])
    if found.shape != shape or not is_number(found):
        raise ValueError(f"{name} has the wrong shape or type")
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        raise ValueError(f"{name} is not finite")
    return found


def _ridge(line: Ridge) -> Arrays:
    return {"coef": line.coef, "intercept": np.array([line.intercept]), "freedom": np.array([line.freedom])}


def _read_ridge(arrays: Mapping[str, NDArray[Any]], columns: int) -> Ridge:
    one = {name: float(_numbers(arrays, name, (1,))[0]) for name in ("intercept", "freedom")}
    return Ridge(_numbers(arrays, "coef", (columns,)), one["intercept"], one["freedom"])


def _scale(scaler: Any) -> Arrays:
    if isinstance(scaler, Scale):
        return {"mean": scaler.mean, "scale": scaler.scale}
    return {"mean": scaler.mean_, "scale": scaler.scale_}


def _read_scale(arrays: Mapping[str, NDArray[Any]], columns: int) -> Scale:
    found = Scale(_numbers(arrays, "mean", (columns,)), _numbers(arrays, "scale", (columns,)))
    if (found.scale < LEAST_SCALE).any():
        raise ValueError("a scale is too small")
    return found


def _classes(model: Any) -> Arrays:
    return {} if model.classes_ is None else {"classes": np.asarray(model.classes_, dtype=np.int64)}


def _read_classes(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.int64] | None:
    if "classes" not in arrays:
        return None
    found = np.asarray(arrays["classes"])
    if found.ndim != 1 or found.dtype.kind != "i" or len(found) == 0 or (np.diff(found) <= 0).any() or found[0] < 0:
        raise ValueError("the classes are not valid")
    return found.astype(np.int64)


def _logistic(model: Any) -> Arrays:
    coef, intercept = (model.coef, model.intercept) if isinstance(model, Logistic) else (model.coef_, model.intercept_)
    return {"lines": coef, "levels": intercept, **_classes(model)}


def _read_logistic(arrays: Mapping[str, NDArray[Any]], columns: int) -> Logistic:
    classes = _read_classes(arrays)
    if classes is None or len(classes) < 2:
        raise ValueError("a classifier has fewer than two classes")
    lines = 1 if len(classes) == 2 else len(classes)
    return Logistic(_numbers(arrays, "lines", (lines, columns)), _numbers(arrays, "levels", (lines,)), classes)


def _boosted(model: Pipeline | Steps) -> Arrays:
    """Bins and trees."""
    bins = _first(model)
    last = model.last if isinstance(model, Steps) else model[-1]
    trees = last if isinstance(last, Boosted) else Boosted.of(last)
    edges = [np.empty(0) if one is None else one for one in bins.edges_]
    means = [np.empty(0) if e is None else m for e, m in zip(bins.edges_, bins.means_, strict=True)]
    return {
        **trees.nodes.arrays(),
        **_classes(trees),
        "baseline": trees.baseline,
        "edges": np.concatenate(edges),
        "means": np.concatenate(means),
        "edge_count": np.array([len(one) for one in edges]),
        "mean_count": np.array([len(one) for one in means]),
    }


def _read_trees(arrays: Mapping[str, NDArray[Any]], inputs: int) -> Boosted:
    classes = _read_classes(arrays)
    nodes = Nodes.read(arrays, inputs)
    outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    if nodes.value.shape[1] != 1 or (classes is not None and len(classes) < 2):
        raise ValueError("the trees do not match the classes")
    return Boosted(nodes, _numbers(arrays, "baseline", (outputs,)), classes)


def _read_boosted(arrays: Mapping[str, NDArray[Any]], inputs: int) -> Steps:
    bins = Coarse()
    edges, means = _split(arrays, "edge", inputs), _split(arrays, "mean", inputs)
    bins.edges_, bins.means_ = [], []
    for edge, mean in zip(edges, means, strict=True):
        if len(mean) and len(mean) not in (len(edge), len(edge) + 1):
            raise ValueError("the numbers of bins and of their means differ")
        bins.edges_.append(edge if len(mean) else None)
        bins.means_.append(mean)
    return Steps(bins, _read_trees(arrays, inputs))


def _split(arrays: Mapping[str, NDArray[Any]], name: str, parts: int) -> list[Array]:
    """Numbers of each column, which stand one after another."""
    count = np.asarray(arrays[f"{name}_count"])
    if count.shape != (parts,) or count.dtype.kind != "i" or (count < 0).any():
        raise ValueError(f"{name}_count has the wrong shape or type")
    return np.split(_numbers(arrays, f"{name}s", (int(count.sum()),)), np.cumsum(count)[:-1])


def _basis(basis: Basis) -> Arrays:
    knots = {} if basis.spline_ is None else {"knots": np.asarray(basis.spline_.knots)}
    return {
        "low": basis.low_,
        "high": basis.high_,
        "middle": basis.mean_,
        "deviation": basis.scale_,
        "curved": basis.curved_.astype(np.int64),
        **knots,
    }


def _read_basis(arrays: Mapping[str, NDArray[Any]], inputs: int) -> Basis:
    basis = Basis()
    basis.low_, basis.high_ = _numbers(arrays, "low", (inputs,)), _numbers(arrays, "high", (inputs,))
    basis.mean_, basis.scale_ = _numbers(arrays, "middle", (inputs,)), _numbers(arrays, "deviation", (inputs,))
    basis.curved_ = _numbers(arrays, "curved", (inputs,)) > 0
    if (basis.scale_ < LEAST_SCALE).any() or (basis.low_ > basis.high_).any():
        raise ValueError("a scale or range of a column is not valid")
    basis.spline_ = None
    if basis.curved_.any():
        curves = int(basis.curved_.sum())
        knots = _numbers(arrays, "knots", (len(arrays["knots"]), curves))
        if len(knots) < 2 or knots.size > MOST_CURVES:
            raise ValueError("the number of knots is not valid")
        basis.spline_ = SplineTransformer(degree=3, knots=knots, extrapolation="linear", include_bias=False)
        basis.spline_.fit(np.zeros((2, curves)))  # the knots are given: nothing is learned
    return basis


def _read_pairs(arrays: Mapping[str, NDArray[Any]], inputs: int) -> NDArray[np.intp]:
    pairs = np.asarray(arrays["pairs"])
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind != "i":
        raise ValueError("products are not pairs of columns")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= inputs):
        raise ValueError("a product uses a column that does not exist")
    return pairs.astype(np.intp)


def _constant(model: Any) -> Arrays:
    if isinstance(model, Constant):
        return {"value": model.value, **_classes(model)}
    if isinstance(model, DummyRegressor):
        return {"value": np.ravel(model.constant_)}
    return {"value": np.asarray(model.class_prior_), **_classes(model)}
