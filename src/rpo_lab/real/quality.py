"""Quality on one fold, each learner with its controls, and the share of planted problems that it detects."""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from rpo._learners.stacking import Stack, fit_learner, learners_of
from rpo._models import QualityClassifier, QualityRegressor
from rpo._models.decision import PLAIN
from rpo._networks.by_name import network_named
from rpo._quality import Quality, judge
from rpo_lab.real.folds import Fold, codes, domain_codes
from rpo_lab.real.learners import boosting, installed, measured, timed
from rpo_lab.runner.outside import Outcome
from rpo_lab.runner.store import Measured

Array = NDArray[np.float64]
ESTIMATORS = ("linear", "trees", "auto")
CONTROLS = ("permuted", "uniform", "true")
OFF, DETECT = "quality-auto-off", "detect"
OURS, THEIRS = "rpo", "cleanlab"
NO_MODEL = "ValueError: the model itself failed"  # the reason that a control gives then


def quality_outcomes(names: Sequence[str], fold: Fold, seed: int) -> dict[str, Outcome]:
    """Measure what these names stand for: `quality-<estimator>[-<control>]`, `quality-auto-off`, `detect`."""
    outcomes: dict[str, Outcome] = {}
    judged: Quality | None = None
    same: Any = None  # the stack of "auto", where the judgement changes nothing
    for estimator in ESTIMATORS:
        wanted = [name for name in names if name.startswith(f"quality-{estimator}") and name != OFF]
        if wanted:
            controls, model = _with_controls(estimator, wanted, fold, seed, judged)
            outcomes |= controls
            judged = model.quality_ if model else judged
            if model and estimator == "auto" and model.candidate_ == PLAIN.name:
                same = model
    if OFF in names:
        outcomes[OFF] = timed(lambda: measured(fold, _predicted(same or _unjudged(fold, seed), fold)))
    if DETECT in names:
        outcomes[DETECT] = timed(lambda: detected(fold, judged, seed))
    return outcomes


def _unjudged(fold: Fold, seed: int) -> Any:
    """Fit the stack alone; where the judgement changes nothing, the model itself is just that."""
    return _model("auto", fold, seed, "off").fit_prepared(fold.train)


def _with_controls(
    estimator: str, wanted: Sequence[str], fold: Fold, seed: int, known: Quality | None
) -> tuple[dict[str, Outcome], Any]:
    """Measure the model and its controls, of one judgement and decision; return the model, too, if it did not fail."""
    models: dict[str, Any] = {}

    def ours() -> Measured:
        models.update(_model(estimator, fold, seed).fit_with_controls(fold.train, known=known))
        model = models["quality"]
        judgement = {
            "unevenness": unevenness(model.quality_.weight if model.quality_ is not None else np.ones(1)),
            "weighted": float(model.weighted_),
            "dropped": float(len(model.dropped_)),
        }
        return measured(fold, _predicted(model, fold), judgement=judgement)

    def control(name: str) -> Measured:
        if not models:
            raise ValueError("the model itself failed")
        if name == "true":
            return measured(fold, refitted(models["quality"], fold, true_weight(fold), seed))
        return measured(fold, _predicted(models[name], fold))

    first = timed(ours)
    outcomes = {}
    for name in wanted:
        which = name.removeprefix(f"quality-{estimator}").removeprefix("-")
        outcomes[name] = timed(partial(control, which)) if which else first
    return outcomes, models.get("quality")


def _model(estimator: str, fold: Fold, seed: int, judged: str = "auto") -> Any:
    kind = QualityClassifier if fold.classes else QualityRegressor
    return kind(estimator, judged, judged, random_state=seed, verbose=False)


def _predicted(model: Any, fold: Fold) -> Array:
    """Predict the held-out rows: numbers, or a probability for each class."""
    new = fold.held.frame[list(model.feature_names_in_)]
    if not fold.classes:
        return np.asarray(model.predict(new), dtype=np.float64)
    classes = np.unique(np.concatenate([fold.train.y, fold.held.y]))
    predicted = np.zeros((len(new), len(classes)))
    predicted[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(new)
    return predicted


def unevenness(weight: Array) -> float:
    """Compute 1 − (Σw)²/(nΣw²): the share of the rows that weights cost (Kish); 0 where all rows count alike.

    >>> unevenness(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    return float(1 - weight.sum() ** 2 / (len(weight) * (weight**2).sum()))


@lru_cache(maxsize=1)
def true_weight(fold: Fold) -> Array:
    """Compute the best weight of each row: σ²/(σ² + τ²), or (1 − 2ε)² for classes.

    τ² is the variance that was added, σ² the mean squared residual of boosted trees on the clean target.
    """
    if fold.classes:
        return np.asarray((1 - 2 * fold.noise) ** 2)
    left = fold.clean - cross_val_predict(boosting(False, 0), fold.train.X, fold.clean, cv=4)
    clean = float(np.mean(left**2))
    return clean / (clean + fold.noise)


def refitted(model: Any, fold: Fold, weight: Array, seed: int) -> Array:
    """Predict by the model's learners, with its shares and on its columns, if rows count by other weights."""
    label, _, number = codes(fold) if fold.classes else (fold.train.y.astype(np.float64), None, 0)
    X, domain = fold.train.X[:, model.kept_], domain_codes(fold).astype(np.intp)
    learners = learners_of(model.estimator, classes=fold.classes, rows=len(X), seed=seed, network=network_named)
    parts = {
        name: fit_learner(learner, X, label, weight, domain, seed=seed)
        for name, learner in learners.items()
        if model.shares_[name] > 0
    }
    stack = Stack(parts, {name: model.shares_[name] for name in parts}, number)
    return stack.outputs(fold.held.X[:, model.kept_])


def detected(fold: Fold, judged: Quality | None, seed: int) -> Measured:
    """Measure how well corrupted domains and rows are told from the others: AUC, beside cleanlab's if installed."""
    judgement = judge(fold.train, random_state=seed, progress=False) if judged is None else judged
    # The judgement has rows in an order of its own, by their number in the table.
    place = np.argsort(fold.train.row)[np.searchsorted(np.sort(fold.train.row), judgement.table.row)]
    expected = np.empty_like(judgement.expected.value)
    expected[place] = judgement.expected.value
    by_row = {OURS: unlikely(fold, expected)}
    noise = judgement.domains.set_index("domain")["noise"]
    names, domain = np.unique(fold.train.domains.astype(str), return_inverse=True)
    own = noise.reindex(names).to_numpy(dtype=np.float64)
    typical = float(np.median(own[np.isfinite(own)])) if np.isfinite(own).any() else 0.0
    by_domain = {OURS: np.where(np.isfinite(own), own, typical)}  # too small to judge: like any other
    if installed(THEIRS):
        by_row[THEIRS] = cleanlab_scores(fold, seed)
        by_domain[THEIRS] = np.bincount(domain, by_row[THEIRS]) / np.bincount(domain)
    bad = np.bincount(domain, fold.noise > 0) == np.bincount(domain)
    truth = {"rows": (fold.bad, by_row), "domains": (bad, by_domain)}
    test = {
        what: {way: float(roc_auc_score(which, score)) for way, score in scores.items()}
        for what, (which, scores) in truth.items()
        if 0 < which.sum() < len(which)
    }
    return Measured(validation_risk=[], validation_irm=[], test=test)


def unlikely(fold: Fold, expected: Array) -> Array:
    """Return how unlikely each training row is, given the others: its residual, or the probability of other labels."""
    if not fold.classes:
        return np.abs(fold.train.y.astype(np.float64) - expected)
    label = np.unique(fold.train.y, return_inverse=True)[1]
    return np.asarray(1 - expected[np.arange(len(label)), label])


def cleanlab_scores(fold: Fold, seed: int) -> Array:
    """Compute cleanlab's score of every row from out-of-sample predictions of a forest, reversed: large is bad."""
    from cleanlab import rank
    from cleanlab.regression import rank as regression_rank

    if not fold.classes:
        predicted = cross_val_predict(RandomForestRegressor(random_state=seed), fold.train.X, fold.train.y, cv=5)
        score = regression_rank.get_label_quality_scores(fold.train.y.astype(np.float64), predicted)
        return 1 - np.asarray(score, dtype=np.float64)
    label = np.unique(fold.train.y, return_inverse=True)[1]
    forest = RandomForestClassifier(random_state=seed)
    predicted = cross_val_predict(forest, fold.train.X, label, cv=5, method="predict_proba")
    return 1 - np.asarray(rank.get_label_quality_scores(label, predicted), dtype=np.float64)
