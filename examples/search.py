"""Search hyper-parameters on stacks of models: a grid in one call, and Optuna asked for a stack at a time.

A model of a stack costs a fraction of one trained alone, so that a search asks for several settings at once, trains
them together (`rpo.sweep`), and tells what each was worth. Needs `rpo[search]`.
"""

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import TrialState

import rpo

ROUNDS, TOGETHER, SEEDS = 4, 8, 2


def main() -> dict[str, float]:
    """Print the best of a grid and the best of a search; their mean risks."""
    cigar = rpo.datasets.load_cigar()
    domains = np.digitize(cigar.frame["year"].to_numpy(), [70, 80, 86])
    model = rpo.DomainRegressor("coral", steps=60)
    seeds = list(range(SEEDS))

    grid = {"gamma": [0.1, 1.0, 10.0], "lr": [0.003, 0.03]}
    table = rpo.sweep(model, cigar.X, cigar.y, domains=domains, grid=grid, seeds=seeds)
    means = table.groupby(["gamma", "lr"])["risk"].mean().reset_index().sort_values("risk")
    print(f"A grid of {len(means)}, {SEEDS} seeds each:\n{means.to_string(index=False)}")

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space: dict[str, BaseDistribution] = {
        "gamma": FloatDistribution(0.01, 100.0, log=True),
        "lr": FloatDistribution(1e-3, 0.1, log=True),
    }
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    for _ in range(ROUNDS):
        trials = [study.ask(space) for _ in range(TOGETHER)]
        asked = [trial.params for trial in trials]
        table = rpo.sweep(model, cigar.X, cigar.y, domains=domains, grid=asked, seeds=seeds)
        risks = table["risk"].to_numpy().reshape(TOGETHER, SEEDS).mean(1)  # a training that failed has none
        for trial, risk in zip(trials, risks, strict=True):
            if np.isfinite(risk):
                study.tell(trial, float(risk))
            else:
                study.tell(trial, state=TrialState.FAIL)
    best = {name: round(value, 4) for name, value in study.best_params.items()}
    print(f"{ROUNDS} rounds of {TOGETHER} by Optuna: {best}, risk {study.best_value:.4g}")
    return {"grid": float(means["risk"].iloc[0]), "search": study.best_value}


if __name__ == "__main__":
    main()
