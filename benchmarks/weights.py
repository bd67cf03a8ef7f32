"""Quality weights for boosted trees on the real tables: `python -m benchmarks.weights [--planted SHARE] [--first N]`.

Domains are held out in three folds. A share of the others gets noise of three deviations of the target.
scikit-learn's boosted trees are fitted to them: unweighted, by `rpo.quality(…).weight`, by the same weights on other
domains, and by the true noise, σ²/(σ² + 9 s²) with σ² what trees leave of the clean target. Errors are on the clean
target of the domains held out, over the unweighted ones. `rpo data get tables` fetches the tables.
"""

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict

import rpo
from benchmarks.real import DEVIATIONS, noisy
from rpo._table import prepare
from rpo.grouping.folds import folds_by_group
from rpo_lab.data.real import load_real
from rpo_lab.data.recipes import recipes

FOLDS = 3
TABLES = tuple(recipe.name for recipe in recipes() if recipe.task == "regression")

Array = NDArray[np.float64]


def dealt(weight: Array, domain: NDArray[np.intp], rng: np.random.Generator) -> Array:
    """The mean weight of each domain, on another domain."""
    names, code = np.unique(domain, return_inverse=True)
    own = np.bincount(code, weight) / np.bincount(code)
    return np.asarray(own[rng.permutation(len(names))][code])


def measure(name: str, planted: float, seed: int) -> dict[str, Any]:
    """Root mean squared errors on held-out domains, by weights."""
    table = load_real(name)
    frame = table.X.assign(**{table.target: np.asarray(table.y), "(domain)": np.asarray(table.domains)})
    ready = prepare(frame, target=table.target, domain="(domain)", task=table.task)
    names, code = np.unique(ready.domains, return_inverse=True)
    fold = folds_by_group(np.random.default_rng(seed).permutation(len(names))[code], min(FOLDS, len(names)))
    y = noisy(ready, planted, seed) if planted else ready.y
    trees = HistGradientBoostingRegressor(random_state=0)
    left = float(np.mean((ready.y - cross_val_predict(trees, ready.X, ready.y, cv=4)) ** 2))
    bad = (y != ready.y) * (DEVIATIONS * ready.y.std()) ** 2
    square: dict[str, list[Array]] = {}
    for f in np.unique(fold):
        seen, held = np.flatnonzero(fold != f), fold == f
        found = rpo.quality(
            ready.frame.iloc[seen].assign(**{ready.target: y[seen]}),
            target=ready.target,
            domain="(domain)",
            task="regression",
            verbose=False,
            random_state=seed,
        )
        rng = np.random.default_rng([seed, 2])
        ways: dict[str, Array | None] = {
            "none": None,
            "quality": found.weight,
            "permuted": dealt(found.weight, code[seen], rng),
            "true": left / (left + bad[seen]),
        }
        for way, weight in ways.items():
            model = HistGradientBoostingRegressor(random_state=0).fit(ready.X[seen], y[seen], sample_weight=weight)
            square.setdefault(way, []).append((model.predict(ready.X[held]) - ready.y[held]) ** 2)
    errors = {way: float(np.sqrt(np.concatenate(parts).mean())) for way, parts in square.items()}
    return {"table": name, "seed": seed, "planted": planted, "domains": len(names), "errors": errors}


def main() -> None:
    """Measure, a line per table and seed as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weights", description=__doc__)
    parser.add_argument("--tables", default=",".join(TABLES), help="a,b (default: all with a number as target)")
    parser.add_argument("--planted", default="0,0.3,0.5", help="shares of domains with noise")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, help="also append JSON lines here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for planted in map(float, options.planted.split(",")):
        ratios: dict[str, list[float]] = {}
        for seed in range(options.first, options.first + options.seeds):
            for name in options.tables.split(","):
                row = measure(name, planted, seed)
                none = row["errors"]["none"]
                for way, error in row["errors"].items():
                    ratios.setdefault(way, []).append(error / none)
                said = " ".join(f"{way} {error / none:.3f}" for way, error in row["errors"].items() if way != "none")
                print(f"{planted:4} {name:10} {row['domains']:4} domains  none {none:.4g}  over it: {said}", flush=True)
                if options.out is not None:
                    with open(options.out, "a") as file:
                        file.write(json.dumps(row) + "\n")
        means = ", ".join(
            f"{way} {np.mean(v):.3f} (worst {np.max(v):.3f})" for way, v in ratios.items() if way != "none"
        )
        beside = np.mean(np.array(ratios["quality"]) / np.array(ratios["true"]))
        print(f"planted {planted}: {means}; quality over true {beside:.3f}", flush=True)


if __name__ == "__main__":
    main()
