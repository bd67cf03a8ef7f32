"""The heat map as a matplotlib figure, for notebooks and papers."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rpo._judging.judgement import Judgement

FULL = 2.0  # noise relative to all rows: the deepest colour
FULL_CLASSES = 0.2  # more wrong labels than overall, likewise
MOST_DOMAINS = 30
WIDEST_NAME = 28
REACH = 170  # beyond the deepest heat, 100, so that figures can be read on every cell


def heat_map(found: "Judgement") -> "Figure":
    """Noise of strata by domains, both noisiest first: white as overall, red noisier, blue quieter, grey no row."""
    from matplotlib.figure import Figure

    domains = found.domains["domain"].tolist()[:MOST_DOMAINS]
    strata = found.strata["stratum"].tolist()
    classes = found.task == "classification"
    cells: dict[tuple[str, str], Any] = {(row["domain"], row["stratum"]): row for row in found.cells.to_dict("records")}
    image = np.full((len(domains), len(strata)), np.nan)
    figure = Figure(figsize=(3.2 + 1.0 * len(strata), 1.8 + 0.24 * len(domains)), layout="constrained")
    axis = figure.subplots()
    for i, domain in enumerate(domains):
        for j, stratum in enumerate(strata):
            if (row := cells.get((domain, stratum))) is not None:
                image[i, j] = heat(row["noise"], found.noise, classes=classes)
                noise = f"{row['noise']:.0%}" if classes else f"{row['noise']:.2g}"
                text = noise if np.isfinite(row["noise"]) else f"n={row['n']}"
                axis.text(j, i, text, ha="center", va="center", fontsize=7, color="black")
    axis.set_facecolor("#dddddd")
    drawn = axis.imshow(image, cmap="RdBu_r", vmin=-REACH, vmax=REACH, aspect="auto")
    names = [name if len(name) <= WIDEST_NAME else f"{name[: WIDEST_NAME - 1]}…" for name in strata]
    axis.set_xticks(range(len(strata)), names, rotation=30, ha="right", fontsize=8)
    axis.set_yticks(range(len(domains)), [str(name)[:WIDEST_NAME] for name in domains], fontsize=8)
    what = "Estimated share of wrong labels" if classes else "Noise"
    axis.set_title(f"{what} by domain and stratum, noisiest first", fontsize=10, loc="left")
    bar = figure.colorbar(drawn, ax=axis, ticks=[-100, 0, 100])
    ends = (f"−{FULL_CLASSES:.0%}", "0", f"+{FULL_CLASSES:.0%}") if classes else (f"1/{FULL:g}", "1", f"{FULL:g}")
    bar.ax.set_yticklabels(ends)
    bar.set_label("wrong labels compared with all rows" if classes else "noise relative to all rows", fontsize=8)
    return figure


def heat(noise: float, overall: float, *, classes: bool = False) -> int:
    """How strong a cell is coloured, −100 (half the noise overall, or less) to 100 (twice it, or more).

    For `classes` the ends are 20 % fewer and 20 % more wrong labels than overall.

    >>> heat(2.0, 1.0), heat(1.0, 1.0), heat(0.1, 1.0), heat(float("nan"), 1.0)
    (100, 0, -100, 0)
    >>> heat(0.15, 0.05, classes=True)
    50
    """
    if not (np.isfinite(noise) and np.isfinite(overall)):
        return 0
    if classes:
        return round(100 * float(np.clip((noise - overall) / FULL_CLASSES, -1, 1)))
    if not (noise > 0 and overall > 0):
        return 0
    return round(100 * float(np.clip(np.log(noise / overall) / np.log(FULL), -1, 1)))
