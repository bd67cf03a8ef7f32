"""Use a model in new counties: expected error, prediction intervals, a check, and adapting to a few labels.

Radon levels in 85 counties of Minnesota. Every fifth county is left out of the fit and serves as a new one.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import rpo


def main(folder: Path = Path("out")) -> None:
    """Print the expected and the observed coverage and error; draw the intervals of the new counties."""
    radon = rpo.datasets.load_radon()
    counties = radon.frame["county.name"].to_numpy()
    X, y = radon.X, radon.y.to_numpy()
    new = np.isin(counties, np.unique(counties)[::5])
    model = rpo.QualityRegressor("linear", verbose=False).fit(X[~new], y[~new], domains=counties[~new])
    print(f"Fitted to {len(model.domains_)} counties. Coverage of intervals on held-out counties:")
    print(model.coverage_.round(2).to_string(index=False))

    interval = model.predict_interval(X[new], level=0.9)
    inside = (interval[:, 0] <= y[new]) & (y[new] <= interval[:, 1])
    error = float(np.sqrt(np.mean((model.predict(X[new]) - y[new]) ** 2)))
    number = len(np.unique(counties[new]))
    print(f"\nIn the {number} new counties, {100 * inside.mean():.0f} % of the homes are inside their 90 % interval;")
    expected = float(model.expected_error_["error"]["quality"])
    print(f"the error is {error:.2f}, and {expected:.2f} was expected.")

    largest = max(np.unique(counties[new]).tolist(), key=lambda name: int((counties == name).sum()))
    here = np.flatnonzero(counties == largest)
    print(f"\n{rpo.check(model, X.iloc[here], target=y[here])}")
    few, rest = here[:10], here[10:]
    moved = model.adapt(X.iloc[few], y[few])
    before, after = (float(np.sqrt(np.mean((one.predict(X.iloc[rest]) - y[rest]) ** 2))) for one in (model, moved))
    print(f"\nWith ten labels of {largest}, the error on its other homes changes from {before:.3f} to {after:.3f}.")

    order = np.argsort(model.predict(X[new]))
    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(order))
    axes.fill_between(place, *interval[order].T, color="tab:blue", alpha=0.25, linewidth=0, label="90 % interval")
    for held, colour, name in ((True, "0.3", "inside"), (False, "tab:red", "outside")):
        some = inside[order] == held
        axes.plot(place[some], y[new][order][some], ".", color=colour, markersize=5, label=name)
    axes.set(xlabel="homes in new counties, by prediction", ylabel="log radon")
    axes.legend(ncols=3, loc="upper left", fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "new_county.png", dpi=120)


if __name__ == "__main__":
    main()
