"""The pictures of docs/new-domains.md, from what `python -m benchmarks.new_domains` measured.

`python -m benchmarks.new_domains_pictures [FILE] [FOLDER]`
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpo_lab.runner.drawing import INKS, MARKS, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY, AMBER, GREEN, BLUE, RED, VIOLET, TEAL = INKS


def intervals(tables: dict[str, Any]) -> "Figure":
    """Coverage of held-out domains by table, beside the usual split conformal; the promised level is a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.32 * len(tables) + 1.6), layout="constrained")
    names = list(tables)[::-1]
    for axis, level in zip(figure.subplots(1, 2, sharey=True), ("0.8", "0.9"), strict=True):
        axis.axvline(float(level), color="black", linewidth=1)
        ways = {"by rows": ("by rows (split conformal)", GREY, "o"), "ours": ("by domains (ours)", BLUE, "D")}
        for way, (words, ink, mark) in ways.items():
            some = [(k, tables[name][level][way][0]) for k, name in enumerate(names) if level in tables[name]]
            axis.scatter([x for _, x in some], [k for k, _ in some], color=ink, marker=mark, label=words, zorder=3)
        axis.set_yticks(range(len(names)), names)
        axis.set_xlabel(f"rows of held-out domains inside, {100 * float(level):.0f} % asked for")
        axis.set_xlim(min(0.7, float(level) - 0.12), 1.005)
        axis.grid(axis="x", linewidth=0.4)
    axis.legend(loc="upper left", fontsize=8)
    return figure


def checks(tables: dict[str, Any]) -> "Figure":
    """The share of held-out domains that are not called as usual, by what was done to them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 0.32 * len(tables) + 1.6), layout="constrained")
    axis = figure.subplots()
    names = list(tables)[::-1]
    kinds = {
        "unlabelled": ("as they are, columns alone", GREY, "o"),
        "as it is": ("as they are, with their target", AMBER, "s"),
        "swapped": ("two columns swapped", GREEN, "^"),
        "shuffled, can tell": ("target shuffled, where it can be told", BLUE, "D"),
    }
    for kind, (words, ink, mark) in kinds.items():
        some = [
            (k, tables[name]["checked"][kind][0]) for k, name in enumerate(names) if kind in tables[name]["checked"]
        ]
        axis.scatter([x for _, x in some], [k for k, _ in some], color=ink, marker=mark, label=words, zorder=3)
    axis.axvline(0.9, color="black", linewidth=0.8, linestyle=":")
    axis.set_yticks(range(len(names)), names)
    axis.set_xlabel('share of held-out domains that are called "careful" or "outside"')
    axis.set_xlim(-0.03, 1.03)
    axis.grid(axis="x", linewidth=0.4)
    axis.legend(loc="center", fontsize=8)
    return figure


def adapting(tables: dict[str, Any]) -> "Figure":
    """The error of adapted models over that of the model, by the number of labelled rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.6), layout="constrained")
    axis = figure.subplots()
    axis.axhline(1.0, color="black", linewidth=1)
    for place, (name, row) in enumerate(tables.items()):
        points = [(n, row[f"adapt {n}"][0]) for n in (10, 30, 100) if f"adapt {n}" in row]
        if points:
            ink, mark = INKS[place % len(INKS)], MARKS[place % len(MARKS)]
            style = "-" if place < len(INKS) else "--"
            axis.plot(*zip(*points, strict=True), color=ink, marker=mark, linestyle=style, label=name)
    axis.set_xscale("log")
    axis.set_xticks([10, 30, 100], ["10", "30", "100"])
    axis.minorticks_off()
    axis.set_xlabel("labelled rows of the new domain")
    axis.set_ylabel("error on its other rows, over the model's")
    axis.grid(axis="y", linewidth=0.4)
    figure.legend(loc="outside right center", fontsize=8)
    return figure


def main() -> None:
    """Draw all three."""
    file = Path(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/results/new-domains.json")
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "docs/figures/new-domains")
    tables = json.loads(file.read_text())["tables"]
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in {"intervals": intervals, "checks": checks, "adapting": adapting}.items():
        save(draw(tables), folder, name, kinds=["png"])


if __name__ == "__main__":
    main()
