"""The learners of a Quality estimator: by name, any estimator, or the stack of "auto"."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from rpo._learners.bases import Binned
from rpo._learners.learners import (
    Additive,
    AdditiveClassifier,
    Factory,
    boosted,
    fit_boosted,
    get_learner,
    is_boosted,
    make_automatic,
    predict_boosted,
)
from rpo._stats.ridge import Array
from rpo.exceptions import InputError

LEAVES = 4_000  # that a tree of the forest has at most, so that a million rows fit into memory
SMALLEST_LEAF = 5
TREES = 50  # of the forest; with 100 it took nearly half of the time of all learners
TRIED = (
    "linear",
    "additive",
    "small trees",
)  # of the stack: what candidates are compared by; the others take their time

Learners = Mapping[str, Any]


def learners_of(
    estimator: Any, *, classes: bool, rows: int, seed: int, network: Factory | None = None
) -> dict[str, Any]:
    """Return the learners of an estimator by name: several for "auto", otherwise one.

    Where LightGBM is installed (`pip install rpo[trees]`), its trees take the place of scikit-learn's larger ones.

    >>> list(learners_of("auto", classes=False, rows=100, seed=0))
    ['linear', 'additive', 'small trees', '...', 'extra trees']
    """
    if not isinstance(estimator, str):
        _check_estimator(estimator)
        _check_kind(estimator, classes)
        return {type(estimator).__name__: estimator}
    if estimator == "auto":
        forest = ExtraTreesClassifier if classes else ExtraTreesRegressor
        return {
            "linear": linear(classes),
            "additive": AdditiveClassifier() if classes else Additive(random_state=seed),
            "small trees": boosted(classes=classes, max_iter=100, max_leaf_nodes=6, seed=seed),
            **({"lightgbm": lightgbm(classes, seed)} if find_spec("lightgbm") else {"trees": trees(classes, seed)}),
            "extra trees": forest(
                n_estimators=TREES, min_samples_leaf=max(SMALLEST_LEAF, rows // LEAVES), random_state=seed
            ),
        }
    return {estimator: get_learner(estimator, classes=classes, seed=seed, network=network)}


def make_learners(estimator: Any, n_classes: int) -> list[Any]:
    """Make the learners whose predictions are stacked to judge rows by; 0 classes are a regression.

    >>> [type(learner).__name__ for learner in make_learners("linear", 0)]
    ['Line']
    """
    classes = n_classes > 0
    if isinstance(estimator, str):
        return make_automatic(n_classes) if estimator == "auto" else [get_learner(estimator, classes=classes)]
    _check_estimator(estimator)
    if is_classifier(estimator) != classes:
        kind, other = ("categorical", "classifier") if classes else ("numeric", "regressor")
        raise InputError(f"the target is {kind}: estimator must be a {other}, got {type(estimator).__name__}")
    return [estimator]


def linear(classes: bool) -> Any:
    """Return ridge or logistic regression."""
    return get_learner("linear", classes=classes)


def trees(classes: bool, seed: int) -> Any:
    """Return boosted trees with scikit-learn's defaults."""
    return get_learner("trees", classes=classes, seed=seed)


def lightgbm(classes: bool, seed: int) -> Any:
    """Return LightGBM's boosted trees with its defaults; one thread, because their number changes results."""
    import lightgbm

    learner = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
    return learner(random_state=seed, n_jobs=1, deterministic=True, force_col_wise=True, verbosity=-1)


def constant(classes: bool) -> Any:
    """Return a learner that predicts the mean, or the shares of the classes."""
    return DummyClassifier(strategy="prior") if classes else DummyRegressor()


def _check_estimator(estimator: Any) -> None:
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise InputError(f"estimator must be a name or a scikit-learn estimator, got {estimator!r}")


def _check_kind(estimator: Any, classes: bool) -> None:
    if is_classifier(estimator) != classes:
        kind, other = ("QualityClassifier", "classifier") if classes else ("QualityRegressor", "regressor")
        raise InputError(f"the estimator of a {kind} must be a {other}, got {type(estimator).__name__}")
    if classes and not hasattr(estimator, "predict_proba"):
        raise InputError(f"{type(estimator).__name__} has no predict_proba: use a classifier that has it")


def fit_learner(
    learner: Any,
    X: Array,
    y: NDArray[Any],
    weight: Array | None,
    domain: NDArray[np.intp],
    *,
    seed: int | None = None,
    binned: Binned | None = None,
) -> Any:
    """Fit a learner to rows that count `weight` each, and pass their domains on if its `fit` accepts them.

    A learner without weights is fitted to rows drawn by them with a `seed`, and to all rows alike without one. A part
    of the rows may hold one row or one class only: then that value or class is certain. Boosted trees are fitted to
    rows that are `binned`.

    >>> line = fit_learner(linear(False), np.eye(3), np.arange(3.0), None, np.zeros(3, np.intp))
    >>> type(line).__name__
    'Line'
    """
    classes = is_classifier(learner)
    if len(y) == 1 or (classes and (y == y[0]).all()):
        return constant(classes).fit(X, y)
    model, weight, options = clone(learner), varying(weight), dict[str, Any]()
    if binned is not None and is_boosted(model):
        return fit_boosted(model, X, y, weight, binned)
    if has_fit_parameter(model, "domains") and not isinstance(model, Additive):  # its own are intercepts
        options["domains"] = domain
    if weight is not None:
        if name := weight_name(model):
            options[name] = weight
        elif seed is not None:
            drawn = resample(weight, seed)
            if classes and len(np.unique(y[drawn])) < len(np.unique(y)):  # every class stays
                drawn = np.concatenate([drawn, np.unique(y, return_index=True)[1]])
            X, y = X[drawn], y[drawn]
            options = {key: value[drawn] for key, value in options.items()}
    return model.fit(X, y, **options)


def varying(weight: Array | None) -> Array | None:
    """Return the weights of rows, or None if all are the same.

    >>> varying(np.array([1.0, 2.0])), varying(np.array([2.0, 2.0]))
    (array([1., 2.]), None)
    """
    return None if weight is None or (weight == weight[0]).all() else weight


def weight_name(model: Any) -> str | None:
    """Return the name of `fit`'s argument for the weights of rows; None if it has none.

    >>> weight_name(linear(False)), weight_name(linear(True))
    ('sample_weight', 'logisticregression__sample_weight')
    """
    if isinstance(model, Pipeline):
        last, step = model.steps[-1]
        return f"{last}__sample_weight" if has_fit_parameter(step, "sample_weight") else None
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def warn_without_weights(learners: Learners) -> None:
    """Warn of learners without weights, whose rows are resampled by weight."""
    for name, learner in learners.items():
        if weight_name(learner) is None:
            warnings.warn(
                f"{name} does not support sample_weight: rows are resampled by weight", UserWarning, stacklevel=5
            )


def resample(weight: Array, seed: int) -> NDArray[np.intp]:
    """Draw as many rows as there are, with replacement, with probabilities proportional to weight.

    >>> resample(np.array([0.0, 1.0]), 0).tolist()
    [1, 1]
    """
    return np.random.default_rng(seed).choice(len(weight), len(weight), p=weight / weight.sum())


def outputs(model: Any, X: Array, n_classes: int, binned: Binned | None = None) -> Array:
    """Return the predictions of a fitted learner: `(n,)` numbers, or `(n, C)` probabilities of classes 0 … C − 1.

    A class that the learner never saw has probability zero. Rows that are `binned` already are not binned again.
    """
    if not len(X):
        return np.zeros((0, n_classes) if n_classes else 0)
    if not n_classes:
        more = (binned,) if isinstance(model, Additive) else ()
        value = predict_boosted(model, X, binned) if is_boosted(model) else model.predict(X, *more)
        return np.asarray(value, dtype=np.float64).reshape(len(X))
    value = np.zeros((len(X), n_classes))
    value[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
    return value


@dataclass(frozen=True, eq=False)
class Stack:
    """f(x) = Σ_k s_k f_k(x), s_k ≥ 0, Σ_k s_k = 1: fitted learners by name, and the share of each."""

    parts: Learners = field(repr=False)
    shares: Mapping[str, float]
    n_classes: int
    """0 for a regression."""

    def outputs(self, X: Array) -> Array:
        """Predict numbers, or probabilities."""
        values = [self.shares[name] * outputs(part, X, self.n_classes) for name, part in self.parts.items()]
        return np.asarray(np.sum(values, axis=0))
