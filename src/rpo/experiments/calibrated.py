"""Quality weights against their own controls: every step off in turn, the noise known, permuted, uniform."""

from collections.abc import Iterator, Mapping
from itertools import product

from pydantic import JsonValue

from rpo.exceptions import InputError
from rpo.experiments.profiles import Profile, get_profile
from rpo.experiments.significance import holm, paired_interval
from rpo.experiments.specification import DataSpec, Number, Training
from rpo.experiments.study import Row, Setting, Study
from rpo.experiments.tables import Cell, Table
from rpo.experiments.view import View
from rpo.experiments.words import SURE, is_worse, listed

WEIGHTS, PERMUTED, UNIFORM, KNOWN = "RPO-weights", "weights permuted", "weights uniform", "weights by the true noise"
IRM, ERM, SCREENED = "IRM + lip", "ERM + lip", "ERM, screened features"
OURS, STEPS, CONTROLS, OTHERS = "Quality weights", "One step off", "Controls", "Other methods"

# Seeds below 100 are for looking: the scheme was chosen on 0–9. The figures to quote are of seeds never looked at.
PROFILES = {"quick": Profile(seeds=5, steps=400), "paper": Profile(seeds=30, steps=400)}
FIRST_SEED = {"quick": 0, "paper": 100}

FORMULA: Mapping[str, Number] = {"lam": "formula"}
SEVERITY = {10: (0.1, 3.0, 0.3), 30: (0.3, 1.5, 1.0), 50: (0.5, 3.0, 1.0)}
"""Share of bad cells in per cent: that share, the deviation of the noise added, and the share of their rows kept."""


def rows() -> tuple[Row, ...]:
    """The scheme, each of its steps switched off, its controls, and the methods it has to beat."""

    def weights(label: str, section: str, numbers: Mapping[str, Number] | None = None, **options: JsonValue) -> Row:
        grid = ({**FORMULA, **(numbers or {})},)
        return Row(label, "rpo-weights", grid, options, section=section, ranked=section == OURS)

    known = Row(
        KNOWN, "rpo-weights", ({**FORMULA, "power": 0.0},), data={"known_noise": True}, section=CONTROLS, ranked=False
    )
    return (
        weights(WEIGHTS, OURS),
        weights("without screening", STEPS, {"alpha": 0.0}),
        weights("screening once, not again under the weights", STEPS, screen="once"),
        weights("screening in the first stage only", STEPS, screen="first"),
        weights("without cross-fitting", STEPS, folds=0),
        weights("without shrinkage", STEPS, shrink="off"),
        weights("without clipping", STEPS, clip=0.0),
        weights("weights in the risks only", STEPS, weigh="risk"),
        weights(PERMUTED, CONTROLS, placement="permuted"),
        weights(UNIFORM, CONTROLS, {"power": 0.0}),
        known,
        Row("RPO, the paper's", "rpo", section=OTHERS),
        Row(IRM, "irm-lip", (FORMULA,), section=OTHERS),
        Row(ERM, "erm-lip", (FORMULA,), section=OTHERS),
        Row(SCREENED, "erm-screened", section=OTHERS),
        Row("mean of the target", "mean", section=OTHERS, ranked=False),
    )


def settings(kind: str) -> tuple[Setting, ...]:
    """The columns of one table.

    >>> [setting.label for setting in settings("plain")][:2]
    ['Cigar 10 %', 'Cigar 30 %']
    """
    if kind == "clean":
        confounded = (
            Setting(f"{table.title()}{words}", _confounded(table, columns=columns))
            for table, (words, columns) in product(("cigar", "wage"), (("", "all"), (", no spurious", "causal")))
        )
        return (*confounded, Setting("Radon", DataSpec(name="counties")))
    if kind == "radon":
        return tuple(
            Setting(f"Radon {percent} %", DataSpec(name="counties", options={"bad_share": share, "label_noise": noise}))
            for percent, (share, noise, _) in SEVERITY.items()
        )
    return tuple(_corrupted(kind))


def _corrupted(kind: str) -> Iterator[Setting]:
    kinds: dict[str, dict[str, JsonValue]] = {
        "before": {"label_noise_first": True},
        "after": {},
        "plain": {"columns": "causal"},
    }
    for table, (percent, (share, noise, keep)) in product(("cigar", "wage"), SEVERITY.items()):
        options = {"quality": "cells", "bad_share": share, "label_noise": noise, "keep": keep, **kinds[kind]}
        yield Setting(f"{table.title()} {percent} %", _confounded(table, **options))


def _confounded(table: str, **options: JsonValue) -> DataSpec:
    return DataSpec(name="confounded", options={"table": table, **options})


KINDS = {
    "before": "noise in the labels before the confounders follow them",
    "plain": "noise in the labels, no spurious feature",
    "after": "noise in the labels after the confounders followed them",
    "clean": "nothing corrupted",
    "radon": "Radon, counties held out, noise in the labels of some cells",
}


def calibrated(profile: str = "quick", *, seeds: int | None = None, kinds: str = "all") -> list[View]:
    """One view a kind of corruption.

    >>> [view.name for view in calibrated()]
    ['calibrated-before', 'calibrated-plain', 'calibrated-after', 'calibrated-clean', 'calibrated-radon']
    """
    asked = list(KINDS) if kinds == "all" else kinds.split(",")
    if unknown := [kind for kind in asked if kind not in KINDS]:
        raise InputError(f"kinds names {unknown[0]!r}: use some of {', '.join(KINDS)}, with commas between, or 'all'")
    size = get_profile(PROFILES, profile, seeds)
    first = FIRST_SEED[profile]
    return [
        View(
            f"calibrated-{kind}",
            Study(
                name="calibrated",
                rows=rows(),
                settings=settings(kind),
                seeds=tuple(range(first, first + size.seeds)),
                reference=WEIGHTS,
                training=Training(hidden=(16,), steps=size.steps),
            ),
            f"Test MSE, {KINDS[kind]}",
            summary,
            rule="formula",
        )
        for kind in asked
    ]


def summary(table: Table) -> list[str]:
    """What the weights gain over the controls and over IRM + lip, each comparison corrected for all of this table."""
    rivals = (IRM, PERMUTED, UNIFORM)
    cells = {(rival, s.label): table.cell(rival, s.label) for rival in rivals for s in table.study.settings}
    p = dict(zip(cells, holm([_paired(cell) for cell in cells.values()]), strict=True))
    return [
        *(_against(table, rival, p) for rival in rivals),
        *(_interval(table, setting) for setting in table.study.settings),
        _steps(table),
    ]


def _paired(cell: Cell) -> float | None:
    return cell.comparison.p_paired if cell.comparison else None


def _against(table: Table, rival: str, p: Mapping[tuple[str, str], float | None]) -> str:
    better: list[str] = []
    worse: list[str] = []
    level: list[str] = []
    for setting in table.study.settings:
        cell, sure = table.cell(rival, setting.label), p[rival, setting.label]
        own = table.cell(WEIGHTS, setting.label).mean
        text = (
            f"{setting.label} ({own:.2f} against {cell.mean:.2f}" + ("" if sure is None else f", p = {sure:.2g}") + ")"
        )
        group = level if sure is None or sure >= SURE else better if is_worse(cell, setting) else worse
        group.append(text)
    return (
        f"Against {rival}, paired over seeds and corrected by Holm for every comparison of this table with its three "
        f"rivals: better on {listed(better)}; worse on {listed(worse)}; neither on {listed(level)}."
    )


def _interval(table: Table, setting: Setting) -> str:
    """The relative difference to IRM + lip with its 95 % interval over seeds."""
    own, other = table.cell(WEIGHTS, setting.label).values, table.cell(IRM, setting.label).values
    low, high = paired_interval(own, other)
    size = sum(other.values()) / len(other)
    return (
        f"{setting.label}: {WEIGHTS} less {IRM} is {100 * low / size:+.1f} % to {100 * high / size:+.1f} % "
        f"of the error of {IRM} (95 % interval, paired)."
    )


def _steps(table: Table) -> str:
    """The change of the error when a step is switched off, mean over the columns."""
    changes = []
    for row in table.study.rows:
        if row.section in (STEPS, CONTROLS):
            ratios = [
                table.cell(row.label, s.label).mean / table.cell(WEIGHTS, s.label).mean for s in table.study.settings
            ]
            changes.append(f"{row.label} {100 * (sum(ratios) / len(ratios) - 1):+.1f} %")
    return f"Mean change of the test error over the columns: {', '.join(changes)}."
