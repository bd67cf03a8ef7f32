"""Learners other than our networks, on one fold: those in common use, and Quality with its controls."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rpo._io import one_thread
from rpo._judging import RULES
from rpo._learners.stacking import constant, lightgbm
from rpo.exceptions import InputError
from rpo_lab.real.folds import Fold, codes, domain_codes, make_fold
from rpo_lab.runner.outside import Outcome
from rpo_lab.runner.specification import Run
from rpo_lab.runner.store import Measured

Array = NDArray[np.float64]
ROUNDS = 100  # of boosting, as every library here has it by default
GAMMA = 2.0  # of anchor boosting; 1 is plain boosting
UNSEEN = "a domain never seen"

# The module that a learner needs beyond the package's own.
NEEDS = {
    "lightgbm": "lightgbm",
    "gpboost": "gpboost",
    "anchor": "anchorboosting",
    "mixed": "statsmodels",
    "cleanlab": "cleanlab",
}


def installed(name: str) -> bool:
    """Return whether a learner can be run here.

    >>> installed("ridge")
    True
    """
    return name not in NEEDS or find_spec(NEEDS[name]) is not None


@cache
def versions() -> dict[str, str]:
    """Return the versions of the libraries that learners are from, and the number of our own rules.

    >>> "rules" in versions()
    True
    """
    libraries = {module: version(module) for name, module in NEEDS.items() if installed(name)}
    return {"rules": str(RULES), "scikit-learn": version("scikit-learn"), **libraries}


def work(runs: Sequence[Run]) -> list[Outcome]:
    """Do all runs of one fold by their learners; a learner that fails says why.

    A table that is not in the cache and a library that is not installed are no run's fault, and raise.
    """
    from rpo_lab.real.quality import quality_outcomes

    names = [run.method.partition(":")[2] for run in runs]
    for name in names:
        if not installed(name):
            raise InputError(f"{NEEDS[name]} is not installed here: pip install 'rpo[real]'")
    fold = fold_of(runs[0])
    outcomes: dict[str, Outcome] = {}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            if name in LEARNERS:
                outcomes[name] = timed(partial(_learned, name, fold, runs[0].seed))
        outcomes |= quality_outcomes([name for name in names if name not in LEARNERS], fold, runs[0].seed)
    return [outcomes[name] for name in names]


def _learned(name: str, fold: Fold, seed: int) -> Measured:
    return measured(fold, LEARNERS[name](fold, seed))


def fold_of(run: Run) -> Fold:
    """Return the fold that a run is about."""
    options: dict[str, Any] = {name: run.data.options[name] for name in ("table", "setting", "fold", "rows")}
    return make_fold(**options, seed=run.seed)


def timed(call: Callable[[], Measured]) -> Outcome:
    """Return what a call gives, or why it fails, and its CPU seconds."""
    start = process_time()
    try:
        outcome: Measured | str = call()
    except Exception as error:
        outcome = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return outcome, float(f"{process_time() - start:.3g}")


def measured(fold: Fold, predicted: Array, **more: dict[str, float]) -> Measured:
    """Measure the errors of predictions for the held-out rows: numbers, or one probability per class."""
    if not np.isfinite(predicted).all():
        raise ValueError("predictions are not finite")
    return Measured(validation_risk=[], validation_irm=[], test={"test": errors(fold, predicted), **more})


def errors(fold: Fold, predicted: Array) -> dict[str, float]:
    """Mean squared error in the table's unit; or Brier's score, accuracy and, for two classes, AUC."""
    if not fold.classes:
        return {"mse": float(np.mean((predicted - fold.held.y) ** 2)) / fold.unit**2}
    truth = codes(fold)[1]
    metrics = {
        "accuracy": float(np.mean(predicted.argmax(1) == truth)),
        "brier": float(np.mean(((predicted - np.eye(predicted.shape[1])[truth]) ** 2).sum(1)) / 2),
    }
    if predicted.shape[1] == 2 and 0 < truth.sum() < len(truth):
        metrics["auc"] = float(roc_auc_score(truth, predicted[:, 1]))
    return metrics


def plain(make: Callable[[bool, int], Any]) -> Callable[[Fold, int], Array]:
    """Make a learner of a fold from a scikit-learn estimator by task and seed."""

    def fit(fold: Fold, seed: int) -> Array:
        if not fold.classes:
            return np.asarray(make(False, seed).fit(fold.train.X, fold.train.y).predict(fold.held.X), dtype=np.float64)
        label, _, number = codes(fold)
        model = make(True, seed).fit(fold.train.X, label)
        predicted = np.zeros((len(fold.held.y), number))
        predicted[:, model.classes_ if hasattr(model, "classes_") else slice(None)] = model.predict_proba(fold.held.X)
        return predicted

    return fit


def line(classes: bool, seed: int) -> Any:  # noqa: ARG001
    """Return ridge regression, its penalty chosen by cross-validation, or logistic regression."""
    last = LogisticRegression(max_iter=500) if classes else RidgeCV(np.logspace(-3, 3, 13))
    return make_pipeline(StandardScaler(), last)


def boosting(classes: bool, seed: int) -> Any:
    """Return scikit-learn's boosted trees."""
    return (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(random_state=seed)


def forest(classes: bool, seed: int) -> Any:
    """Return scikit-learn's random forest."""
    return (RandomForestClassifier if classes else RandomForestRegressor)(random_state=seed, n_jobs=1)


def both(one: Array) -> Array:
    """Return the probability of the second of two classes, as one of each."""
    return np.column_stack([1 - one, one])


@contextmanager
def nothing_printed() -> Iterator[None]:
    """Silence a library's own C code: standard output is for results, which may be JSON."""
    sys.stdout.flush()
    output = os.dup(1)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            yield
    finally:
        os.dup2(output, 1)
        os.close(output)


def gpboost(fold: Fold, seed: int) -> Array:
    """Predict by boosted trees with a random effect for every domain, zero for a new one."""
    import gpboost

    label, level, size = _target(fold)
    params = {"verbose": -1, "num_threads": 1, "seed": seed}
    likelihood, new = "bernoulli_logit" if fold.classes else "gaussian", np.full(len(fold.held.y), UNSEEN)
    with nothing_printed():
        effects = gpboost.GPModel(group_data=fold.train.domains.astype(str), likelihood=likelihood)
        data = gpboost.Dataset(fold.train.X, label, params=params)
        model = gpboost.train(params=params, train_set=data, gp_model=effects, num_boost_round=ROUNDS)
        response = model.predict(data=fold.held.X, group_data_pred=new)["response_mean"]
    predicted = np.asarray(response, dtype=np.float64)
    return both(predicted) if fold.classes else level + size * predicted


def anchor(fold: Fold, seed: int) -> Array:
    """Predict by anchor boosting with the domain as anchor."""
    from anchorboosting import AnchorBooster

    label, level, size = _target(fold)
    objective = "binary" if fold.classes else "regression"
    model = AnchorBooster(GAMMA, None, ROUNDS, objective, verbosity=-1, num_threads=1, seed=seed, deterministic=True)
    model.fit(fold.train.X, label.astype(int) if fold.classes else label, Z=domain_codes(fold))
    predicted = np.asarray(model.predict(fold.held.X), dtype=np.float64)
    return both(predicted) if fold.classes else level + size * predicted


def _target(fold: Fold) -> tuple[Array, float, float]:
    """Return two classes as 0 and 1, or the standardised target with its mean and deviation."""
    if fold.classes:
        label, _, number = codes(fold)
        if number > 2:
            raise ValueError("supports two classes, not more")
        return label.astype(np.float64), 0.0, 1.0
    y = fold.train.y.astype(np.float64)
    level, size = float(y.mean()), float(y.std())
    return (y - level) / size, level, size


def mixed(fold: Fold, seed: int) -> Array:  # noqa: ARG001
    """Fit a linear model with a random intercept for every domain, columns that follow from others left out."""
    from scipy.linalg import qr
    from statsmodels.regression.mixed_linear_model import MixedLM

    if fold.classes:
        raise ValueError("supports regression only")
    scale = StandardScaler().fit(fold.train.X)
    inside, outside = (np.column_stack([np.ones(len(X)), scale.transform(X)]) for X in (fold.train.X, fold.held.X))
    _, triangle, order = qr(inside, mode="economic", pivoting=True)
    size = np.abs(np.diag(triangle))
    columns = np.sort(order[: int((size > 1e-8 * size[0]).sum())])
    y, level, size = _target(fold)
    with warnings.catch_warnings():  # once more: its import says that its own are always shown
        warnings.simplefilter("ignore")
        model = MixedLM(y, inside[:, columns], groups=domain_codes(fold)).fit()
    if not model.converged:
        raise ValueError("did not converge")
    return np.asarray(level + size * (outside[:, columns] @ model.fe_params), dtype=np.float64)


LEARNERS: dict[str, Callable[[Fold, int], Array]] = {
    "mean": plain(lambda classes, _: constant(classes)),
    "ridge": plain(line),
    "hgb": plain(boosting),
    "lightgbm": plain(lightgbm),
    "forest": plain(forest),
    "gpboost": gpboost,
    "anchor": anchor,
    "mixed": mixed,
}
