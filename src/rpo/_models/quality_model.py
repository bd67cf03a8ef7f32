"""Base of both Quality models: judge the data, decide by held-out domains, fit, predict."""

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from rpo._io import Bar, Grouping, Show, few, one_thread
from rpo._learners.crossfit import Problem
from rpo._learners.stacking import (
    TRIED,
    Stack,
    constant,
    fit_learner,
    learners_of,
    linear,
    outputs,
    trees,
    warn_without_weights,
)
from rpo._models.decision import Candidate, Trial, decide, figures, permute, trial_of
from rpo._models.new_domains import NewDomains
from rpo._models.reference import reference_of
from rpo._models.table_inputs import TableInputs
from rpo._quality import Quality, judge
from rpo._stats.ridge import Array
from rpo._table.checks import warn_of_one_domain
from rpo._table.columns import names_of
from rpo._table.encoding import numbers, repeat_rows, sort_rows
from rpo._table.table import Table
from rpo.exceptions import InputError
from rpo.grouping.strata import codes

MOST_NAMED = 5  # features in a sentence
FEWEST_JUDGED = 40  # rows: of fewer nothing is said about their quality


class QualityModel(NewDomains, TableInputs):
    """Base of both Quality models; subclasses define the kind of target."""

    # `domains` and `strata` travel through Pipeline, GridSearchCV and the like as they are.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"domains": True, "strata": True}

    # Set by the subclasses' constructors.
    estimator: Any
    weights: str
    screen: str
    grouping: Grouping
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
        self._fit(self._prepare(X, y, sample_weight, domains, strata))
        return self

    def fit_prepared(self, ready: Table, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table that `rpo._table.prepare` made ready; predictions take tables with the same columns."""
        self._fit(self._with_weights(ready, sample_weight))
        return self

    def fit_with_controls(
        self, ready: Table, sample_weight: ArrayLike | None = None, *, known: Quality | None = None
    ) -> dict[str, Self]:
        """Fit to a prepared table, and beside it two controls that differ in the rows' weights alone.

        "permuted": the weights of cells (strata within domains) go to other cells; "uniform": rows count the same.
        Where the model has no weights, both are the model itself. `known` is the `quality_` of another model fitted to
        the same rows with the same seed: the same judgement is not made again.
        """
        trial, learners, chosen = self._fit(self._with_weights(ready, sample_weight), known)
        models = {"quality": self, "permuted": self, "uniform": self}
        if chosen.weights and self.quality_ is not None:
            for name in ("permuted", "uniform"):
                weight = np.full(len(trial.weight), trial.weight.mean())
                if name == "permuted":
                    weight = permute(trial.weight, trial.problem.domain, self.quality_.assigned.labels, self._seed())
                models[name] = copy(self)
                models[name]._refit(replace(trial, weight=weight), learners, chosen)
        return models

    def _fit(self, ready: Table, known: Quality | None = None) -> tuple[Trial, Mapping[str, Any], Candidate]:
        # What is fitted within gets its weights directly.
        with config_context(enable_metadata_routing=False), one_thread():
            return self._judge_decide_fit(ready, known)

    def _judge_decide_fit(self, ready: Table, known: Quality | None) -> tuple[Trial, Mapping[str, Any], Candidate]:
        self.columns_ = ready.columns
        self.left_out_ = {column.name: column.reason for column in ready.left_out}
        self.features_ = np.asarray(ready.names, dtype=object)
        weight = np.ones(len(ready.y)) if ready.weight is None else ready.weight
        encoded, (domain, labels) = self._encode(ready.y, weight), codes(ready.domains, "domains", len(ready.y))
        rows, counts = repeat_rows(weight)
        order = sort_rows(ready.X[rows], encoded[rows], counts, domain[rows])
        rows, counts = rows[order], counts[order]
        seen, code = np.unique(domain[rows], return_inverse=True)
        self.domains_ = labels[seen]
        warn_of_one_domain(len(seen), 3)
        used = ready.rows(rows)
        problem = Problem(used.X, encoded[rows], code, len(seen), self._n_classes(), counts)
        if known is None:
            self.quality_ = self._judge(replace(used, domains=used.domains.astype(str), weight=counts, unit=None))
        else:  # its weights are in the order of the rows given
            self.quality_ = replace(known, weight=known.weight[rows])
        trial = trial_of(problem, self.quality_, self._find_flagged(), self._class_weight(problem), self._seed())
        options: dict[str, Any] = {"classes": problem.n_classes > 0, "rows": len(rows), "seed": self._seed()}
        learners = learners_of(self.estimator, **options, network=_network)
        if (trial.weight < 1).any() or (counts != counts[0]).any():
            warn_without_weights(learners)
        chosen, value = self._decide(trial, learners)
        self._refit(trial, learners, chosen)
        self._keep(trial, value, rows, len(ready.y))
        self.reference_ = reference_of(trial, value, chosen)
        self.adaptation_ = self._known_effects = None
        return trial, learners, chosen

    # --- what depends on the target ----------------------------------------------------------------------------

    def _encode(self, y: NDArray[Any], weight: Array) -> NDArray[Any]:
        raise NotImplementedError

    def _n_classes(self) -> int:
        return len(getattr(self, "classes_", ()))

    def _class_weight(self, problem: Problem) -> Array:
        return np.ones(len(problem.y))

    # --- judging and deciding -----------------------------------------------------------------------------------

    def _judge(self, ready: Table) -> Quality | None:
        if len(ready.y) < FEWEST_JUDGED or (self.weights == "off" and self.screen == "off"):
            return None
        return judge(ready, grouping=self.grouping, random_state=self._seed(), progress=self.verbose)

    def _find_flagged(self) -> tuple[int, ...]:
        """Return the positions of flagged features; none if no other feature would be left."""
        if self.quality_ is None:
            return ()
        names, column = names_of(self.columns_)
        place = {(name, self.columns_[c].name): k for k, (name, c) in enumerate(zip(names, column, strict=True))}
        table = self.quality_.features[self.quality_.features["suspicious"]]
        places = tuple(sorted(place[pair] for pair in zip(table["feature"], table["column"], strict=True)))
        return places if len(places) < len(self.features_) else ()

    def _decide(self, trial: Trial, learners: Mapping[str, Any]) -> tuple[Candidate, Array]:
        """Choose the candidate and predict held-out domains; keep the figures of both."""
        classes = trial.problem.n_classes > 0
        tried = {name: learners[name] for name in TRIED if name in learners} or dict(learners)
        folds = len(np.unique(trial.fold))
        with Bar(folds * (len(learners) + 3), "deciding", self.verbose) as bar:
            chosen, table = decide(trial, tried, self.weights, self.screen, bar)
            if not chosen.weights:  # then rows count alike in every figure, too
                trial = replace(trial, weight=np.ones(len(trial.weight)))
            predictions = trial.held_out(learners, chosen, bar)
            value = trial.mix(predictions)
            stock = {"linear": linear(classes), "trees": trees(classes, self._seed())}
            plain = chosen == Candidate(False, False)
            known = {name: predictions[name] for name in stock if name in predictions and plain}
            stock = {name: learner for name, learner in stock.items() if name not in known}
            base = "majority" if classes else "mean"
            known |= trial.held_out({**stock, base: constant(classes)}, Candidate(False, False), bar)
        share = trial.shares(predictions)
        self.shares_ = dict(zip(predictions, map(float, share), strict=True))
        names = {"quality": value, **{name: known[name] for name in ("linear", "trees", base)}}
        self.expected_error_ = self._name_domains(
            pd.DataFrame([{"learner": name, **self._figures(trial, prediction)} for name, prediction in names.items()])
        ).set_index("learner")
        if len(learners) > 1 or len(table) == 0:
            several = predictions if len(learners) > 1 else {}
            parts = {name: (prediction, self.shares_[name]) for name, prediction in several.items()}
            final = [
                {"candidate": chosen.name, "learner": name, **figures(trial, prediction, trusted=True), "share": part}
                for name, (prediction, part) in {**parts, "quality": (value, 1.0)}.items()
            ]
            why = "fitted to all rows, combined by these shares" if len(table) else self._nothing_to_do()
            last = pd.DataFrame(final).assign(chosen=True, why=why)
            self.decision_ = self._name_domains(pd.concat([table, last], ignore_index=True) if len(table) else last)
        else:
            self.decision_ = self._name_domains(table)
        self.candidate_ = chosen.name
        self._keep_dropped(chosen, table)
        return chosen, value

    def _figures(self, trial: Trial, value: Array) -> dict[str, Any]:
        return figures(trial, value, trusted=False)

    def _nothing_to_do(self) -> str:
        if self.quality_ is None:
            return "not judged" if "off" in (self.weights, self.screen) else "too few rows to judge"
        return "no rows are noisy and no feature is suspicious, or the remedies are off"

    def _name_domains(self, table: pd.DataFrame) -> pd.DataFrame:
        """Replace numbers of domains by their labels, or by those of folds if there is one domain."""
        place = table["worst_domain"].to_numpy()
        names = self.domains_[place].tolist() if len(self.domains_) > 1 else [f"fold {k + 1}" for k in place]
        return table.assign(worst_domain=pd.Series(names, index=table.index, dtype=object))

    def _keep_dropped(self, chosen: Candidate, table: pd.DataFrame) -> None:
        """Keep a table of dropped features: share and p of each, and the error with and without all of them."""
        if not chosen.screen or self.quality_ is None:
            columns = ["feature", "column", "share", "p", "error_with", "error_without"]
            self.dropped_ = pd.DataFrame(columns=columns)
            return
        features = self.quality_.features
        gone = features[features["suspicious"]][["feature", "column", "share", "p"]].reset_index(drop=True)
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
            name: fit_learner(learner, X, problem.y, weight, problem.domain, seed=self._seed())
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
        """Keep weights and held-out predictions of rows, in the order of the table."""
        first, place = np.unique(rows, return_index=True)
        judged = np.zeros(n)
        judged[first] = trial.weight[place]
        if self.quality_ is not None:
            self.quality_ = replace(self.quality_, weight=judged)
        self.weight_ = judged if self.weighted_ else (judged > 0).astype(np.float64)
        problem = trial.problem
        shown = {"expected": value} if not problem.n_classes else {f"p{k}": value[:, k] for k in range(value.shape[1])}
        table = pd.DataFrame(
            {"domain": problem.domain, "target": problem.y, **shown, "weight": trial.weight, "count": problem.weight}
        )
        self.held_out_ = table.iloc[place].set_index(pd.Index(first, name="row"))
        self.held_out_["count"] = np.bincount(rows, problem.weight, n)[first]

    @property
    def summary_(self) -> list[str]:
        """What was decided, in sentences, and a warning where the model is no better than no model."""
        check_is_fitted(self, "reference_")
        return decision_words(self)

    def report(self, path: str | os.PathLike[str], title: str = "table") -> None:
        """Write the data-quality page, with the error to expect on new domains.

        Parameters
        ----------
        path : path
            The HTML file.
        title : str
            The title of the page.
        """
        check_is_fitted(self, "reference_")
        if self.quality_ is None:
            raise InputError("the training rows were not judged: there are too few of them, or the remedies are off")
        from rpo._report import write_report  # matplotlib and Jinja, which most calls do not need

        write_report(self.quality_, Path(path), title=title, model=self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a folder, without pickle; `rpo.load` reads it.

        The target and the held-out prediction of at most 20,000 rows are saved, because intervals need them; features
        and the judgement (`quality_`) are not.

        Parameters
        ----------
        path : path
            The folder. An existing folder is replaced only if it contains nothing but a model.
        """
        from rpo._models.model_files import encode_model
        from rpo._saving.folders import write_folder

        write_folder(path, encode_model(self))

    # --- predicting ---------------------------------------------------------------------------------------------

    def _outputs(self, X: Any) -> Array:
        value = self._raw(self._features(X))
        return value if self.adaptation_ is None else self.adaptation_(value)

    def _features(self, X: Any) -> Array:
        """Return the features of X as numbers for the learners."""
        check_is_fitted(self, "estimator_")
        frame, _ = self._frame(X)
        return numbers(frame, self.columns_)[:, self.kept_]

    def _raw(self, values: Array) -> Array:
        """Predict by the learners, without adapting."""
        if isinstance(self.estimator_, Stack):
            raw = self.estimator_.outputs(values)
        else:
            raw = outputs(self.estimator_, values, self._n_classes())
        if not (finite := np.isfinite(raw.reshape(len(raw), -1)).all(1)).all():
            row = int(np.flatnonzero(~finite)[0])
            raise InputError(f"row {row} of X is so far from the training data that no prediction can be computed")
        return raw


def _network(name: str, **options: Any) -> Any:
    from rpo._networks.by_name import network_named  # torch is loaded only where a network is asked for

    return network_named(name, **options)


def decision_words(model: QualityModel) -> list[str]:
    """Describe the decisions of a Quality model, with a warning if it is no better than no model."""
    judged = model.quality_
    less = int(((model.weight_ < 1) & (model.weight_ > 0)).sum())
    if less:
        lines = [f"{less:,} of {len(model.weight_):,} rows get less weight, because they are noisier than the others"]
    elif judged is not None and ((judged.weight > 0) & (judged.weight < 1)).any():
        lines = ["noisy rows keep their full weight: less weight increases the error on held-out domains"]
    else:
        lines = ["all rows have the same weight: none is clearly noisier than the others"] if judged is not None else []
    if len(model.dropped_):
        names = [str(name) for name in model.dropped_["feature"]]
        lines.append(f"dropped, because their relation to the target differs between domains: {_quote(names)}")
    elif judged is not None and judged.features["suspicious"].any():
        names = judged.features.loc[judged.features["suspicious"], "feature"].tolist()
        lines.append(f"suspicious, but kept, because the error on held-out domains is larger without: {_quote(names)}")
    error = model.expected_error_["error"]
    if error.iloc[0] >= error.iloc[-1]:
        lines.append(f"WARNING: on held-out domains the model is no better than the {error.index[-1]}")
    return lines


def _quote(names: Sequence[str]) -> str:
    return few([repr(name[:60]) for name in names], MOST_NAMED)
