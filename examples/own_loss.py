"""Define your own loss in ten lines: the mean risk, plus β times the risk of the worst domain.

Once defined, the method can be used by name in estimators, sweeps, `rpo compare` and studies on a cluster. Of four
domains, the last has the fewest rows and a different slope, so plain training fits it worst.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import rpo
from rpo.engine import Batch, Net, Params
from rpo.methods import BOTH, State, Terms, Values, log_uniform, method
from rpo.methods.terms import mean_over_present, risks

DOMAINS, ROWS = ("north", "east", "south", "west"), (200, 200, 200, 60)


@method(
    "mean-and-worst",
    tasks=BOTH,
    space={"beta": log_uniform(1.0, 0.1, 100.0, "How much the risk of the worst domain counts besides the mean.")},
    cite="an example",
)
def mean_and_worst(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    """mean_e R_e + β max_e R_e"""
    value = risks(net(params, batch.x), batch, hp.task)
    return {"risk": mean_over_present(value, batch), "worst": hp.beta * value.max()}


def main(folder: Path = Path("out")) -> None:
    """Print and draw the risk of each domain for plain training and for three strengths of the new loss."""
    rng = np.random.default_rng(0)
    domain = np.repeat(DOMAINS, ROWS)
    X = rng.normal(size=(len(domain), 3))
    slope = np.where(domain == "west", -1.0, 1.0)
    y = X[:, 0] + slope * X[:, 1] + 0.3 * rng.normal(size=len(domain))
    models = {"plain": rpo.DomainRegressor("erm-l2", steps=200)}
    for beta in (0.3, 1.0, 10.0):
        models[f"β = {beta:g}"] = rpo.DomainRegressor("mean-and-worst", hyperparameters={"beta": beta}, steps=200)
    test = rng.normal(size=(2000, 3))
    rows = {}
    for name, model in models.items():
        model.fit(X, y, domains=domain)
        rest = {
            where: test[:, 0] + (-1 if where == "west" else 1) * test[:, 1] - model.predict(test) for where in DOMAINS
        }
        rows[name] = {where: float(np.mean(one**2)) for where, one in rest.items()}
    table = pd.DataFrame(rows).T
    print(
        f"Mean squared error on new rows of each domain:\n{table.assign(worst=table.max(axis=1)).round(2).to_string()}"
    )
    print("\nNo single line fits all four domains: the worst one gains at the expense of the others.")

    figure = Figure(figsize=(6, 2.8), layout="constrained")
    axes = figure.subplots()
    table.plot.bar(ax=axes, rot=0, width=0.8)
    axes.set_ylabel("mean squared error")
    axes.legend(ncols=4, fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "own_loss.png", dpi=120)


if __name__ == "__main__":
    main()
