"""Decisions by held-out domains: errors of candidates on them, shares of learners, vetoes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from rpo._io import Bar
from rpo._judging.levels import noise_of
from rpo._judging.noise import NumberNoise
from rpo._learners.crossfit import (
    Expected,
    Problem,
    cross_fit,
    cross_predict,
    sample_by_domain,
    squared_errors,
    stacked,
)
from rpo._learners.stacking import Learners, constant, fit_learner, outputs
from rpo._quality import Quality
from rpo._stats.ridge import Array
from rpo._stats.significance import SURE
from rpo.grouping.folds import Folds, folds_by_content, folds_by_group

FOLDS = 5
MUCH = 1.05  # times the error: more is a price for weights that noise cannot explain
CARRIES = 10.0  # times the error without a feature: then it carries the target, whatever its slopes
NOTHING_LEFT = 0.99  # times the error of the mean: models that are no better have nothing left to tell by
FEWEST = 4  # domains that can veto: fewer share what is wrong with them too easily


@dataclass(frozen=True)
class Candidate:
    """A choice of remedies: rows weighted or not, flagged features used or not."""

    weights: bool
    screen: bool

    @property
    def name(self) -> str:
        """In words."""
        names = {(False, False): "plain", (True, False): "weights", (False, True): "without flagged features"}
        return names.get((self.weights, self.screen), "both")


PLAIN = Candidate(False, False)


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows, folds of whole domains, and the weights of the training rows of every fold."""

    problem: Problem
    fold: Folds
    kept: NDArray[np.bool_]
    """Rows that models see: all, or a sample of many."""
    weight: Array
    """What each row is trusted in a score."""
    fold_weight: Mapping[int, Array]
    """By fold, what the rows outside it count in a fit; the held-out ones had no say."""
    flagged: tuple[int, ...]
    class_weight: Array
    seed: int
    known: dict[tuple[Candidate, str], Array] = field(default_factory=dict)
    """What was computed before."""

    def columns(self, candidate: Candidate) -> NDArray[np.intp]:
        """Return the features that a candidate uses."""
        every = np.arange(self.problem.X.shape[1])
        return np.delete(every, self.flagged) if candidate.screen else every

    def held_out(self, learners: Learners, candidate: Candidate, bar: Bar | None = None) -> dict[str, Array]:
        """Predict each row by every learner, fitted without the row's domain."""
        problem, columns = self.problem, self.columns(candidate)
        shape = (len(problem.y), problem.n_classes) if problem.n_classes else (len(problem.y),)
        new = {name: learner for name, learner in learners.items() if (candidate, name) not in self.known}
        self.known.update({(candidate, name): np.zeros(shape) for name in new})

        def fit(seen: NDArray[np.intp], f: int) -> dict[str, Any]:
            weight = problem.weight * self.class_weight * (self.fold_weight[f] if candidate.weights else 1.0)
            rows = problem.X[np.ix_(seen, columns)], problem.y[seen], weight[seen], problem.domain[seen]
            models = {}
            for name, learner in new.items():
                models[name] = fit_learner(learner, *rows, seed=self.seed)
                if bar is not None:
                    bar.advance()
            return models

        for held, models in cross_fit(fit, self.fold, np.flatnonzero(self.kept)):
            X = problem.X[np.ix_(held, columns)]
            for name, model in models.items():
                self.known[candidate, name][held] = outputs(model, X, problem.n_classes)
        return {name: self.known[candidate, name] for name in learners}

    def shares(self, predictions: Mapping[str, Array], rows: NDArray[np.intp] | None = None) -> Array:
        """Compute the share of each learner from predictions for held-out domains, with less weight for noisy rows."""
        counts = self.problem.weight * self.class_weight * self.weight
        place = np.arange(len(counts)) if rows is None else rows
        return stacked(np.stack([value[place] for value in predictions.values()]), self.problem.y[place], counts[place])

    def mix(self, predictions: Mapping[str, Array]) -> Array:
        """Combine the predictions of learners, with shares from the other folds for the rows of each fold."""
        every = np.stack(list(predictions.values()))
        if len(every) == 1:
            return np.asarray(every[0])
        return cross_predict(
            lambda seen, _: self.shares(predictions, seen),
            lambda share, held: np.asarray(np.tensordot(share, every[:, held], 1)),
            self.fold,
        )

    def squared_errors(self, value: Array) -> Array:
        """Return the squared errors of rows; for classes Brier's."""
        return squared_errors(self.problem.y, value)

    def by_domain(self, value: Array, *, trusted: bool) -> tuple[Array, Array]:
        """Compute the mean squared error and the weight of each domain; of each fold if there is a single domain."""
        group = self.problem.domain if self.problem.n_domains > 1 else self.fold
        counts = self.problem.weight * (self.weight if trusted else 1.0)
        mass = np.asarray(np.bincount(group, counts), dtype=np.float64)
        return np.bincount(group, counts * self.squared_errors(value)) / np.maximum(mass, 1e-300), mass

    def surely_worse(self, value: Array, reference: Array) -> float:
        """Return the p of predictions being no worse than others, domains counting by their trusted rows."""
        (error, mass), (other, _) = self.by_domain(value, trusted=True), self.by_domain(reference, trusted=True)
        return paired_p_value(error, other, mass)

    def least_error(self, predictions: Mapping[str, Array]) -> float:
        """Return the smallest root mean squared error of any learner on held-out domains; all rows have full weight."""
        errors = [np.average(self.squared_errors(value), weights=self.problem.weight) for value in predictions.values()]
        return float(np.sqrt(min(errors)))


def paired_p_value(error: Array, reference: Array, mass: Array) -> float:
    r"""Return the one-sided p of a weighted paired t-test over domains: small where errors exceed the reference.

    P(T ≥ t), t = d̄/s(d̄), d_e = error_e − reference_e, d̄ = Σ m_e d_e/Σ m_e, s² = Σ m_e²(d_e − d̄)²/(Σ m_e)² · E/(E − 1).
    E = (Σ m_e)²/Σ m_e² counts domains by their mass. Of fewer than four nothing is sure.

    >>> even = np.ones(8)
    >>> paired_p_value(even + 1, even, even), paired_p_value(even, even, even)
    (0.0, 1.0)
    >>> paired_p_value(even[:2] + 1, even[:2], even[:2])
    1.0
    """
    total = float(mass.sum())
    number = total**2 / float(mass @ mass)
    if number < FEWEST - 1e-9:
        return 1.0
    d = error - reference
    mean = float(mass @ d) / total
    spread = float(np.sqrt(mass**2 @ (d - mean) ** 2 / total**2 * number / (number - 1)))
    if spread <= 1e-12 * float(np.abs(reference).max(initial=0.0)):
        return float(mean <= 1e-12 * float(np.abs(reference).max(initial=0.0)))
    return float(stdtr(number - 1, -mean / spread))


def trial_of(
    problem: Problem, quality: Quality | None, flagged: tuple[int, ...], class_weight: Array, seed: int
) -> Trial:
    """Divide domains into folds (rows by their content if there is one domain only), with weights for each fold."""
    if problem.n_domains > 1:
        fold = folds_by_group(problem.domain, min(FOLDS, problem.n_domains))
    else:
        fold = folds_by_content([problem.X], problem.weight, FOLDS)
        fold = fold if fold.any() else np.arange(len(fold)) % FOLDS
    weight = np.ones(len(problem.y)) if quality is None else quality.weight
    by_fold = dict.fromkeys(np.unique(fold).tolist(), weight)
    if quality is not None and (weight < 1).any():
        by_fold = {f: _weight_without(problem, quality, flagged, fold != f) for f in by_fold}
    return Trial(problem, fold, sample_by_domain(problem), weight, by_fold, flagged, class_weight, seed)


def _weight_without(problem: Problem, quality: Quality, flagged: tuple[int, ...], seen: NDArray[np.bool_]) -> Array:
    """Compute weights from the noise of the rows in `seen`; levels and shrinkage are estimated from these alone.

    A judgement of its own in every fold would cost more than all else; the residuals are out of row already.
    """
    used, domain = np.unique(problem.domain[seen], return_inverse=True)
    part = replace(
        problem,
        X=np.delete(problem.X[seen], flagged, 1),
        y=problem.y[seen],
        domain=domain,
        n_domains=len(used),
        weight=problem.weight[seen],
    )
    expected = Expected(quality.expected.value[seen], quality.expected.plain[seen], quality.expected.shares)
    noise = noise_of(part, expected)
    if isinstance(noise, NumberNoise):
        noise = replace(noise, misfit=quality.misfit)
    label = quality.assigned.labels[seen]
    weight = np.ones(len(problem.y))
    weight[seen] = noise.weights(label, len(quality.assigned.names))[domain, label]
    return weight


def permute(weight: Array, domain: NDArray[np.intp], stratum: NDArray[np.intp], seed: int) -> Array:
    """Permute the weights of cells: as many rows as before have less weight, but others.

    >>> zero = np.zeros(4, np.intp)
    >>> sorted(permute(np.array([1.0, 0.5, 0.2, 0.1]), zero, np.arange(4), 0).tolist())
    [0.1, 0.2, 0.5, 1.0]
    """
    _, first, cell = np.unique(domain * (stratum.max() + 1) + stratum, return_index=True, return_inverse=True)
    return np.asarray(np.random.default_rng(seed).permutation(weight[first])[cell])


def decide(
    trial: Trial, learners: Learners, weights: str, screen: str, bar: Bar | None = None
) -> tuple[Candidate, pd.DataFrame]:
    """Choose the remedies of the judgement, unless held-out domains veto them; return the candidate and a table of all.

    Candidates are never asked to be better: of weights that are right, held-out domains often cannot tell.
    """
    can_weigh, can_screen = bool((trial.weight < 1).any()), len(trial.flagged) > 0
    every = [
        Candidate(w, s)
        for s in ((False, True) if can_screen and screen != "off" else (False,))
        for w in ((False, True) if can_weigh and weights != "off" else (False,))
    ]
    if len(every) == 1:
        return PLAIN, _table(trial, {})
    predictions = {candidate: trial.held_out(learners, candidate, bar) for candidate in every}
    value = {candidate: trial.mix(parts) for candidate, parts in predictions.items()}
    p = {candidate: trial.surely_worse(value[candidate], value[PLAIN]) for candidate in every}
    all_rows = {candidate: trial.least_error(parts) for candidate, parts in predictions.items()}
    empty = _nothing_left(trial, value)
    veto = {candidate: _veto(candidate, p[candidate], all_rows, trial.problem.n_domains, empty) for candidate in every}

    def go(candidate: Candidate, option: str) -> bool:
        return candidate in veto and (option == "on" or not veto[candidate])

    chosen = Candidate(go(Candidate(True, False), weights), go(Candidate(False, True), screen))
    if chosen == Candidate(True, True) and "on" not in (weights, screen) and veto[chosen]:
        single = (Candidate(True, False), Candidate(False, True))
        chosen = min(single, key=lambda candidate: value_error(trial, value[candidate]))
    several = len(learners) > 1
    shown = {
        candidate: {**(predictions[candidate] if several else {}), "quality": stack}
        for candidate, stack in value.items()
    }
    table = _table(trial, shown)
    of = [candidate for candidate, parts in shown.items() for _ in parts]
    table["p_worse"] = [p[candidate] for candidate in of]
    table["chosen"] = [candidate == chosen for candidate in of]
    table["why"] = [_why(candidate, chosen, veto[candidate], weights, screen) for candidate in of]
    return chosen, table


def _nothing_left(trial: Trial, value: Mapping[Candidate, Array]) -> bool:
    """Return whether models need flagged features to beat the mean (of classes, their shares) on held-out domains."""
    mean = trial.held_out({"mean": constant(trial.problem.n_classes > 0)}, PLAIN)["mean"]
    bound = NOTHING_LEFT * value_error(trial, mean)
    with_them = [value_error(trial, stack) < bound for candidate, stack in value.items() if not candidate.screen]
    without = [value_error(trial, stack) < bound for candidate, stack in value.items() if candidate.screen]
    return any(with_them) and not any(without)


def _veto(candidate: Candidate, p: float, all_rows: Mapping[Candidate, float], domains: int, empty: bool) -> str:
    """Return why held-out domains veto a candidate; empty if they do not.

    A feature that carries the target stays, however few domains say so: one without which errors are ten times as
    large, or (`empty`) without which nothing is left that beats the mean. Noise is as large for any model: if rows that
    count less are only noise, weights cost nothing even where all rows are counted in full. If they cost much there,
    these rows were large rather than noisy.
    """
    if p < SURE:
        return "significantly worse on held-out domains"
    if candidate.screen and all_rows[candidate] > CARRIES * all_rows[Candidate(candidate.weights, False)]:
        return "the error on held-out domains is more than ten times as large without these features"
    if candidate.screen and empty:
        return "without these features, no model is better than the mean on held-out domains"
    plain = all_rows[Candidate(False, candidate.screen)]
    if candidate.weights and domains >= FEWEST and all_rows[candidate] > MUCH * plain:
        worse = 100 * (all_rows[candidate] / plain - 1)
        return f"{worse:.0f} % worse on held-out domains if all of their rows have full weight"
    return ""


def value_error(trial: Trial, value: Array) -> float:
    """Compute the root mean squared error on held-out domains, with less weight for noisy rows."""
    error, mass = trial.by_domain(value, trusted=True)
    return float(np.sqrt(mass @ error / mass.sum()))


def _why(candidate: Candidate, chosen: Candidate, veto: str, weights: str, screen: str) -> str:
    remedies = (("weights", candidate.weights, weights), ("screen", candidate.screen, screen))
    forced = [name for name, used, option in remedies if used and option == "on"]
    if candidate == chosen:
        if candidate == PLAIN:
            return "all other candidates were vetoed"
        return f"requested by {' and '.join(forced)}='on'" if forced else "not vetoed by held-out domains"
    if candidate == PLAIN:
        return "baseline for the other candidates"
    return f"vetoed: {veto}" if veto else "another candidate was preferred"


def _table(trial: Trial, predictions: Mapping[Candidate, Mapping[str, Array]]) -> pd.DataFrame:
    rows = [
        {"candidate": candidate.name, "learner": name, **figures(trial, value, trusted=True)}
        for candidate, parts in predictions.items()
        for name, value in parts.items()
    ]
    return pd.DataFrame(rows, columns=["candidate", "learner", "error", "spread", "worst", "worst_domain"])


def figures(trial: Trial, value: Array, *, trusted: bool) -> dict[str, float | int]:
    """Compute the error of all rows, its standard deviation over domains, and the worst domain.

    Errors are roots of mean squared errors, for classes Brier's score.
    Domains of fewer than five rows count for the mean alone.
    """
    error, mass = trial.by_domain(value, trusted=trusted)
    group = trial.problem.domain if trial.problem.n_domains > 1 else trial.fold
    enough = np.bincount(group, trial.problem.weight > 0) >= 5
    enough = enough if enough.any() else mass > 0
    total = float(mass @ error / mass.sum())
    if not trial.problem.n_classes:
        error, total = np.sqrt(error), float(np.sqrt(total))
    worst = int(np.where(enough, error, -np.inf).argmax())
    spread = float(error[enough].std(ddof=1)) if enough.sum() > 1 else np.nan
    return {"error": total, "spread": spread, "worst": float(error[worst]), "worst_domain": worst}
