"""Corrupted rows and strata: how well `rpo.quality` and cleanlab find them, and in what time.

cleanlab (the extra `bench`) gets the out-of-sample predictions of a random forest, as its tutorials do, and is used
through its Datalab. Its check of groups knows classes only: for a regression, the mean of its row scores over a group
stands for it. Two more of its scores tell what a difference is due to: rows by our predictions, and strata
that are ours.
"""

import contextlib
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean, median, stdev
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray

from benchmarks.timing import Row, row
from rpo.datasets import load_cigar, load_wage, make_uneven
from rpo.grouping.cluster import kmeans

Array = NDArray[Any]

OURS, THEIRS = "rpo", "cleanlab"
GROUPS = 10  # of k-means, for cleanlab


@dataclass(frozen=True)
class Corrupted:
    """A table with known bad rows, and known bad strata (as rows that lie in one)."""

    frame: pd.DataFrame
    bad_row: Array
    in_bad_stratum: Array
    classes: bool


@dataclass(frozen=True)
class Scores:
    """A score a row, large where it is bad, for each way to find bad rows and bad strata; CPU seconds."""

    rows: dict[str, Array]
    strata: dict[str, Array]
    seconds: dict[str, float]


def rows(quick: bool = False) -> list[Row]:
    """AUC for corrupted rows and for rows of corrupted strata, means over seeds; CPU seconds, medians."""
    seeds = range(2 if quick else 10)
    jobs = Parallel(n_jobs=2)(delayed(aucs)(name, seed) for name in SETS for seed in seeds)
    found = []
    for place, name in enumerate(SETS):
        runs = jobs[place * len(seeds) : (place + 1) * len(seeds)]
        for what, aim in (("rows", "at least cleanlab's"), ("strata", "above cleanlab's"), ("seconds", "")):
            for way in runs[0][what]:
                values = [run[what][way] for run in runs]
                if what == "seconds":
                    found.append(row(f"{name}, time: {way}", median(values), "CPU s"))
                    continue
                error = stdev(values) / len(values) ** 0.5
                title = f"{name}, corrupted {what}: {way} (± {error:.3f}, {len(values)} seeds)"
                found.append(row(title, mean(values), "AUC", aim if way == OURS else ""))
    # The rule for claiming a difference was settled on seeds 0–19: it is judged on others.
    return found + synthetic(range(100, 102 if quick else 120))


def synthetic(seeds: range) -> list[Row]:
    """How often tables that are uneven are told from those that are not, and the worst is named first."""
    jobs = Parallel(n_jobs=2)(delayed(named)(seed, uneven) for uneven in (False, True) for seed in seeds)
    even, uneven = jobs[: len(seeds)], jobs[len(seeds) :]
    return [
        row("no quality differences: a difference is claimed", mean(run["claimed"] for run in even), "share", "≤ 0.05"),
        row("a bad domain: named first", mean(run["domain"] for run in uneven), "share", "1"),
        row("bad strata: one of them named first", mean(run["stratum"] for run in uneven), "share", "1"),
        row("bad strata: rows of strata called noisy that lie in one", mean(run["right"] for run in uneven), "share"),
        row("bad strata: their rows that lie in strata called noisy", mean(run["found"] for run in uneven), "share"),
    ]


def named(seed: int, uneven: bool) -> dict[str, float]:
    """What `rpo.quality` says of a table with one bad domain and two bad strata, or with none."""
    import rpo

    data = make_uneven(seed=seed) if uneven else make_uneven(bad_domain=None, bad_strata=(), seed=seed)
    frame = pd.DataFrame(data.X).assign(y=data.y, site=data.domains)
    found = rpo.quality(frame, target="y", domain="site", verbose=False)
    strata = found.strata.set_index("stratum").loc[list(found.assigned.names)]
    noisy = strata["noisy"].to_numpy()[found.assigned.labels]
    bad = np.isin(data.strata, data.bad_strata)
    first = strata["rank"].to_numpy()[found.assigned.labels] == 1
    return {
        "claimed": bool(found.domains["noisy"].any() or found.strata["noisy"].any()),
        "domain": found.domains["domain"][0] == str(data.bad_domain) and bool(found.domains["noisy"][0]),
        "stratum": bool(noisy[first].all() and bad[first].mean() > 0.5),
        "right": float(bad[noisy].mean()) if noisy.any() else 0.0,
        "found": float(noisy[bad].mean()) if bad.any() else 0.0,
    }


def aucs(name: str, seed: int) -> dict[str, dict[str, float]]:
    """How well each way does on one corrupted table."""
    from sklearn.metrics import roc_auc_score

    data = SETS[name](seed)
    found = scores(data)
    return {
        "rows": {way: float(roc_auc_score(data.bad_row, score)) for way, score in found.rows.items()},
        "strata": {way: float(roc_auc_score(data.in_bad_stratum, score)) for way, score in found.strata.items()},
        "seconds": found.seconds,
    }


# --- tables --------------------------------------------------------------------------------------------------------


def corrupt_regression(table: Any, by: tuple[str, str], seed: int) -> Corrupted:
    """Two of six strata of two columns: half of their rows get an error of one and a half deviations."""
    rng = np.random.default_rng(seed)
    X = table.X
    points = ((X[list(by)] - X[list(by)].mean()) / X[list(by)].std()).to_numpy(float)
    distinct, count = np.unique(points, axis=0, return_counts=True)
    stratum = np.argmax(kmeans(distinct, count.astype(float), 6).scores(points), axis=1)
    inside = np.isin(stratum, rng.choice(6, 2, replace=False))
    bad = inside & (rng.random(len(X)) < 0.5)
    y = (table.y - table.y.mean()) / table.y.std() + np.where(bad, 1.5 * rng.normal(size=len(X)), 0.0)
    return Corrupted(X.assign(y=y, domain=rng.integers(0, 3, len(X)).astype(str)), bad, inside, False)


def corrupt_digits(seed: int) -> Corrupted:
    """Two of ten digits: three in ten of their rows get another digit."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(seed)
    X, digit = load_digits(return_X_y=True)
    inside = np.isin(digit, rng.choice(10, 2, replace=False))
    bad = inside & (rng.random(len(X)) < 0.3)
    label = np.where(bad, (digit + rng.integers(1, 10, len(X))) % 10, digit)
    frame = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
    return Corrupted(
        frame.assign(y=[f"d{k}" for k in label], domain=rng.integers(0, 3, len(X)).astype(str)), bad, inside, True
    )


SETS: dict[str, Callable[[int], Corrupted]] = {
    "Cigar": lambda seed: corrupt_regression(load_cigar(), ("year", "price"), seed),
    "Wage": lambda seed: corrupt_regression(load_wage(), ("educ", "exper"), seed),
    "digits": corrupt_digits,
}


# --- ways ----------------------------------------------------------------------------------------------------------


def scores(data: Corrupted) -> Scores:
    """Ours, cleanlab's (if it is installed), and cleanlab's with what is ours."""
    import rpo

    start = time.process_time()
    found = rpo.quality(data.frame, target="y", domain="domain", verbose=False)
    seconds = {OURS: time.process_time() - start}
    # Strata are ranked by their ratio to the rest: a share of wrong labels is never below zero, so that many are equal.
    ratio = found.strata.set_index("stratum")["ratio"][list(found.assigned.names)].to_numpy()
    ratio = np.where(np.isnan(ratio), -np.inf, ratio)
    by_row, by_stratum = {OURS: unlikely(found, data)}, {OURS: np.argsort(np.argsort(ratio))[found.assigned.labels]}
    with contextlib.suppress(ImportError):
        import cleanlab  # noqa: F401

        start = time.process_time()
        x, expected = features(data), forest(data)
        groups = clusters(x)
        by_row[THEIRS], by_stratum[THEIRS] = cleanlab_scores(data, expected, groups)
        seconds[THEIRS] = time.process_time() - start
        by_row[f"{THEIRS}, our predictions"], _ = cleanlab_scores(data, found.expected.value, groups)
        _, by_stratum[f"{THEIRS}, our strata"] = cleanlab_scores(data, expected, found.assigned.labels)
        if data.classes:
            _, by_stratum[f"{THEIRS}, its own clusters"] = cleanlab_scores(data, expected, None)
    return Scores(by_row, by_stratum, seconds)


def unlikely(found: Any, data: Corrupted) -> Array:
    """How far each row is from what the others say of it: its residual, or the probability of another label."""
    y = data.frame["y"].to_numpy()
    if not data.classes:
        distance: Array = np.abs(y - found.expected.value)
        return distance
    given: Array = found.expected.value[np.arange(len(y)), np.unique(y, return_inverse=True)[1]]
    return 1 - given


def features(data: Corrupted) -> Array:
    """The columns other than target and domain, standardised; constant ones are left out."""
    x = data.frame.drop(columns=["y", "domain"]).to_numpy(float)
    x = x[:, x.std(0) > 0]
    standard: Array = (x - x.mean(0)) / x.std(0)
    return standard


def clusters(x: Array) -> Array:
    """k-means groups, which cleanlab's documentation advises where its own clusters do not part the data."""
    distinct, count = np.unique(x, axis=0, return_counts=True)
    groups: Array = np.argmax(kmeans(distinct, count.astype(float), GROUPS).scores(x), axis=1)
    return groups


def forest(data: Corrupted) -> Array:
    """Out-of-sample predictions of a random forest, or its probabilities."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.model_selection import cross_val_predict

    kind = RandomForestClassifier if data.classes else RandomForestRegressor
    method = "predict_proba" if data.classes else "predict"
    found: Array = cross_val_predict(kind(random_state=0), features(data), data.frame["y"], cv=5, method=method)
    return found


def cleanlab_scores(data: Corrupted, expected: Array, groups: Array | None) -> tuple[Array, Array]:
    """Its scores of rows and of groups by Datalab, turned so that large is bad; without groups it makes its own."""
    from cleanlab import Datalab

    y = data.frame["y"].to_numpy()
    task = "classification" if data.classes else "regression"
    # It prints to standard output whatever the verbosity.
    with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lab = Datalab({"y": y}, label_name="y", task=task, verbosity=0)
        if not data.classes:
            assert groups is not None
            lab.find_issues(pred_probs=expected, issue_types={"label": {}})
            by_row = 1 - lab.get_issues("label")["label_score"].to_numpy()
            return by_row, (np.bincount(groups, by_row) / np.bincount(groups))[groups]
        given = {} if groups is None else {"cluster_ids": groups}
        # Its own processes cannot be started from a worker of ours.
        alone = {"clean_learning_kwargs": {"find_label_issues_kwargs": {"n_jobs": 1}}}
        types = {"label": alone, "underperforming_group": given}
        lab.find_issues(pred_probs=expected, features=features(data), issue_types=types)
    by_row, by_group = (1 - lab.get_issues(kind)[f"{kind}_score"].to_numpy() for kind in types)
    return by_row, by_group
