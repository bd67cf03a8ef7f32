"""`QualityRegressor` and `QualityClassifier`: judge the data, decide by held-out domains, fit."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from rpo._io import Grouping, Show
from rpo._learners.crossfit import Problem
from rpo._models.decision import Trial
from rpo._models.intervals import How
from rpo._models.quality_model import QualityModel
from rpo._public import public
from rpo._stats.ridge import Array
from rpo._table.checks import check_classes, check_varies, numeric_target
from rpo._table.columns import LARGEST, SMALLEST
from rpo.exceptions import InputError


@public
class QualityRegressor(RegressorMixin, QualityModel):  # type: ignore[misc]
    """Regression that judges its data first, and decides on remedies by held-out domains.

    Noisy rows get less weight, and features whose relation to the target differs between domains are dropped, unless
    that makes the error on held-out domains significantly worse.

    Parameters
    ----------
    estimator : str or estimator
        "auto" is a stack of a linear model, splines with trees on their residuals, small and large boosted trees and
        extra trees, combined by held-out domains. Or "linear", "trees", "network" (RPO), the name of a method, or any
        estimator: if it does not support `sample_weight`, rows are resampled by weight, and if its `fit` accepts
        `domains`, they are passed on.
    weights, screen : "auto", "on" or "off"
        Whether noisy rows get less weight and suspicious features are dropped; "auto" lets held-out domains veto it.
    grouping : "auto", "search", "class" or "none"
        How strata (groups of rows) are found, unless `strata` are given.
    random_state : int
        The random seed; the same seed gives the same model, for any order of the rows.
    verbose : bool or "auto"
        Whether to show progress; "auto" does on a terminal.

    Attributes
    ----------
    quality_ : Quality
        The judgement; None with fewer than 40 rows.
    decision_ : DataFrame
        All candidates with their error on held-out domains, its spread over domains, and the reason for the choice.
    expected_error_ : DataFrame
        The error to expect in an unseen domain: root mean squared error on held-out domains, its spread over domains
        and the worst domain, compared with a linear model, boosted trees and the mean.
    weight_ : ndarray
        The weight of each row.
    dropped_ : DataFrame
        The dropped features, with the error with and without them.
    estimator_
        The fitted estimator, or the stack.
    shares_ : dict
        The share of each learner.
    held_out_ : DataFrame
        The domain, target, held-out prediction and weight of each row.
    max_level_ : float
        The highest level that `predict_interval` supports: E/(E + 1) for E training domains.
    own_rows_ : float
        The number of labelled rows from which a model of the new domain alone does better than `adapt`, estimated from
        the training domains; inf if never.
    reference_ : Reference
        The results on held-out domains, for intervals, `rpo.check` and `adapt`.

    Examples
    --------
    >>> import numpy as np, rpo
    >>> X = np.random.default_rng(0).normal(size=(120, 2))
    >>> model = rpo.QualityRegressor("linear").fit(X, X[:, 0], domains=np.arange(120) % 4)
    >>> model.predict([[1.0, 0.0]]).round(2)
    array([1.])
    """

    def __init__(
        self,
        estimator: Any = "auto",
        weights: str = "auto",
        screen: str = "auto",
        *,
        grouping: Grouping = "auto",
        random_state: int = 0,
        verbose: Show = "auto",
    ) -> None:
        self.estimator = estimator
        self.weights = weights
        self.screen = screen
        self.grouping = grouping
        self.random_state = random_state
        self.verbose = verbose

    def _encode(self, y: NDArray[Any], weight: Array) -> NDArray[Any]:
        values = numeric_target(y)
        used = values[weight > 0]
        largest = np.abs(used).max(initial=0.0)
        if largest > LARGEST or 0 < largest < SMALLEST:
            raise InputError(f"the target has values up to {largest:.1g}: use another unit")
        check_varies(used)
        return values

    def predict(self, X: ArrayLike | pd.DataFrame) -> Array:
        """Predict the target.

        Parameters
        ----------
        X : array or DataFrame of shape (n, n_features)
            The features.

        Returns
        -------
        array of shape (n,)
            The predicted target of each row.
        """
        return self._outputs(X)

    def predict_interval(
        self,
        X: ArrayLike | pd.DataFrame,
        level: float = 0.9,
        *,
        method: How = "conformal",
        trusted: bool = False,
    ) -> Array:
        """Predict intervals that contain the target of rows of an unseen domain with probability `level`.

        They are based on the errors on held-out domains, with the same weight for each domain, and are wider where rows
        are noisier.

        Parameters
        ----------
        X : array or DataFrame of shape (n, n_features)
            The features.
        level : float
            The coverage, at most `max_level_` unless `method="model"`.
        method : "conformal" or "model"
            "conformal" assumes only that domains are exchangeable; "model" assumes normally distributed domain effects
            and supports any level.
        trusted : bool
            Give noisy training domains less weight, for a new domain that is recorded as well as the good ones.

        Returns
        -------
        array of shape (n, 2)
            The lower and upper ends.
        """
        return self._interval(X, level, method, trusted)

    def _places(self, y: NDArray[Any]) -> NDArray[Any]:
        try:
            return np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("the target of a regressor must be numeric") from None


@public
class QualityClassifier(ClassifierMixin, QualityModel):  # type: ignore[misc]
    """Classification that judges its data first; parameters and attributes as in `QualityRegressor`.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Additional weights for the rows of each class, as in scikit-learn.

    Attributes
    ----------
    expected_error_ : DataFrame
        The Brier score on held-out domains with its spread and the worst domain, the share of wrong predictions
        (`wrong`) and, for two classes, the mean probability and the frequency of the second (`mean_probability`,
        `share`).

    Examples
    --------
    >>> import numpy as np, rpo
    >>> X = np.random.default_rng(0).normal(size=(120, 2))
    >>> model = rpo.QualityClassifier("linear").fit(X, X[:, 0] > 0, domains=np.arange(120) % 4)
    >>> model.predict([[2.0, 0.0]])
    array([ True])
    """

    def __init__(
        self,
        estimator: Any = "auto",
        weights: str = "auto",
        screen: str = "auto",
        *,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        grouping: Grouping = "auto",
        random_state: int = 0,
        verbose: Show = "auto",
    ) -> None:
        self.estimator = estimator
        self.weights = weights
        self.screen = screen
        self.class_weight = class_weight
        self.grouping = grouping
        self.random_state = random_state
        self.verbose = verbose

    def _encode(self, y: NDArray[Any], weight: Array) -> NDArray[Any]:
        check_classification_targets(y)
        check_classes(y[weight > 0])
        self.classes_ = np.unique(y[weight > 0])
        # Classes of rows that do not count have no place; these rows are left out.
        return np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1).astype(np.intp)

    def _class_weight(self, problem: Problem) -> Array:
        if self.class_weight is None:
            return np.ones(len(problem.y))
        return np.asarray(compute_sample_weight(self.class_weight, self.classes_[problem.y]), dtype=np.float64)

    def _figures(self, trial: Trial, value: Array) -> dict[str, Any]:
        y, count = trial.problem.y, trial.problem.weight
        more = {"wrong": float(np.average(value.argmax(1) != y, weights=count))}
        if value.shape[1] == 2:
            more["mean_probability"] = float(np.average(value[:, 1], weights=count))
            more["share"] = float(np.average(y, weights=count))
        return {**super()._figures(trial, value), **more}

    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array or DataFrame of shape (n, n_features)
            The features.

        Returns
        -------
        array of shape (n, n_classes)
            The probabilities, in the order of `classes_`.
        """
        return self._outputs(X)

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Predict the class.

        Parameters
        ----------
        X : array or DataFrame of shape (n, n_features)
            The features.

        Returns
        -------
        array of shape (n,)
            The most probable class of each row.
        """
        likeliest = self.predict_proba(X).argmax(1)
        return np.asarray(self.classes_[likeliest])

    def predict_interval(
        self,
        X: ArrayLike | pd.DataFrame,
        level: float = 0.9,
        *,
        method: How = "conformal",
        trusted: bool = False,
    ) -> NDArray[np.bool_]:
        """Predict sets that contain the class of rows of an unseen domain with probability `level`.

        A set has all classes that are likely enough on held-out domains, and at least one.

        Parameters
        ----------
        X : array or DataFrame of shape (n, n_features)
            The features.
        level, method, trusted
            As in `QualityRegressor.predict_interval`.

        Returns
        -------
        array of bool of shape (n, n_classes)
            Whether a class is in the set, in the order of `classes_`.
        """
        return self._interval(X, level, method, trusted)

    def _places(self, y: NDArray[Any]) -> NDArray[Any]:
        known = np.isin(y, self.classes_)
        if not known.all():
            raise InputError(f"y has class {str(y[~known][0])!r}, which is not in the training data: drop these rows")
        return np.searchsorted(self.classes_, y).astype(np.intp)
