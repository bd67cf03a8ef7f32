"""The penalties that RPO finds: η by domain, ρ by domain and digit, beside the setting they are found in."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from rpo.engine import Config, mlp, train
from rpo.io import Bar, Show
from rpo.paper.cmnist import BATCH, HIDDEN, LITERAL, PROFILES
from rpo.paper.data.colored import DOMAINS, Setting, colored_mnist, colored_setting
from rpo.studies.page import link, put
from rpo.studies.problems import load
from rpo.studies.specification import DataSpec
from rpo.studies.study import get_profile

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_DRAWN = 4


@dataclass(frozen=True, eq=False)
class FoundPenalties:
    """Penalties found in one setting: η `(seeds, E)` and ρ `(seeds, E, K)`."""

    setting: Setting
    eta: NDArray[np.float64]
    rho: NDArray[np.float64]

    @property
    def bad(self) -> NDArray[np.bool_]:
        """Which cells are bad, `(E, K)`."""
        found = np.zeros(self.rho.shape[1:], dtype=bool)
        for cell in self.setting.cells:
            found[cell] = True
        return found

    @property
    def bad_domains(self) -> list[int]:
        """Domains with more bad cells than another has."""
        count = self.bad.sum(1)
        return [e for e in range(len(count)) if count[e] > count.min()]

    @property
    def cells_found(self) -> NDArray[np.bool_]:
        """For each seed, whether every bad cell has a larger ρ than every good one."""
        return np.asarray(self.rho[:, self.bad].min(1) > self.rho[:, ~self.bad].max(1))

    @property
    def domain_found(self) -> NDArray[np.bool_] | None:
        """For each seed, whether the bad domain has the smallest η; None if no domain is worse than the others."""
        return self.eta.argmin(1) == self.bad_domains[0] if self.bad_domains else None

    @property
    def spread(self) -> NDArray[np.float64]:
        """For each seed, the largest η over the smallest."""
        return np.asarray(self.eta.max(1) / self.eta.min(1))


def find_penalties(number: int, seeds: Sequence[int], steps: int, digits: str = "mnist") -> FoundPenalties:
    """Stage 1 of RPO in the paper's form, and Proposition 1, for each seed."""
    eta, rho = [], []
    for seed in seeds:
        data = load(DataSpec(name="colored", options={"setting": number, "digits": digits}), seed).train
        config = Config(steps=steps, batch_size=BATCH, device="cpu", progress=False)
        build = partial(mlp, data.row_shape[0], 1, HIDDEN)
        found = train("rpo", build, data, seeds=[seed], options=LITERAL, config=config, until=0).check()
        eta.append(found.snapshot.state["eta"][0].double().numpy())
        rho.append(found.snapshot.state["rho"][0].double().numpy())
    return FoundPenalties(colored_setting(number), np.stack(eta), np.stack(rho))


def penalties(
    numbers: Sequence[int],
    profile: str = "quick",
    *,
    seeds: int | None = None,
    digits: str = "mnist",
    progress: Show = "auto",
) -> list[FoundPenalties]:
    """The penalties of some settings.

    >>> found = penalties([1], seeds=2, digits="sklearn", progress=False)[0]
    >>> found.eta.shape, found.rho.shape, found.cells_found.tolist()
    ((2, 3), (2, 3, 10), [True, True])
    """
    size = get_profile(PROFILES, profile, seeds)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with Bar(len(numbers), "penalties", progress) as bar:
            found = []
            for number in numbers:
                found.append(find_penalties(number, range(size.seeds), size.steps, digits))
                bar.advance()
    finally:
        torch.set_num_threads(threads)
    return found


def lines_of(found: Sequence[FoundPenalties]) -> list[dict[str, Any]]:
    """A line for each setting: means and deviations of η, mean ρ of bad and good cells, in how many seeds they show."""
    lines = []
    for one in found:
        n = len(one.eta)
        domain = one.domain_found
        lines.append(
            {
                "setting": f"{one.setting.number} ({one.setting.kind})",
                **{
                    f"η domain {e}": f"{one.eta[:, e].mean():.3g} ± {_deviation(one.eta[:, e])}" for e in range(DOMAINS)
                },
                "ρ bad cells": f"{one.rho[:, one.bad].mean():.2f}",
                "ρ good cells": f"{one.rho[:, ~one.bad].mean():.2f}",
                "bad domain has the smallest η": "no domain is worse" if domain is None else f"{domain.sum()} of {n}",
                "largest η over smallest": f"{one.spread.mean():.2f}",
                "every bad ρ above every good one": f"{one.cells_found.sum()} of {n}",
            }
        )
    return lines


def _deviation(values: NDArray[np.float64]) -> str:
    return f"{values.std(ddof=1):.1g}" if len(values) > 1 else "–"


def to_csv(found: Sequence[FoundPenalties]) -> str:
    """One line for each setting, seed, domain and digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["setting", "seed", "domain", "digit", "bad", "eta", "rho"])
    for one in found:
        for seed, e, k in np.ndindex(one.rho.shape):
            values = (f"{one.eta[seed, e]:.6g}", f"{one.rho[seed, e, k]:.6g}")
            writer.writerow([one.setting.number, seed, e, k, int(one.bad[e, k]), *values])
    return text.getvalue()


def put_on_page(page: "Path", found: Sequence[FoundPenalties], command: str, figure: "Path | None") -> None:
    """The lines as a table, and the figure if there is one."""
    lines = lines_of(found)
    heads = list(lines[0])
    parts = [f"Made by `{command}`.", "", f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}"]
    parts += [f"| {' | '.join(str(value) for value in line.values())} |" for line in lines]
    if figure is not None:
        parts += ["", f"![Settings and the penalties found in them]({link(figure, page)})"]
    put(page, "penalties" if figure is not None else "penalties-all", "\n".join(parts))


def penalties_figure(found: Sequence[FoundPenalties], digits: str = "mnist") -> "Figure":
    """The paper's panels: each setting above, bad cells on blue ground; what RPO makes of it below, mean of seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6 * len(found), 5.6), layout="constrained")
    axes = figure.subplots(
        2, 2 * len(found), squeeze=False, gridspec_kw={"width_ratios": [5, 1] * len(found), "height_ratios": [1, 1]}
    )
    for place, one in enumerate(found):
        (above, blank), (below, bars) = (axes[line, 2 * place : 2 * place + 2] for line in (0, 1))
        blank.axis("off")
        _draw_setting(above, one, digits)
        _draw_rho(below, one)
        _draw_eta(bars, one)
    seeds = len(found[0].eta)
    figure.suptitle(
        f"Settings, and the penalties RPO finds in them (Proposition 1, means of {seeds} seeds)", fontsize=11
    )
    return figure


def _draw_setting(axis: "Axes", one: FoundPenalties, digits: Any) -> None:
    from rpo.paper.data.illustration import GAP, mosaic

    data = colored_mnist(one.setting.number, digits=digits)
    axis.imshow(mosaic(data))
    side = data.images.shape[1] + GAP
    axis.set(title=f"setting {one.setting.number} ({one.setting.kind}): bad cells in blue")
    axis.set_xticks([(k + 0.5) * side for k in range(10)], [str(k) for k in range(10)])
    axis.set_yticks([(e + 0.5) * side for e in range(DOMAINS)], [f"D{e}" for e in range(DOMAINS)])
    axis.tick_params(length=0)


def _draw_rho(axis: "Axes", one: FoundPenalties) -> None:
    mean = one.rho.mean(0)
    axis.imshow(mean, cmap="Blues", vmin=0, vmax=1.25 * mean.max(), aspect="auto")
    for e, k in np.ndindex(mean.shape):
        ink = "white" if mean[e, k] > 0.7 * mean.max() else "black"
        axis.text(k, e, f"{mean[e, k]:.1f}", ha="center", va="center", fontsize=8, color=ink)
    axis.set(title="ρ of each domain and digit: smoothness asked for")
    axis.set_xticks(range(10))
    axis.set_yticks(range(DOMAINS), [f"D{e}" for e in range(DOMAINS)])
    axis.tick_params(length=0)


def _draw_eta(axis: "Axes", one: FoundPenalties) -> None:
    mean = one.eta.mean(0)
    axis.barh(range(DOMAINS), mean, color="#1f4e8c", height=0.6)
    for e, value in enumerate(mean):
        axis.text(value, e, f" {value:.2g}", va="center", fontsize=8)
    axis.set(title="η", xlim=(0, 1.35 * mean.max()), xticks=[])
    axis.set_ylim(DOMAINS - 0.5, -0.5)
    axis.set_yticks([])
    axis.spines[["top", "right", "bottom"]].set_visible(False)
