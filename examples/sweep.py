"""Train thirty-six models as one stack: a grid of two hyper-parameters, with two seeds each.

CORAL on Cigar, with three periods as training domains and a fourth for model selection. The script compares the time of
the whole grid with that of a single model.
"""

import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import rpo

GAMMA, RATE, SEEDS = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3), (0.003, 0.01, 0.03), 2


def main(folder: Path = Path("out")) -> None:
    """Print the best settings and draw the grid."""
    cigar = rpo.datasets.load_cigar()
    X, y = cigar.X.to_numpy(np.float32), cigar.y.to_numpy(np.float32)
    period = np.digitize(cigar.frame["year"].to_numpy(), [71, 79, 86])
    known = period < 3
    model = rpo.DomainRegressor("coral", steps=60)
    start = time.process_time()
    model.fit(X[known], y[known], domains=period[known])
    one, start = time.process_time() - start, time.process_time()
    table = rpo.sweep(
        model,
        X[known],
        y[known],
        domains=period[known],
        grid={"gamma": GAMMA, "lr": RATE},
        seeds=SEEDS,
        validation=(X[~known], y[~known], period[~known]),
    )
    whole = time.process_time() - start
    means = table.groupby(["gamma", "lr"])["risk"].mean()
    print(f"{len(table)} models; the three best of {len(means)} settings, mean squared error in 1986 to 1992:")
    print(means.nsmallest(3).reset_index().round({"risk": 2}).to_string(index=False))
    print(f"\nCPU time of the grid, relative to one model: {whole / one:.0f}")

    grid = means.unstack("lr").to_numpy()
    figure = Figure(figsize=(6, 2.8), layout="constrained")
    axes = figure.subplots()
    drawn = axes.imshow(np.log10(grid.T), aspect="auto", cmap="viridis_r")
    axes.set_xticks(range(len(GAMMA)), [f"{value:g}" for value in GAMMA])
    axes.set_yticks(range(len(RATE)), [f"{value:g}" for value in RATE])
    axes.set(xlabel="gamma", ylabel="learning rate")
    figure.colorbar(drawn, label="log₁₀ of the error")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "sweep.png", dpi=120)


if __name__ == "__main__":
    main()
