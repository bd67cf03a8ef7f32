"""The penalties that RPO finds: η by domain, ρ by domain and digit, beside the setting they are found in."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from rpo._io import Bar, Show
from rpo.engine import Config, mlp, train
from rpo.exceptions import InputError
from rpo.methods import get_method
from rpo_lab.cmnist import BATCH, HIDDEN, LITERAL, PROFILES
from rpo_lab.data.colored import DOMAINS, Setting, colored_setting
from rpo_lab.runner.drawing import WIDTH
from rpo_lab.runner.figures import MOST_PANELS
from rpo_lab.runner.page import link, put
from rpo_lab.runner.problems import load
from rpo_lab.runner.render import csv_text, markdown
from rpo_lab.runner.specification import DataSpec
from rpo_lab.runner.study import get_profile

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

MOST_DRAWN = MOST_PANELS
FRAME = "#c1440e"
CAPTION = "*Penalties of Proposition 1, means over seeds. Framed: the bad cells; η of bad domains in the same colour.*"


@dataclass(frozen=True, eq=False)
class FoundPenalties:
    """Penalties found in one setting: η `(seeds, E)` and ρ `(seeds, E, K)`."""

    setting: Setting
    eta: NDArray[np.float64]
    rho: NDArray[np.float64]

    @property
    def bad(self) -> NDArray[np.bool_]:
        """Which cells are bad, `(E, K)`."""
        mask = np.zeros(self.rho.shape[1:], dtype=bool)
        for cell in self.setting.cells:
            mask[cell] = True
        return mask

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


# What is kept of a setting and seed: η `(E,)` and ρ `(E, K)`, by a name that says all that decides them.
Kept = dict[str, dict[str, Any]]


def name_of(number: int, seed: int, steps: int, digits: str) -> str:
    """Return the name that the penalties of a setting and seed are kept under.

    >>> name_of(1, 0, 200, "sklearn").partition(": ")[2]
    'setting 1 of sklearn, seed 0, 200 steps'
    """
    return f"rpo {get_method('rpo').version}: setting {number} of {digits}, seed {seed}, {steps} steps"


def train_penalties(number: int, seed: int, steps: int, digits: str = "mnist") -> dict[str, Any]:
    """Stage 1 of RPO in the paper's form, and Proposition 1."""
    data = load(DataSpec(name="colored", options={"setting": number, "digits": digits}), seed).train
    config = Config(steps=steps, batch_size=BATCH, device="cpu", progress=False)
    build = partial(mlp, data.row_shape[0], 1, HIDDEN)
    trained = train("rpo", build, data, seeds=[seed], options=LITERAL, config=config, until=0).check()
    return {name: trained.snapshot.state[name][0].double().tolist() for name in ("eta", "rho")}


def find_penalties(number: int, seeds: Sequence[int], steps: int, digits: str = "mnist") -> FoundPenalties:
    """Train the penalties of one setting, each seed."""
    return _together(number, [train_penalties(number, seed, steps, digits) for seed in seeds])


def _together(number: int, trained: Sequence[dict[str, Any]]) -> FoundPenalties:
    eta, rho = (np.array([run[name] for run in trained], dtype=np.float64) for name in ("eta", "rho"))
    return FoundPenalties(colored_setting(number), eta, rho)


def penalties(
    numbers: Sequence[int],
    profile: str = "quick",
    *,
    seeds: int | None = None,
    digits: str = "mnist",
    progress: Show = "auto",
) -> Kept:
    """Train the penalties of several settings; return them by name.

    >>> kept = penalties([1], seeds=2, digits="sklearn", progress=False)
    >>> found = found_in(kept, [1], seeds=2, digits="sklearn")[0]
    >>> found.eta.shape, found.rho.shape, found.cells_found.tolist()
    ((2, 3), (2, 3, 10), [True, True])
    """
    size = get_profile(PROFILES, profile, seeds)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    records = {}
    try:
        with Bar(len(numbers) * size.seeds, "penalties", progress) as bar:
            for number, seed in product(numbers, range(size.seeds)):
                records[name_of(number, seed, size.steps, digits)] = train_penalties(number, seed, size.steps, digits)
                bar.advance()
    finally:
        torch.set_num_threads(threads)
    return records


def found_in(
    kept: Kept, numbers: Sequence[int], profile: str = "quick", *, seeds: int | None = None, digits: str = "mnist"
) -> list[FoundPenalties]:
    """Return what is kept, setting by setting; raise an error if it is not there, or is something else."""
    size = get_profile(PROFILES, profile, seeds)
    names = {n: [name_of(n, seed, size.steps, digits) for seed in range(size.seeds)] for n in numbers}
    if missing := [name for group in names.values() for name in group if name not in kept]:
        raise InputError(
            f"the records lack the penalties of {len(missing)} trainings (the first: {missing[0]!r}): use the options "
            "they were written with, or omit --records"
        )
    try:
        return [_together(number, [kept[name] for name in names[number]]) for number in numbers]
    except (KeyError, TypeError, ValueError):
        raise InputError("the records do not contain penalties: use those of this study") from None


def lines_of(found: Sequence[FoundPenalties]) -> list[dict[str, str]]:
    """Return a line for each setting: means and deviations of η, mean ρ of bad and good cells, how often they show."""
    lines: list[dict[str, str]] = []
    for row in found:
        n = len(row.eta)
        domain = row.domain_found
        lines.append(
            {
                "setting": f"{row.setting.number} ({row.setting.kind})",
                **{
                    f"η domain {e}": f"{row.eta[:, e].mean():.3g} ± {_deviation(row.eta[:, e])}" for e in range(DOMAINS)
                },
                "ρ bad cells": f"{row.rho[:, row.bad].mean():.2f}",
                "ρ good cells": f"{row.rho[:, ~row.bad].mean():.2f}",
                "bad domain has the smallest η": "no domain is worse" if domain is None else f"{domain.sum()} of {n}",
                "largest η over smallest": f"{row.spread.mean():.2f}",
                "all bad ρ above all good ones": f"{row.cells_found.sum()} of {n}",
            }
        )
    return lines


def _deviation(values: NDArray[np.float64]) -> str:
    return f"{values.std(ddof=1):.1g}" if len(values) > 1 else "–"


def to_csv(found: Sequence[FoundPenalties]) -> str:
    """Return one line for each setting, seed, domain and digit."""
    lines = [
        [row.setting.number, seed, e, k, int(row.bad[e, k]), f"{row.eta[seed, e]:.6g}", f"{row.rho[seed, e, k]:.6g}"]
        for row in found
        for seed, e, k in np.ndindex(row.rho.shape)
    ]
    return csv_text(["setting", "seed", "domain", "digit", "bad", "eta", "rho"], lines)


def put_on_page(page: "Path", found: Sequence[FoundPenalties], command: str, figure: "Path | None") -> None:
    """Write the lines to a page as a table, and the figure if there is one."""
    lines = lines_of(found)
    blocks = [f"Made by `{command}`.", markdown(list(lines[0]), (list(line.values()) for line in lines))]
    if figure is not None:
        blocks += [f"![The penalties found]({link(figure, page)})", CAPTION]
    put(page, "penalties" if figure is not None else "penalties-all", "\n\n".join(blocks))


def penalties_figure(found: Sequence[FoundPenalties]) -> "Figure":
    """Draw a panel a setting: mean ρ of each domain and digit, bad cells framed; η of each domain beside it."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(WIDTH, 0.3 + 1.65 * len(found)), layout="constrained")
    axes = figure.subplots(len(found), 1, squeeze=False)[:, 0]
    for axis, row in zip(axes, found, strict=True):
        rho, eta = row.rho.mean(0), row.eta.mean(0)
        axis.imshow(rho, cmap="Blues", vmin=0, vmax=1.25 * rho.max(), aspect="auto")
        for e, k in np.ndindex(rho.shape):
            ink = "white" if rho[e, k] > 0.7 * rho.max() else "black"
            axis.text(k, e, f"{rho[e, k]:.1f}", ha="center", va="center", fontsize=9, color=ink)
            if row.bad[e, k]:
                axis.add_patch(Rectangle((k - 0.47, e - 0.45), 0.94, 0.9, fill=False, edgecolor=FRAME, linewidth=2))
        for e in range(DOMAINS):
            axis.text(
                9.65, e, f"η {eta[e]:.3g}", va="center", fontsize=9.5, color=FRAME if e in row.bad_domains else "black"
            )
        axis.set_title(
            f"setting {row.setting.number} ({row.setting.kind}): ρ by domain and digit", fontsize=10, loc="left"
        )
        axis.set_xticks(range(10), [str(k) for k in range(10)], fontsize=9)
        axis.set_yticks(range(DOMAINS), [f"domain {e}" for e in range(DOMAINS)], fontsize=9)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    return figure
