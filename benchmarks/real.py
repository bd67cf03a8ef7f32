"""Quality models on the sixteen real tables: `python -m benchmarks.real [--planted SHARE] [--method NAME] [--seeds N]`.

Domains are held out in five folds (up to eight domains: one at a time). The error (root mean squared, for classes
Brier's) stands over that of the best of ridge or logistic regression, scikit-learn's boosted trees and its forest. With
`--planted`, a share of the domains gets noise of three deviations of the target (for classes 40 % wrong labels), and
errors on the clean target stand beside those without noise, without weights, and with permuted and uniform ones.
`rpo data get tables` fetches the tables.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rpo import QualityClassifier, QualityRegressor
from rpo._table import Table, prepare
from rpo.grouping.folds import folds_by_group
from rpo_lab.data.real import load_real
from rpo_lab.data.recipes import recipes

FOLDS, MOST_ALONE = 5, 8
DEVIATIONS, WRONG = 3.0, 0.4


def stock(classes: bool, seed: int) -> dict[str, Any]:
    """The learners that a practitioner would try."""
    if classes:
        return {
            "linear": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
            "boosted": HistGradientBoostingClassifier(random_state=seed),
            "forest": RandomForestClassifier(random_state=seed),
        }
    return {
        "linear": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        "boosted": HistGradientBoostingRegressor(random_state=seed),
        "forest": RandomForestRegressor(random_state=seed),
    }


def squares(model: Any, X: Any, y: NDArray[Any], classes: NDArray[Any] | None) -> NDArray[np.float64]:
    """Squared errors of rows; of classes Brier's."""
    if classes is None:
        return np.asarray((model.predict(X) - y) ** 2)
    shares = np.zeros((len(y), len(classes)))
    shares[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    return np.asarray(((shares - (y[:, None] == classes)) ** 2).sum(1) / 2)


def part_of(ready: Table, rows: NDArray[np.bool_], y: NDArray[Any]) -> pd.DataFrame:
    """Rows of the table with another target."""
    return ready.frame[rows].assign(**{ready.target: y[rows]})


def folds_of(ready: Table, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Which rows each fold holds out; the seed deals the domains."""
    names, code = np.unique(ready.domains, return_inverse=True)
    place = np.random.default_rng(seed).permutation(len(names))[code]
    fold = folds_by_group(place, FOLDS) if len(names) > MOST_ALONE else place
    return (fold == f for f in np.unique(fold))


def noisy(ready: Table, share: float, seed: int) -> NDArray[Any]:
    """The target with noise in a share of the domains."""
    rng = np.random.default_rng([seed, 1])
    names, code = np.unique(ready.domains, return_inverse=True)
    bad = np.isin(code, rng.permutation(len(names))[: int(np.ceil(share * len(names)))])
    if ready.task == "regression":
        return np.asarray(ready.y + bad * DEVIATIONS * ready.y.std() * rng.normal(size=len(code)))
    classes, label = np.unique(ready.y, return_inverse=True)
    turned = bad & (rng.random(len(code)) < WRONG)
    return np.asarray(classes[np.where(turned, (label + 1) % len(classes), label)])


def measure(name: str, method: str, planted: float, seed: int) -> dict[str, Any]:
    """Errors on held-out domains, by model."""
    table = load_real(name)
    frame = table.X.assign(**{table.target: np.asarray(table.y), "(domain)": np.asarray(table.domains)})
    ready = prepare(frame, target=table.target, domain="(domain)", task=table.task)
    classes = np.unique(ready.y) if ready.task == "classification" else None
    kind = QualityRegressor if classes is None else QualityClassifier
    roles: dict[str, Any] = {"target": ready.target, "domain": "(domain)", "task": ready.task}
    found: dict[str, list[NDArray[np.float64]]] = {}
    chosen: list[str] = []
    for held in folds_of(ready, seed):
        truth, new = ready.y[held], ready.frame[held]

        def fitted(y: NDArray[Any], seen: NDArray[np.bool_], **options: Any) -> dict[str, Any]:
            model = kind(method, random_state=seed, verbose=False, **options)
            return model.fit_with_controls(prepare(part_of(ready, seen, y), **roles))

        models: dict[str, Any] = {}
        if planted:
            off: dict[str, Any] = {"weights": "off", "screen": "off"}
            models = {"clean": fitted(ready.y, ~held, **off)["quality"]}
            target = noisy(ready, planted, seed)
            models["none"] = fitted(target, ~held, **off)["quality"]
            models |= fitted(target, ~held)
        else:
            models["quality"] = fitted(ready.y, ~held)["quality"]
            for learner, model in stock(classes is not None, seed).items():
                found.setdefault(learner, []).append(
                    squares(model.fit(ready.X[~held], ready.y[~held]), ready.X[held], truth, classes)
                )
        for key, model in models.items():
            found.setdefault(key, []).append(squares(model, new, truth, classes))
        chosen.append(models["quality"].candidate_)
    power = 0.5 if classes is None else 1.0
    errors = {key: float(np.concatenate(values).mean() ** power) for key, values in found.items()}
    kept = {candidate: chosen.count(candidate) for candidate in sorted(set(chosen))}
    domains = len(np.unique(ready.domains))
    return {"table": name, "seed": seed, "rows": len(ready.y), "domains": domains, "errors": errors, "chosen": kept}


def shown(row: dict[str, Any]) -> str:
    """One line of the report."""
    errors = row["errors"]
    figures = " ".join(f"{name} {value:.4g}" for name, value in errors.items())
    if "clean" in errors:
        ratio = f"over none {errors['quality'] / errors['none']:.3f}"
    else:
        ratio = f"over best {errors['quality'] / min(errors[name] for name in ('linear', 'boosted', 'forest')):.3f}"
    return f"{row['table']:13} {row['domains']:4} domains  {ratio}  {figures}  {row['chosen']}"


def summary(rows: list[dict[str, Any]]) -> str:
    """The geometric mean and the worst ratio; with planted noise also how much of the damage is undone."""
    errors = pd.DataFrame([row["errors"] for row in rows])
    if "clean" not in errors:
        ratio = errors["quality"] / errors[["linear", "boosted", "forest"]].min(axis=1)
        return (
            f"over the best stock learner: geometric mean {np.exp(np.log(ratio).mean()):.3f}, worst {ratio.max():.3f}"
        )
    lines = []
    for name in ("quality", "permuted", "uniform"):
        ratio = errors[name] / errors["none"]
        undone = (errors["none"] - errors[name]).sum() / (errors["none"] - errors["clean"]).sum()
        each = ((errors["none"] - errors[name]) / (errors["none"] - errors["clean"])).median()
        words = f"mean {ratio.mean():.3f}, worst {ratio.max():.3f} over none; damage undone: median {each:.2f}"
        lines.append(f"{name}: {words}, of the sum {undone:.2f}")
    return "\n".join(lines)


def main() -> None:
    """Measure, a line per table and seed as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    parser.add_argument("--tables", default=",".join(recipe.name for recipe in recipes()), help="a,b (default: all)")
    parser.add_argument("--method", default="auto", help="auto, linear, trees")
    parser.add_argument("--planted", type=float, default=0.0, help="share of domains with noise")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="also write JSON lines here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for seed in range(options.seeds):
        for name in options.tables.split(","):
            rows.append(measure(name, options.method, options.planted, seed))
            print(shown(rows[-1]), flush=True)
            if options.out is not None:
                with open(options.out, "a") as file:
                    file.write(json.dumps({"method": options.method, "planted": options.planted, **rows[-1]}) + "\n")
        print(f"{seed + 1} seeds, {options.method}, planted {options.planted}: {summary(rows)}", flush=True)


if __name__ == "__main__":
    main()
