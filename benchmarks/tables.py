"""Your own table: how `rpo quality` and `rpo fit` grow with the rows, and how well bad rows and strata are found.

Detection is compared with cleanlab (the extra `bench`): its label scores for rows, its underperforming groups for
strata. It has no group check for regressions; there the mean of its row scores over k-means clusters stands for one.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.timing import Row, row
from rpo.datasets import load_cigar, load_wage
from rpo.grouping.cluster import kmeans

Array = NDArray[Any]

MEASURED = (("corrupted rows", "AUC"), ("corrupted strata", "AUC"), ("time", "CPU s"))
PEAK = """
import re, sys, time
from rpo.cli import main
start = time.process_time()
sys.argv = ["rpo", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
print("\\n", time.process_time() - start, peak)
"""


def rows(quick: bool = False) -> list[Row]:
    """Growth with the rows, then detection."""
    return growth((10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)) + detection(2 if quick else 10)


# --- growth --------------------------------------------------------------------------------------------------------


def growth(sizes: tuple[int, ...]) -> list[Row]:
    """CPU seconds and peak memory of the commands on tables of 20 columns."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = Path(folder, f"{n}.csv")
            large(n).to_csv(path, index=False)
            found.append(row(f"reading {n:,} rows × 20 columns", _reading(path), "CPU s"))
            for command in ("quality", "fit"):
                options = ["--out", f"{folder}/{n}"] if command == "fit" else []
                seconds, peak = _run(command, str(path), "-t", "y", "-d", "site", *options)
                aim = "below 3,000" if n == max(sizes) else ""
                found.append(
                    row(f"rpo {command}, {n:,} rows × 20 columns", seconds, "CPU s", "grows no faster than rows")
                )
                found.append(row(f"rpo {command}, {n:,} rows × 20 columns: peak memory", peak, "MB", aim))
    return found


def large(n: int) -> pd.DataFrame:
    """Numbers, categories, dates; noise four times as large where x2 > 1."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 16)).round(4), columns=[f"x{i}" for i in range(16)])
    frame["kind"] = np.array(list("abcdefgh"))[rng.integers(0, 8, n)]
    frame["day"] = np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]")
    frame["site"] = rng.integers(0, 50, n)
    noise = rng.normal(size=n) * np.where(frame["x2"] > 1, 2.0, 0.5)
    return frame.assign(y=(frame["x0"] + np.sin(frame["x1"]) + noise).round(4))


def _reading(path: Path) -> float:
    from rpo.tables import read_table

    start = time.process_time()
    read_table(path)
    return time.process_time() - start


def _run(*words: str) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=True, env=os.environ
    )
    seconds, peak = map(float, done.stdout.splitlines()[-1].split())
    return seconds, peak


# --- detection -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Corrupted:
    """A table with known bad rows, and known bad strata (as rows that lie in one)."""

    frame: pd.DataFrame
    bad_row: Array
    in_bad_stratum: Array
    classes: bool


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


def ours(data: Corrupted) -> tuple[Array, Array]:
    """Squared residuals, and the noise of each row's stratum."""
    import rpo

    found = rpo.quality(data.frame, target="y", domain="domain", progress=False)
    noise = found.strata.set_index("stratum")["noise"]
    return found.residuals.squared, noise[list(found.stratum_names)].to_numpy()[found.stratum]


def cleanlab(data: Corrupted) -> tuple[Array, Array]:
    """Its scores, turned so that large is bad, from a random forest's out-of-sample predictions."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.model_selection import cross_val_predict

    X = data.frame.drop(columns=["y", "domain"]).to_numpy(float)
    y = data.frame["y"].to_numpy()
    if not data.classes:
        from cleanlab.regression.rank import get_label_quality_scores

        guess = cross_val_predict(RandomForestRegressor(random_state=0), X, y, cv=5)
        score = 1 - get_label_quality_scores(y, guess)
        scaled = (X - X.mean(0)) / X.std(0)
        distinct, count = np.unique(scaled, axis=0, return_counts=True)
        group = np.argmax(kmeans(distinct, count.astype(float), 10).scores(scaled), axis=1)
        return score, (np.bincount(group, score) / np.bincount(group))[group]
    from cleanlab import Datalab

    shares = cross_val_predict(RandomForestClassifier(random_state=0), X, y, cv=5, method="predict_proba")
    with open(os.devnull, "w") as quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, sys.stdout = sys.stdout, quiet
        try:
            lab = Datalab({"X": X, "y": y}, label_name="y", verbosity=0)
            lab.find_issues(pred_probs=shares, features=X, issue_types={"label": {}, "underperforming_group": {}})
        finally:
            sys.stdout = before
    by_row, by_group = (
        1 - lab.get_issues(kind)[f"{kind}_score"].to_numpy() for kind in ("label", "underperforming_group")
    )
    return by_row, by_group


def detection(seeds: int) -> list[Row]:
    """AUC for corrupted rows and for rows of corrupted strata, and CPU seconds, each the mean over seeds."""
    from sklearn.metrics import roc_auc_score

    ways: dict[str, Callable[[Corrupted], tuple[Array, Array]]] = {"rpo": ours, "cleanlab": cleanlab}
    try:
        import cleanlab as _  # noqa: F401
    except ImportError:
        ways.pop("cleanlab")
    sets: dict[str, Callable[[int], Corrupted]] = {
        "Cigar": lambda seed: corrupt_regression(load_cigar(), ("year", "price"), seed),
        "Wage": lambda seed: corrupt_regression(load_wage(), ("educ", "exper"), seed),
        "digits": corrupt_digits,
    }
    found = []
    for name, make in sets.items():
        results: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
        for seed in range(seeds):
            data = make(seed)
            for way, detect in ways.items():
                start = time.process_time()
                by_row, by_stratum = detect(data)
                seconds = time.process_time() - start
                aucs = roc_auc_score(data.bad_row, by_row), roc_auc_score(data.in_bad_stratum, by_stratum)
                results[way].append((*aucs, seconds))
        for way, values in results.items():
            aims = ("at least cleanlab's", "above cleanlab's", "") if way == "rpo" else ("", "", "")
            for k, (what, unit) in enumerate(
                (("corrupted rows", "AUC"), ("corrupted strata", "AUC"), ("time", "CPU s"))
            ):
                found.append(row(f"{name}, {what}: {way}, {seeds} seeds", mean(v[k] for v in values), unit, aims[k]))
    return found
