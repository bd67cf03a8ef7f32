"""Results from a study's records: cells with mean, deviation and significance, and the protocol that made them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

import numpy as np

from rpo._stats.significance import Comparison, compare, holm, stars
from rpo.exceptions import InputError
from rpo_lab.runner.metrics import METRICS
from rpo_lab.runner.selection import Rule, chosen, metric_of
from rpo_lab.runner.store import Record, versions
from rpo_lab.runner.study import Row, Setting, Study

Correction = Literal["none", "holm"]
MOST_COLUMNS = 8


@dataclass(frozen=True)
class Cell:
    """One method on one data set."""

    values: Mapping[int, float]
    """The metric by seed."""
    failed: tuple[str, ...] = ()
    """Why the missing seeds are missing."""
    comparison: Comparison | None = None
    """Against the reference row; None for that row itself."""
    p: float | None = None
    """Welch's p, corrected if the results are."""
    marks: str = ""
    """The paper's stars where the row is worse than the reference, as many plus signs where it is better."""
    picked: str = ""
    """The hyper-parameters taken, with how many seeds took them."""
    validation_risk: float = float("nan")
    """Mean risk of the models taken on validation rows of the training domains: what they know at home."""
    digits: int = 2
    """Decimals worth showing."""

    @property
    def mean(self) -> float:
        """Mean over seeds; NaN without any."""
        return float(np.mean(list(self.values.values()))) if self.values else float("nan")

    @property
    def deviation(self) -> float:
        """Standard deviation over seeds (n − 1); NaN below two."""
        return float(np.std(list(self.values.values()), ddof=1)) if len(self.values) > 1 else float("nan")


@dataclass(frozen=True)
class Results:
    """Rows by settings; `printed` holds columns to quote beside them, as text by row label."""

    title: str
    study: Study
    cells: Mapping[tuple[str, str], Cell]
    protocol: tuple[tuple[str, str], ...]
    rule: Rule
    printed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def tall(self) -> bool:
        """Whether there are so many settings that they go down the page and the rows across it."""
        return len(self.study.settings) > MOST_COLUMNS

    def cell(self, row: str, setting: str) -> Cell:
        """Return the cell of a row's and a setting's label."""
        return self.cells[row, setting]

    def best(self, setting: Setting) -> str:
        """Return the ranked row with the best mean."""
        sign = -1 if METRICS[setting.metric].larger_is_better else 1
        ranked = [row.label for row in self.study.rows if row.ranked]
        means = {label: sign * self.cell(label, setting.label).mean for label in ranked}
        known = {label: value for label, value in means.items() if not np.isnan(value)}
        return min(known, key=known.__getitem__) if known else ""


def check_correction(name: str) -> Correction:
    """Return the name if it is a correction's, else raise an error.

    >>> check_correction("holm")
    'holm'
    """
    if name == "none":
        return "none"
    if name == "holm":
        return "holm"
    raise InputError(f"correction must be 'none' or 'holm', got {name!r}")


def make_results(
    study: Study,
    records: Mapping[str, Record],
    rule: Rule,
    *,
    title: str,
    correction: Correction = "none",
    printed: Mapping[str, Mapping[str, str]] | None = None,
) -> Results:
    """Choose, compare with the reference, correct, and write down how."""
    cells: dict[tuple[str, str], Cell] = {}
    for setting in study.settings:
        plain = {row.label: _cell(study, records, row, setting, rule) for row in study.rows}
        reference = plain.pop(study.reference)
        cells[study.reference, setting.label] = reference
        compared = {label: compare(cell.values, reference.values) for label, cell in plain.items()}
        p = [comparison.p for comparison in compared.values()]
        corrected = holm(p) if correction == "holm" else p
        for (label, comparison), chance in zip(compared.items(), corrected, strict=True):
            worse = (comparison.difference > 0) != METRICS[setting.metric].larger_is_better
            marks = stars(chance) if worse else stars(chance).replace("*", "+")
            cells[label, setting.label] = replace(plain[label], comparison=comparison, p=chance, marks=marks)
    protocol = tuple(describe(study, records, rule, correction))
    return Results(title, study, cells, protocol, rule, printed or {})


def _cell(study: Study, records: Mapping[str, Record], row: Row, setting: Setting, rule: Rule) -> Cell:
    taken = chosen(study, records, row, setting, rule)
    values = {seed: value for seed, record in taken.items() if (value := metric_of(record, setting)) is not None}
    reasons = tuple(
        records[run.digest].reason or "no candidate has a score"
        for seed in study.seeds
        if seed not in taken
        for run in study.candidates(row, setting, seed)[:1]
    )
    searched = sorted({name for numbers in row.grid for name in numbers}) if len(row.grid) > 1 else []
    picks = Counter(", ".join(f"{n}={_plain(record.run.numbers[n])}" for n in searched) for record in taken.values())
    picked = "; ".join(f"{pick} ×{count}" for pick, count in sorted(picks.items())) if searched else ""
    risks = [fmean(record.measured.validation_risk) for record in taken.values() if record.measured]
    return Cell(
        values,
        reasons,
        picked=picked,
        validation_risk=fmean(risks) if risks else float("nan"),
        digits=METRICS[setting.metric].digits,
    )


def _plain(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)


def describe(study: Study, records: Mapping[str, Record], rule: Rule, correction: Correction) -> list[tuple[str, str]]:
    """Describe the protocol: everything a reader needs to judge or repeat the results."""
    runs = study.runs()
    failed = sum(records[run.digest].status == "failed" for run in runs)
    training = study.training
    grids = (f"{row.label}: {_grid(row.grid)}" for row in study.rows if len(row.grid) > 1)
    forms = (f"{row.label}: {_form(row)}" for row in study.rows if _form(row))
    names = {f"{k} {v}" for run in runs for k, v in records[run.digest].versions.items()}
    return [
        (
            "values",
            f"mean ± standard deviation (n − 1) over seeds {seeds_text(study.seeds)}; each seed has its own domains",
        ),
        ("selection", f"{rule.words} ({rule.name}), separately for each seed"),
        (
            "significance",
            f"Welch's t-test against {study.reference}: *** p < 0.01, ** p < 0.05, * p < 0.1; "
            "+ signs mark rows that are better; correction for multiple comparisons: "
            + ("Holm, within each column" if correction == "holm" else "none"),
        ),
        (
            "training",
            f"hidden layers {', '.join(map(str, training.hidden))}, {training.steps} steps of Adam, "
            f"{training.schedule} schedule, "
            + ("full batch" if training.batch_size is None else f"{training.batch_size} rows per domain and step")
            + f", {training.dtype}",
        ),
        ("grid", "; ".join(grids) or "one value for each hyper-parameter"),
        ("reduction and scheme", "; ".join(forms)),
        ("runs", f"{len(runs)}, {failed} failed"),
        ("versions", ", ".join(sorted(names or {f"{k} {v}" for k, v in versions().items()}))),
    ]


def _grid(grid: Sequence[Mapping[str, object]]) -> str:
    names = list(dict.fromkeys(name for numbers in grid for name in numbers))
    tried = {name: list(dict.fromkeys(_plain(n[name]) for n in grid if name in n)) for name in names}  # type: ignore[arg-type]
    return " × ".join(f"{name} {{{', '.join(values)}}}" for name, values in tried.items())


def _form(row: Row) -> str:
    from rpo.methods import REGISTRY

    if row.method not in REGISTRY:
        return ""
    _, options = REGISTRY[row.method].fill(dict(row.options))
    usual = [str(options[name]) for name in ("reduction", "scheme") if name in options]
    own = [f"{name} {value}" for name, value in row.options.items() if name not in ("reduction", "scheme")]
    return ", ".join([*usual, *own, *([f"rows judged: {row.judged}"] if row.judged else [])])


def seeds_text(seeds: Sequence[int]) -> str:
    """Write seeds as a range or a list.

    >>> seeds_text([0, 1, 2]), seeds_text([0, 2])
    ('0–2', '0, 2')
    """
    whole = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]}–{seeds[-1]}" if whole else ", ".join(map(str, seeds))
