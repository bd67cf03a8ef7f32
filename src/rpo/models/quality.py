"""`QualityRegressor` and `QualityClassifier`: judge the data, decide by held-out domains, fit."""

import os
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import Tags, check_array, check_consistent_length, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from rpo.exceptions import InputError, OneDomainWarning
from rpo.frames.columns import LARGEST, SMALLEST, names_of
from rpo.frames.preparing import WITHOUT_DOMAIN, Prepared, check_moments, check_weight
from rpo.functional.ridge import Array
from rpo.grouping import NamedStrata
from rpo.grouping.strata import codes
from rpo.io import Bar, Grouping, Show, one_thread
from rpo.judging.quality import Quality, judge
from rpo.judging.residuals import Problem
from rpo.models.decision import Candidate, Trial, decided, figures, permuted, trial_of
from rpo.models.inputs import columns_of, free_name, in_order, numbers, repeated
from rpo.models.intervals import How
from rpo.models.learners import (
    TRIED,
    Stack,
    constant,
    fitted,
    learners_of,
    linear,
    outputs,
    trees,
    warn_without_weights,
)
from rpo.models.new_domains import NewDomains
from rpo.models.reference import reference_of

FEWEST_JUDGED = 40  # rows: of fewer nothing is said about their quality
CHOICES = ("auto", "on", "off")


class _Quality(NewDomains, BaseEstimator):  # type: ignore[misc]
    """What both share."""

    # `domains` and `strata` travel through Pipeline, GridSearchCV and the like as they are.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"domains": True, "strata": True}

    # Set by the subclasses' constructors.
    estimator: Any
    weights: str
    screen: str
    grouping: Grouping
    random_state: int
    verbose: Show

    def fit(
        self,
        X: ArrayLike | pd.DataFrame,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        domains: ArrayLike | str | None = None,
        strata: ArrayLike | str | None = None,
    ) -> Self:
        """Judge the rows, decide on the remedies, and fit.

        Parameters
        ----------
        X : array or DataFrame of shape (n, n_features)
            The features; a DataFrame may have text, categories, dates and missing values.
        y : array of shape (n,)
            The target.
        sample_weight : array of shape (n,), optional
            Counts rows: a weight of two is the same as repeating the row, zero the same as leaving it out.
        domains : array of shape (n,) or str, optional
            The domain of each row, or the column of `X` that has it, which is then not used as a feature.
        strata : array of shape (n,) or str, optional
            The stratum of each row, or the column of `X` that has it.

        Returns
        -------
        self
        """
        self._check_choices()
        frame, target, weight, domain, stratum = self._table(X, y, sample_weight, domains, strata)
        columns, left_out = columns_of(frame)
        label, place = free_name("target", frame), free_name("domain", frame)
        where = np.full(len(frame), WITHOUT_DOMAIN) if domain is None else _labels(domain, "domains", len(frame))
        ready = Prepared(
            frame=frame.assign(**{label: target, place: where.astype(str)}),
            X=numbers(frame, columns),
            y=target,
            domains=where,
            row=np.arange(1, len(frame) + 1),
            columns=columns,
            target=label,
            domain=place,
            task="classification" if is_classifier(self) else "regression",
            strata=None if stratum is None else _strata(stratum, len(frame)),
            notes=(),
            left_out=left_out,
        )
        self._fit(ready, weight)
        return self

    def fit_prepared(self, ready: Prepared, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table that `rpo.frames.prepare` made ready; predictions take tables with the same columns."""
        self._fit(ready, self._roles(ready, sample_weight))
        return self

    def fit_with_controls(
        self, ready: Prepared, sample_weight: ArrayLike | None = None, *, known: Quality | None = None
    ) -> dict[str, Self]:
        """Fit to a prepared table, and beside it two controls that differ in the rows' weights alone.

        "permuted": the weights of cells (strata within domains) go to other cells; "uniform": rows count the same.
        Where the model has no weights, both are the model itself. `known` is the `quality_` of another model fitted to
        the same rows with the same seed: the same judgement is not made again.
        """
        trial, learners, chosen = self._fit(ready, self._roles(ready, sample_weight), known)
        made = {"quality": self, "permuted": self, "uniform": self}
        if chosen.weights and self.quality_ is not None:
            for name in ("permuted", "uniform"):
                weight = np.full(len(trial.weight), trial.weight.mean())
                if name == "permuted":
                    weight = permuted(trial.weight, trial.problem.domain, self.quality_.assigned.labels, self._seed())
                made[name] = copy(self)
                made[name]._refit(replace(trial, weight=weight), learners, chosen)
        return made

    def _roles(self, ready: Prepared, sample_weight: ArrayLike | None) -> Array:
        """What is a feature in a prepared table; the checked weights of its rows."""
        self._check_choices()
        names = [column.name for column in ready.columns]
        self.feature_names_in_, self.n_features_in_ = np.array(names, dtype=object), len(names)
        self.not_features_ = tuple(str(name) for name in ready.frame.columns if name not in names)
        weight = _check_sample_weight(sample_weight, ready.X, dtype=np.float64, ensure_non_negative=True)
        check_weight(weight)
        return np.asarray(weight)

    def _fit(
        self, ready: Prepared, weight: Array, known: Quality | None = None
    ) -> tuple[Trial, Mapping[str, Any], Candidate]:
        # What is fitted within gets its weights directly.
        with config_context(enable_metadata_routing=False), one_thread():
            return self._judge_decide_fit(ready, weight, known)

    def _judge_decide_fit(
        self, ready: Prepared, weight: Array, known: Quality | None
    ) -> tuple[Trial, Mapping[str, Any], Candidate]:
        self.columns_ = ready.columns
        self.left_out_ = {column.name: column.reason for column in ready.left_out}
        self.features_ = np.asarray(ready.names, dtype=object)
        domain, self.domains_ = codes(ready.domains, "domains", len(ready.y))
        encoded = self._encode(ready.y, weight)
        rows, counts = repeated(weight)
        order = in_order(ready.X[rows], encoded[rows], counts, domain[rows])
        rows, counts = rows[order], counts[order]
        seen, code = np.unique(domain[rows], return_inverse=True)
        self.domains_ = self.domains_[seen]
        if len(self.domains_) == 1:
            warnings.warn(
                "there is one training domain only: what differs between domains cannot be learned",
                OneDomainWarning,
                stacklevel=3,
            )
        problem = Problem(ready.X[rows], encoded[rows], code, len(seen), self._n_classes(), counts)
        if known is None:
            self.quality_ = self._judged(problem, ready, rows)
        else:  # its weights are in the order of the rows given
            self.quality_ = replace(known, weight=known.weight[rows])
        trial = trial_of(problem, self.quality_, self._flagged(), self._class_weight(problem), self._seed())
        learners = learners_of(self.estimator, classes=problem.n_classes > 0, rows=len(rows), seed=self._seed())
        if (trial.weight < 1).any() or (counts != counts[0]).any():
            warn_without_weights(learners)
        chosen, value = self._decide(trial, learners)
        self._refit(trial, learners, chosen)
        self._keep(trial, value, rows, len(ready.y))
        self.reference_ = reference_of(trial, value, chosen)
        self.adaptation_ = self._known_effects = None
        return trial, learners, chosen

    # --- checking -----------------------------------------------------------------------------------------------

    def _check_choices(self) -> None:
        for name in ("weights", "screen"):
            if getattr(self, name) not in CHOICES:
                raise InputError(f"{name} must be one of {', '.join(CHOICES)}, got {getattr(self, name)!r}")
        self._seed()

    def _seed(self) -> int:
        state = self.random_state
        if not isinstance(state, int | np.integer) or state < 0:
            raise InputError(f"random_state must be a whole number that is not negative, got {state!r}")
        return int(state)

    def _table(
        self, X: Any, y: Any, sample_weight: Any, domains: Any, strata: Any
    ) -> tuple[pd.DataFrame, NDArray[Any], Array, NDArray[Any] | None, NDArray[Any] | None]:
        """Features as a frame, target, weights, and the labels of domains and strata."""
        if y is None:
            raise InputError("requires y to be passed, but the target y is None")
        self.not_features_ = tuple(name for name in (domains, strata) if isinstance(name, str))
        labels: list[NDArray[Any] | None] = []
        for what, given in (("domains", domains), ("strata", strata)):
            if isinstance(given, str):
                if not isinstance(X, pd.DataFrame) or given not in X.columns:
                    raise InputError(f"X has no column {given!r} ({what}=): name one it has, or give one label per row")
                given = X[given].to_numpy()
            labels.append(None if given is None else np.asarray(given))
        frame, target = self._frame(X, y)
        target = column_or_1d(target, warn=True)
        check_moments(target)
        weight = _check_sample_weight(sample_weight, frame, dtype=np.float64, ensure_non_negative=True)
        check_weight(weight)
        if len(frame) < 2:
            raise InputError("there is one sample (n_samples=1): give at least two")
        return frame, target, weight, labels[0], labels[1]

    def _frame(self, X: Any, y: Any = None) -> tuple[pd.DataFrame, Any]:
        """Features as a frame: of a DataFrame its columns as they are, of an array numbers, checked."""
        fitting = y is not None
        if isinstance(X, pd.DataFrame):
            X = X.drop(columns=[name for name in self.not_features_ if name in X.columns])
            if len(X) == 0 or X.shape[1] == 0:
                raise InputError(f"X has shape {X.shape}, with 0 feature(s) or 0 sample(s): a minimum of 1 is required")
            validate_data(self, X, skip_check_array=True, reset=fitting)
            y = _checked_target(y, len(X)) if fitting else y
            return X.set_axis([str(name) for name in X.columns], axis=1), y
        options: dict[str, Any] = {"dtype": "numeric", "ensure_all_finite": "allow-nan", "reset": fitting}
        if fitting:
            X, y = validate_data(self, X, y, multi_output=True, y_numeric=False, **options)
        else:
            X = validate_data(self, X, **options)
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])]
        return pd.DataFrame(np.asarray(X, dtype=np.float64), columns=names, copy=False), y

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a missing value is the column's median, and marked
        return tags

    def _encode(self, y: NDArray[Any], weight: Array) -> NDArray[Any]:
        raise NotImplementedError

    def _n_classes(self) -> int:
        return len(getattr(self, "classes_", ()))

    def _class_weight(self, problem: Problem) -> Array:
        return np.ones(len(problem.y))

    # --- judging and deciding -----------------------------------------------------------------------------------

    def _judged(self, problem: Problem, ready: Prepared, rows: NDArray[np.intp]) -> Quality | None:
        if len(rows) < FEWEST_JUDGED or (self.weights == "off" and self.screen == "off"):
            return None
        part = replace(
            ready,
            frame=ready.frame.iloc[rows],
            X=problem.X,
            y=ready.y[rows],
            domains=self.domains_[problem.domain].astype(str),
            row=ready.row[rows],
            strata=ready.strata and NamedStrata(ready.strata.labels[rows], ready.strata.names),
        )
        return judge(
            part,
            grouping=self.grouping,
            weight=problem.weight,
            random_state=self._seed(),
            progress=self.verbose,
        )

    def _flagged(self) -> tuple[int, ...]:
        """The places of the features that the judgement flags; none if that would leave none."""
        if self.quality_ is None:
            return ()
        names, column = names_of(self.columns_)
        place = {(name, self.columns_[c].name): k for k, (name, c) in enumerate(zip(names, column, strict=True))}
        table = self.quality_.features[self.quality_.features["suspicious"]]
        found = tuple(sorted(place[pair] for pair in zip(table["feature"], table["column"], strict=True)))
        return found if len(found) < len(self.features_) else ()

    def _decide(self, trial: Trial, learners: Mapping[str, Any]) -> tuple[Candidate, Array]:
        """The candidate, and what the model says of rows whose domain it did not see; both with their figures."""
        classes = trial.problem.n_classes > 0
        tried = {name: learners[name] for name in TRIED if name in learners} or dict(learners)
        folds = len(np.unique(trial.fold))
        with Bar(folds * (len(learners) + 3), "deciding", self.verbose) as bar:
            chosen, table = decided(trial, tried, self.weights, self.screen, bar)
            if not chosen.weights:  # then rows count alike in every figure, too
                trial = replace(trial, weight=np.ones(len(trial.weight)))
            found = trial.held_out(learners, chosen, bar)
            value = trial.mixed(found)
            stock = {"linear": linear(classes), "trees": trees(classes, self._seed())}
            plain = chosen == Candidate(False, False)
            known = {name: found[name] for name in stock if name in found and plain}
            stock = {name: learner for name, learner in stock.items() if name not in known}
            base = "majority" if classes else "mean"
            known |= trial.held_out({**stock, base: constant(classes)}, Candidate(False, False), bar)
        share = trial.shares(found)
        self.shares_ = dict(zip(found, map(float, share), strict=True))
        names = {"quality": value, **{name: known[name] for name in ("linear", "trees", base)}}
        self.expected_error_ = self._named(
            pd.DataFrame([{"learner": name, **self._figures(trial, one)} for name, one in names.items()])
        ).set_index("learner")
        if len(learners) > 1 or len(table) == 0:
            parts = {name: (one, self.shares_[name]) for name, one in found.items()} if len(learners) > 1 else {}
            final = [
                {"candidate": chosen.name, "learner": name, **figures(trial, one, trusted=True), "share": part}
                for name, (one, part) in {**parts, "quality": (value, 1.0)}.items()
            ]
            why = "fitted to all rows, by these shares" if len(table) else self._nothing_to_do()
            last = pd.DataFrame(final).assign(chosen=True, why=why)
            self.decision_ = self._named(pd.concat([table, last], ignore_index=True) if len(table) else last)
        else:
            self.decision_ = self._named(table)
        self.candidate_ = chosen.name
        self._say_dropped(chosen, table)
        return chosen, value

    def _figures(self, trial: Trial, value: Array) -> dict[str, Any]:
        return figures(trial, value, trusted=False)

    def _nothing_to_do(self) -> str:
        if self.quality_ is None:
            return "not judged" if "off" in (self.weights, self.screen) else "too few rows to judge"
        return "no row counts less and no feature is suspicious, or it was turned off"

    def _named(self, table: pd.DataFrame) -> pd.DataFrame:
        """Domains by their label; folds by their number where there is one domain."""
        place = table["worst_domain"].to_numpy()
        names = self.domains_[place].tolist() if len(self.domains_) > 1 else [f"fold {k + 1}" for k in place]
        return table.assign(worst_domain=pd.Series(names, index=table.index, dtype=object))

    def _say_dropped(self, chosen: Candidate, table: pd.DataFrame) -> None:
        """The features that go, each with its share and p and the error with and without all of them."""
        if not chosen.screen or self.quality_ is None:
            columns = ["feature", "column", "share", "p", "error_with", "error_without"]
            self.dropped_ = pd.DataFrame(columns=columns)
            return
        found = self.quality_.features
        gone = found[found["suspicious"]][["feature", "column", "share", "p"]].reset_index(drop=True)
        alone = table[table["learner"] == "quality"].set_index("candidate")["error"]
        without = alone["both" if chosen.weights else "without flagged features"]
        self.dropped_ = gone.assign(error_with=alone["weights" if chosen.weights else "plain"], error_without=without)

    @one_thread()
    def _refit(self, trial: Trial, learners: Mapping[str, Any], chosen: Candidate) -> None:
        problem = trial.problem
        self.kept_ = trial.columns(chosen)
        weight = problem.weight * trial.class_weight * (trial.weight if chosen.weights else 1.0)
        X = problem.X[:, self.kept_]
        parts = {
            name: fitted(learner, X, problem.y, weight, problem.domain, seed=self._seed())
            for name, learner in learners.items()
            if self.shares_[name] > 0
        }
        self.estimator_ = (
            next(iter(parts.values()))
            if len(learners) == 1
            else Stack(parts, {name: self.shares_[name] for name in parts}, problem.n_classes)
        )
        self.weighted_ = chosen.weights

    def _keep(self, trial: Trial, value: Array, rows: NDArray[np.intp], n: int) -> None:
        """What belongs to rows, in the order in which they were given."""
        first, place = np.unique(rows, return_index=True)
        judged = np.zeros(n)
        judged[first] = trial.weight[place]
        if self.quality_ is not None:
            self.quality_ = replace(self.quality_, weight=judged)
        self.weight_ = judged if self.weighted_ else (judged > 0).astype(np.float64)
        problem = trial.problem
        said = {"expected": value} if not problem.n_classes else {f"p{k}": value[:, k] for k in range(value.shape[1])}
        table = pd.DataFrame(
            {"domain": problem.domain, "target": problem.y, **said, "weight": trial.weight, "count": problem.weight}
        )
        self.held_out_ = table.iloc[place].set_index(pd.Index(first, name="row"))
        self.held_out_["count"] = np.bincount(rows, problem.weight, n)[first]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a folder, without pickle; `rpo.load` reads it.

        The target and the held-out prediction of at most 20,000 rows are saved, because intervals need them; features
        and the judgement (`quality_`) are not.

        Parameters
        ----------
        path : path
            The folder. An existing folder is replaced only if it contains nothing but a model.
        """
        from rpo.models.saving import save

        save(self, path)

    # --- predicting ---------------------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> Array:
        value = self._raw(self._features(X))
        return value if self.adaptation_ is None else self.adaptation_(value)

    def _features(self, X: Any) -> Array:
        """The numbers that the learners take."""
        check_is_fitted(self, "estimator_")
        frame, _ = self._frame(X)
        return numbers(frame, self.columns_)[:, self.kept_]

    def _raw(self, values: Array) -> Array:
        """What the learners say, before any adapting."""
        if isinstance(self.estimator_, Stack):
            found = self.estimator_.outputs(values)
        else:
            found = outputs(self.estimator_, values, self._n_classes())
        if not (finite := np.isfinite(found.reshape(len(found), -1)).all(1)).all():
            row = int(np.flatnonzero(~finite)[0])
            raise InputError(
                f"row {row} of X has values so far from those of the fit that no prediction can be computed"
            )
        return found


def _labels(labels: NDArray[Any], what: str, n: int) -> NDArray[Any]:
    """One label per row, checked."""
    code, known = codes(labels, what, n)
    return np.asarray(known)[code]


def _strata(labels: NDArray[Any], n: int) -> NamedStrata:
    code, known = codes(labels, "strata", n)
    return NamedStrata(code, tuple(map(str, known)))


def _checked_target(y: Any, n: int) -> NDArray[Any]:
    """The target beside a DataFrame: as many values as rows, none missing or infinite."""
    target = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    check_consistent_length(np.empty(n), target)
    return np.asarray(target)


class QualityRegressor(RegressorMixin, _Quality):  # type: ignore[misc]
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
        try:
            values = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("the target of a regression must be numbers; for classes use QualityClassifier") from None
        used = values[weight > 0]
        largest = np.abs(used).max(initial=0.0)
        if largest > LARGEST or 0 < largest < SMALLEST:
            raise InputError(f"the target reaches {largest:.1g}: give it in another unit")
        if np.ptp(used) <= 1e-12 * np.abs(used).max(initial=1e-300):
            raise InputError(f"the target is constant ({used[0]} in all {len(used)} rows): there is nothing to learn")
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
        """Prediction intervals that contain the target of rows of an unseen domain with probability `level`.

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
            raise InputError("the target of a regression must be numbers") from None


class QualityClassifier(ClassifierMixin, _Quality):  # type: ignore[misc]
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
        self.classes_ = np.unique(y[weight > 0])
        if len(self.classes_) < 2:
            raise InputError(
                f"the target has one class only ({str(self.classes_[0])!r}): a classifier needs two classes or more"
            )
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
        """Prediction sets that contain the class of rows of an unseen domain with probability `level`.

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
            raise InputError(f"y has the class {str(y[~known][0])!r}, which no training row has: leave these rows out")
        return np.searchsorted(self.classes_, y).astype(np.intp)
