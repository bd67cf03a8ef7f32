"""A study of all that the paper leaves open: in which share of readings is RPO better, and than what?

A reading is one way to fill in what the paper does not say: a level of every factor. Readings of Colored-MNIST, on the
small digits, all of them or a balanced half, are run by RPO, its halves, its controls and IRM + lip; differences are
paired over seeds, and p-values corrected by Holm for all comparisons of a metric.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from operator import attrgetter
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from pydantic import JsonValue

from rpo._stats.significance import SURE, holm
from rpo_lab.cmnist import BATCH, FAIR, HIDDEN, LIP, PEN, PERMUTED, RPO, SAME_FORM, UNIFORM, comparison, fair, literal
from rpo_lab.runner.drawing import FAINT, INKS, WIDTH, show_rows
from rpo_lab.runner.page import fold, link, made_by, put
from rpo_lab.runner.render import csv_text, markdown
from rpo_lab.runner.results import make_results, seeds_text
from rpo_lab.runner.selection import get_rule
from rpo_lab.runner.specification import DataSpec, Run, Training
from rpo_lab.runner.store import Record
from rpo_lab.runner.study import Row, Setting, Study, get_profile

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

IRM = "IRM + lip"
METRICS = ("accuracy", "auc")
TITLE = "RPO compared with its rivals, one dot per reading"


@dataclass(frozen=True)
class Factor:
    """A choice that the paper leaves open, and its possible values; the first is used in the other studies."""

    name: str
    levels: Mapping[str, JsonValue]

    def level(self, reading: "Reading") -> JsonValue:
        """Return the value that a reading has for it."""
        return self.levels[dict(reading)[self.name]]

    def first(self, count: int) -> "Factor":
        """Return the same factor with fewer levels."""
        return Factor(self.name, dict(list(self.levels.items())[:count]))


NOISE = Factor("labels flipped in the test domain", {"a quarter": "test", "none": "clean"})
ORDER = Factor("labels of bad cells flipped", {"after colouring": True, "before colouring": False})
SIZE = Factor("rows kept in bad cells", {"a tenth": 0.1, "three tenths": 0.3})
PLACE = Factor("bad cells", {"in domain 0": 1, "in domain 2": 5, "one digit, all domains": 7})
STEPS = Factor("steps of training", {"500": 500, "200": 200})
# How the loss is written, and by which rule a model is taken.
FORM = Factor(
    "form, and how models are selected",
    {
        "equal tuning, by the IRM penalty": "irm",
        "equal tuning, by validation risk": "validation",
        "to the letter, no selection": "formula",
    },
)
OPTIONS = {ORDER.name: "flip_after_colouring", SIZE.name: "keep", PLACE.name: "setting"}
RIVALS = {
    "irm": (IRM, PEN, LIP, PERMUTED),  # uniform penalties are IRM + lip but for the centre (`fair`)
    "validation": (IRM, PEN, LIP, PERMUTED),
    "formula": (IRM, SAME_FORM, PEN, LIP, PERMUTED, UNIFORM),
}
CONTROLS = (PERMUTED, UNIFORM, SAME_FORM)


@dataclass(frozen=True)
class Profile:
    """How much is varied: levels of each of `FACTORS`, steps, all combinations or a half; over how many seeds."""

    seeds: int
    levels: tuple[int, int, int, int]
    steps: Mapping[str, JsonValue] = field(default_factory=lambda: STEPS.levels)
    half: bool = False


FACTORS = (NOISE, ORDER, SIZE, PLACE)
PROFILES = {
    "quick": Profile(seeds=3, levels=(2, 2, 1, 1), steps={"200": 200}),
    "paper": Profile(seeds=10, levels=(2, 2, 2, 3), half=True),
}
# Each has two levels. Readings with an even number of second levels among them are a half in which every two choices
# still occur together equally often.
HALVED = (ORDER.name, SIZE.name, STEPS.name)

Reading = tuple[tuple[str, str], ...]
"""The level of each factor, by name."""


@dataclass(frozen=True)
class Compared:
    """RPO against one rival in one reading: both means, and p paired over seeds, as it is and corrected."""

    reading: Reading
    rival: str
    metric: str
    own: float
    other: float
    p_paired: float | None
    p: float | None

    @property
    def difference(self) -> float:
        """How far RPO is above."""
        return self.own - self.other

    @property
    def sure(self) -> bool:
        """Whether it is surely above or below."""
        return self.p is not None and self.p < SURE


@dataclass(frozen=True)
class Readings:
    """All readings: a study for each number of steps and form, whose settings are the readings of the data."""

    factors: tuple[Factor, ...]
    seeds: tuple[int, ...]
    half: bool = False

    @cached_property
    def every(self) -> list[Reading]:
        """Every reading once, or every one of the half."""
        names = [factor.name for factor in self.factors]
        every = [tuple(zip(names, levels, strict=True)) for levels in product(*(f.levels for f in self.factors))]
        return [reading for reading in every if not (self.half and self._odd(reading))]

    def _odd(self, reading: Reading) -> bool:
        first = {factor.name: next(iter(factor.levels)) for factor in self.factors}
        return sum(name in HALVED and level != first[name] for name, level in reading) % 2 == 1

    @cached_property
    def studies(self) -> dict[tuple[str, str], Study]:
        """By the labels of steps and form; forms that differ only in what is chosen share their runs."""
        *_, steps, forms = self.factors
        return {
            (count, form): self._study(count, int(str(steps.levels[count])), str(rule))
            for count, (form, rule) in product(steps.levels, forms.levels.items())
        }

    def _study(self, count: str, steps: int, rule: str) -> Study:
        settings: dict[str, Setting] = {}
        chosen = [reading for reading in self.every if dict(reading)[STEPS.name] == count]
        for reading, metric in product(chosen, METRICS):
            options = {OPTIONS[f.name]: f.level(reading) for f in FACTORS if f.name in OPTIONS}
            # The same training, whether or not test labels are turned.
            data = DataSpec(name="colored-twice", options={"digits": "sklearn", **options})
            label = label_of(reading, metric)
            settings[label] = Setting(label, data, test=str(NOISE.level(reading)), metric=metric)
        return Study(
            name="readings",
            rows=rows(rule),
            settings=tuple(settings.values()),
            seeds=self.seeds,
            reference=RPO,
            training=Training(hidden=HIDDEN, steps=steps, batch_size=BATCH),
        )

    def runs(self) -> list[Run]:
        """Return every run once."""
        return list({run.digest: run for study in self.studies.values() for run in study.runs()}.values())

    def compared(self, records: Mapping[str, Record]) -> list[Compared]:
        """Compare RPO with every rival in every reading, with Holm's correction for all comparisons of a metric."""
        tables = {
            key: make_results(study, records, get_rule(self._rule(key[1])), title=TITLE)
            for key, study in self.studies.items()
        }
        comparisons = []
        for metric in METRICS:
            places = []
            for reading in self.every:
                key = dict(reading)[STEPS.name], dict(reading)[FORM.name]
                setting = label_of(reading, metric)
                own = tables[key].cell(RPO, setting)
                rivals = ((rival, tables[key].cell(rival, setting)) for rival in RIVALS[self._rule(key[1])])
                places += [(reading, rival, own, other) for rival, other in rivals]
            p = [other.comparison.p_paired if other.comparison else None for *_, other in places]
            comparisons += [
                Compared(reading, rival, metric, own.mean, other.mean, alone, sure)
                for (reading, rival, own, other), alone, sure in zip(places, p, holm(p), strict=True)
            ]
        return comparisons

    def _rule(self, form: str) -> str:
        return str(FORM.levels[form])


def rows(rule: str) -> tuple[Row, ...]:
    """Return RPO, its halves, its controls and IRM + lip, in the form that belongs to a rule.

    >>> [row.label for row in rows("irm")]
    ['IRM + lip', 'RPO-Pen', 'RPO-Lip', 'RPO', 'RPO, penalties permuted']
    """
    irm = next(row for row in comparison() if row.label == IRM)
    return (irm, *(literal() if rule == "formula" else fair()))


def label_of(reading: Reading, metric: str) -> str:
    """Name the reading of the data, whatever the steps and the form, and what is measured."""
    return ", ".join([*(f"{name}: {level}" for name, level in reading if name not in (STEPS.name, FORM.name)), metric])


def readings(profile: str = "quick", *, seeds: int | None = None) -> Readings:
    """Return all readings of a profile.

    >>> study = readings("quick")
    >>> len(study.every), len(study.runs())
    (12, 96)
    """
    size = get_profile(PROFILES, profile, seeds)
    data = tuple(factor.first(count) for factor, count in zip(FACTORS, size.levels, strict=False))
    return Readings((*data, Factor(STEPS.name, size.steps), FORM), tuple(range(size.seeds)), size.half)


def tally(comparisons: Sequence[Compared]) -> dict[str, int]:
    """Count the comparisons that fall either way: by the means alone, surely, and surely if each were the only one."""

    def count(p: Callable[[Compared], float | None], sign: int) -> int:
        return sum(
            (value := p(pair)) is not None and value < SURE and sign * pair.difference > 0 for pair in comparisons
        )

    return {
        "RPO above": sum(pair.difference > 0 for pair in comparisons),
        "significantly better": count(attrgetter("p"), 1),
        "significantly worse": count(attrgetter("p"), -1),
        "better, uncorrected": count(attrgetter("p_paired"), 1),
        "worse, uncorrected": count(attrgetter("p_paired"), -1),
        "readings": len(comparisons),
    }


def tallies(comparisons: Sequence[Compared]) -> dict[str, dict[str, int]]:
    """Tally comparisons of accuracy by rival."""
    return {
        rival: tally(of(comparisons, "accuracy", rival)) for rival in dict.fromkeys(pair.rival for pair in comparisons)
    }


def of(comparisons: Sequence[Compared], metric: str, *rivals: str) -> list[Compared]:
    """Return the comparisons of a metric with some rivals, or with all."""
    return [pair for pair in comparisons if pair.metric == metric and (not rivals or pair.rival in rivals)]


def leading_readings(comparisons: Sequence[Compared], metric: str) -> list[Reading]:
    """Return the readings in which RPO's mean is above that of every rival, sure or not."""
    chosen = of(comparisons, metric)
    lost = {pair.reading for pair in chosen if pair.difference <= 0}
    return [reading for reading in dict.fromkeys(pair.reading for pair in chosen) if reading not in lost]


def best_readings(comparisons: Sequence[Compared], metric: str, *rivals: str) -> list[Reading]:
    """Return the readings in which RPO is surely better than every rival given that is there, or than all of them."""
    chosen = of(comparisons, metric, *rivals)
    lost = {pair.reading for pair in chosen if not (pair.sure and pair.difference > 0)}
    return [reading for reading in dict.fromkeys(pair.reading for pair in chosen) if reading not in lost]


def answer(comparisons: Sequence[Compared]) -> list[str]:
    """Describe the share of readings in which RPO is better, for any result."""
    total = len({pair.reading for pair in comparisons})
    lines = []
    for words, rivals in {
        f"**{IRM}**": (IRM,),
        "**both of its halves**": (PEN, LIP),
        "**all of its controls** (penalties permuted; to the letter also uniform, and IRM + lip in sums)": CONTROLS,
        "**all of these at once**": (),
    }.items():
        share = [best_readings(comparisons, metric, *rivals) for metric in METRICS]
        lines.append(
            f"RPO is significantly better than {words} in {len(share[0])} of {total} readings by accuracy "
            f"({len(share[0]) / total:.0%}), in {len(share[1])} by AUC."
        )
    leads = [len(leading_readings(comparisons, metric)) for metric in METRICS]
    lines.append(f"Its mean alone is above all of these in {leads[0]} readings by accuracy, in {leads[1]} by AUC.")
    return lines


def table_by_rival(comparisons: Sequence[Compared]) -> str:
    """Return a line a rival."""
    counts = tallies(comparisons)
    heads = ["against", *next(iter(counts.values()))]
    return markdown(heads, ([rival, *map(str, line.values())] for rival, line in counts.items()))


def table_by_level(study: Readings, comparisons: Sequence[Compared]) -> str:
    """Return a line a level of each factor: what it changes for RPO and IRM + lip, and how RPO then stands."""
    heads = ["", "RPO", IRM, "better", "worse", "better than halves", "better than controls", "readings"]
    lines: list[list[str]] = []
    for factor in study.factors:
        lines.append([f"*{factor.name}*"])
        for level in factor.levels:
            chosen = [pair for pair in comparisons if dict(pair.reading)[factor.name] == level]
            own = of(chosen, "accuracy", IRM)
            means = (fmean(pair.own for pair in own), fmean(pair.other for pair in own))
            counts = [sum(pair.sure and sign * pair.difference > 0 for pair in own) for sign in (1, -1)]
            counts += [len(best_readings(chosen, "accuracy", *names)) for names in ((PEN, LIP), CONTROLS)]
            lines.append([level, *(f"{mean:.3f}" for mean in means), *map(str, [*counts, len(own)])])
    return markdown(heads, lines).replace("| |", "|  |", 1)  # as the published page has it


def to_csv(study: Readings, comparisons: Sequence[Compared]) -> str:
    """Return one line for each reading, rival and metric."""
    heads = [factor.name for factor in study.factors]
    lines = []
    for pair in comparisons:
        values = [f"{value:.6g}" for value in (pair.own, pair.other, pair.difference)]
        values += ["" if p is None else f"{p:.3g}" for p in (pair.p_paired, pair.p)]
        lines.append([*(dict(pair.reading)[name] for name in heads), pair.rival, pair.metric, *values])
    return csv_text([*heads, "rival", "metric", "RPO", "other", "difference", "p_paired", "p_holm"], lines)


def put_on_page(page: "Path", study: Readings, comparisons: Sequence[Compared], command: str, *files: "Path") -> None:
    """Write the answer, tables and figure to a page; `files` are the figure and the table of all comparisons."""
    put(page, "readings", section(study, comparisons, command, *(link(path, page) for path in files)))


def section(study: Readings, comparisons: Sequence[Compared], command: str, figure: str, table: str) -> str:
    """Write what stands on the page."""
    kinds = " × ".join(f"{len(factor.levels)}" for factor in study.factors)
    if study.half:
        kinds = f"a half of {kinds}, in which every two choices occur together equally often"
    protocol = [
        made_by(command),
        f"- {len(study.every)} readings ({kinds}), seeds {seeds_text(study.seeds)}, {len(study.runs()):,} runs",
        "- differences paired over seeds (each seed has its own domains), two-sided t-test, corrected by Holm for "
        f"all comparisons of a metric; significant: p < {SURE}",
        f"- scikit-learn's digits, hidden layers {', '.join(map(str, HIDDEN))}, {BATCH} rows per domain and step",
        f"- equal tuning: {FAIR['scheme']} penalties in means, two strengths each; to the letter: sums, "
        "Proposition 1 as printed",
    ]
    blocks = [
        "\n".join(f"- {line}" for line in answer(comparisons)),
        f"Number of readings, by accuracy (significant: p < {SURE}, paired over seeds, Holm correction for all):",
        table_by_rival(comparisons),
        "What each choice changes: mean accuracy over its readings, and the number of those in which RPO is "
        f"significantly better or worse than {IRM}, better than both halves, and better than all controls.",
        table_by_level(study, comparisons),
        f"![{TITLE}]({figure})",
        "*Accuracy of RPO minus that of the rival. Dark: significant after the correction. Bars: medians.*",
        f"[All readings, rivals and p-values as CSV]({table})",
        fold(protocol, "Protocol and seeds"),
    ]
    return "\n\n".join(blocks)


def figure_of(comparisons: Sequence[Compared]) -> "Figure":
    """Draw a panel a form: a line a rival, a dot a reading."""
    from matplotlib.figure import Figure

    chosen = of(comparisons, "accuracy")
    forms = list(dict.fromkeys(dict(pair.reading)[FORM.name] for pair in chosen))
    rivals = list(dict.fromkeys(pair.rival for pair in chosen))
    figure = Figure(figsize=(WIDTH, 1.1 + 0.36 * len(rivals)), layout="constrained")
    axes = figure.subplots(1, len(forms), sharex=True, sharey=True, squeeze=False)[0]
    for axis, form in zip(axes, forms, strict=True):
        axis.axvline(0, color="#555555", linewidth=0.9)
        for place, rival in enumerate(rivals):
            own = [pair for pair in chosen if pair.rival == rival and dict(pair.reading)[FORM.name] == form]
            for sure, ink in ((False, FAINT), (True, INKS[0])):
                x = [pair.difference for pair in own if pair.sure is sure]
                axis.plot(x, [place] * len(x), "o", color=ink, markersize=4, alpha=0.55, linewidth=0)
            if own:
                middle = float(np.median([pair.difference for pair in own]))
                axis.plot([middle] * 2, [place - 0.3, place + 0.3], color=INKS[1], linewidth=2)
        axis.set_title(form.replace(", ", ",\n"), fontsize=9, loc="left")
        show_rows(axis)
    axes[0].set_yticks(range(len(rivals)), rivals, fontsize=8.5)
    axes[0].set_ylim(len(rivals) - 0.5, -0.5)
    figure.supxlabel("accuracy of RPO minus that of the rival", fontsize=9)
    return figure
