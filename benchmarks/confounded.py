"""Quality models on Table 1's confounded domains: `python -m benchmarks.confounded [--first N] [--seeds N]`.

Cigar and Wage, clean and with bad cells ("mix"), two confounders that follow the target differently in each training
domain and not at all in the test domain. Test mean squared errors of `QualityRegressor("auto")`, of the same without
any judgement, of the same learner on the causal columns alone (an oracle; with bad cells also one that weights rows by
the true noise), and of a network method beside them (`--beside`). Strata are given, as they are in Table 1.
"""

import argparse
import json
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import rpo
from rpo_lab.data.confounded import Confounded, make_confounded

HIDDEN, STEPS = (16,), 400  # of networks, as in Table 1
COLUMNS = tuple(product(("cigar", "wage"), ("clean", "mix")))


def error(model: rpo.QualityRegressor | rpo.DomainRegressor, data: Confounded, columns: int, **weights: Any) -> float:
    """The test error of a model fitted to the first so many columns of the training rows."""
    train, test = data.train, data.test
    model.fit(train.X[:, :columns], train.y, domains=train.domain, strata=train.stratum, **weights)
    return float(np.mean((model.predict(test.X[:, :columns]) - test.y) ** 2))


def measure(table: str, quality: str, seed: int, beside: str) -> dict[str, float]:
    """Test errors by model."""
    data = make_confounded(table, quality=quality, seed=seed)  # type: ignore[arg-type]
    every, causal = len(data.names), len(data.names) - 2
    plain: dict[str, Any] = {"weights": "off", "screen": "off", "verbose": False}
    found = {
        "quality": error(rpo.QualityRegressor(verbose=False), data, every),
        "not judged": error(rpo.QualityRegressor(**plain), data, every),
        "causal": error(rpo.QualityRegressor(**plain), data, causal),
    }
    if quality == "mix":
        found["causal, true noise"] = oracle(table, seed)
    if beside:
        network = rpo.DomainRegressor(beside, hidden=HIDDEN, steps=STEPS, batch_size=None, random_state=seed)
        found[beside] = error(network, data, every)
    return found


def oracle(table: str, seed: int) -> float:
    """The test error of the learner that knows which columns are causal and how noisy each row is."""
    data = make_confounded(table, quality="mix", known_noise=True, seed=seed)  # type: ignore[arg-type]
    model = rpo.QualityRegressor(weights="off", screen="off", verbose=False)
    return error(model, data, len(data.names) - 2, sample_weight=data.train.weight)


def main() -> None:
    """Measure, a line per column and seed as soon as it is known; then the means."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.confounded", description=__doc__)
    parser.add_argument("--first", type=int, default=700, help="the first seed")
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--columns", default=",".join(map(" ".join, COLUMNS)), help="some of them (default: all four)")
    parser.add_argument("--beside", default="irm-lip-cv", help="a network method; empty for none")
    parser.add_argument("--out", type=Path, help="also append JSON lines here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    asked = [column for column in COLUMNS if " ".join(column) in options.columns.split(",")]
    found: dict[tuple[str, str], list[dict[str, float]]] = {column: [] for column in asked}
    for seed in range(options.first, options.first + options.seeds):
        for table, quality in asked:
            row = measure(table, quality, seed, options.beside)
            found[table, quality].append(row)
            words = ", ".join(f"{name} {value:.3f}" for name, value in row.items())
            print(f"{table} {quality}, seed {seed}: {words}", flush=True)
            if options.out is not None:
                with open(options.out, "a") as file:
                    file.write(json.dumps({"table": table, "kind": quality, "seed": seed, "errors": row}) + "\n")
    for (table, quality), rows in found.items():
        means = {name: np.mean([row[name] for row in rows]) for name in rows[0]}
        words = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
        over = means["quality"] / means["causal"]
        print(f"{table} {quality}: mean over {len(rows)} seeds: {words}; quality over causal {over:.3f}")


if __name__ == "__main__":
    main()
