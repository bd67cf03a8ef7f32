"""Use the weights of `rpo.quality` with your own learner, as `sample_weight`.

Cigarette sales in 46 states. Noise of three standard deviations is added to a third of the training states; eight clean
states are held out. The same boosted trees are fitted without weights, with the estimated weights, with the estimated
weights of another state (a control: if it does as well, it does not matter which rows get less weight), and with
weights that know which states are noisy.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingRegressor

import rpo

DRAWS, HELD_OUT, NOISY = 3, 8, 12


def main(folder: Path = Path("out")) -> None:
    """Print and draw the error on held-out states, over three draws of which are held out and which are noisy."""
    cigar = rpo.datasets.load_cigar()
    X, clean, state = cigar.X.to_numpy(float), cigar.y.to_numpy(float), cigar.frame["state"].to_numpy()
    rows = []
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        order = rng.permutation(np.unique(state))
        test = np.isin(state, order[:HELD_OUT])
        bad = np.isin(state, order[HELD_OUT : HELD_OUT + NOISY])
        y = clean + bad * 3 * clean.std() * rng.normal(size=len(clean))
        judged = rpo.quality(X[~test], y[~test], domains=state[~test]).weight
        others = dict(zip(np.unique(state[~test]), rng.permutation(np.unique(state[~test])), strict=True))
        of_state = pd.Series(judged).groupby(state[~test]).mean()
        weights = {
            "no weights": np.ones(len(judged)),
            "judged": judged,
            "of another state": np.array([of_state[others[name]] for name in state[~test]]),
            "by the true noise": np.where(bad[~test], 0.05, 1.0),
        }
        for name, weight in weights.items():
            model = HistGradientBoostingRegressor(random_state=0).fit(X[~test], y[~test], sample_weight=weight)
            error = float(np.sqrt(np.mean((model.predict(X[test]) - clean[test]) ** 2)))
            rows.append({"draw": draw, "weights": name, "error": error})
    table = pd.DataFrame(rows).pivot(index="weights", columns="draw", values="error")
    table = table.loc[list(weights)].assign(mean=lambda t: t.mean(axis=1))
    print(f"Root mean squared error on {HELD_OUT} held-out states, packs per head:\n{table.round(1).to_string()}")

    figure = Figure(figsize=(6, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.barh(table.index, table["mean"], color=["0.75", "tab:blue", "0.75", "0.75"])
    for draw in range(DRAWS):
        axes.plot(table[draw], table.index, "k.", markersize=4)
    axes.invert_yaxis()
    axes.set_xlabel("error on held-out states (dots: single draws)")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "weights.png", dpi=120)


if __name__ == "__main__":
    main()
