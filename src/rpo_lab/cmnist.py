"""Colored-MNIST: every method in fourteen settings, RPO against its two halves, and how accuracy falls with corruption.

Methods are compared under the paper's literal protocol and under one fair to all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from pydantic import JsonValue

from rpo._stats.significance import SURE
from rpo.exceptions import InputError
from rpo_lab.data.colored import colored_setting
from rpo_lab.runner.figures import CONFIDENCE, Curve, View, curves_figure
from rpo_lab.runner.metrics import METRICS
from rpo_lab.runner.results import Results
from rpo_lab.runner.specification import DataSpec, Number, Training
from rpo_lab.runner.study import Profile, Row, Setting, Study, get_profile, grid
from rpo_lab.runner.words import across, controls, is_worse, ranking
from rpo_lab.table1 import CONTROLLED

SETTINGS = tuple(range(1, 15))

RPO, SAME_FORM = "RPO", "IRM + lip, same sum form"
PERMUTED, UNIFORM = "RPO, penalties permuted", "RPO, penalties uniform"
COMPARISON, OURS, CONTROLS = "Comparison methods", "RPO", "Controls"
PEN, LIP = "RPO-Pen", "RPO-Lip"
MAIN = ("ERM + l2", "IRM + l2", "IRM + lip", "V-REx", PEN, LIP, RPO, SAME_FORM, PERMUTED, UNIFORM)

PROFILES = {
    "quick": Profile(seeds=2, steps=200),
    "paper": Profile(seeds=10, steps=500),
}
BATCH, HIDDEN = 256, (64, 64)

# The IRM penalty of a mini-batch is too large by its variance; a product of half-batch means is not.
SPLIT: Mapping[str, JsonValue] = {"irm_estimator": "split"}
# The paper's form: sums over rows (Eq. 4), Proposition 1 as printed.
LITERAL: Mapping[str, JsonValue] = {**SPLIT, "reduction": "sum", "scheme": "paper"}
# The same ratios between domains and between strata, at the strength of everybody else: means, η and ρ of mean one.
FAIR: Mapping[str, JsonValue] = {**SPLIT, "scheme": "calibrated", "density_exponent": -0.8, "folds": 0}
STRENGTH = (100.0, 1000.0)
UNCENTRED = (
    "IRM + lip, which is RPO with uniform penalties but for the centre of its dummy classifier, "
    "and RPO's own penalties permuted"
)


def comparison() -> tuple[Row, ...]:
    """Return the paper's twenty comparison methods, and ten that are compared with since.

    Each has two values of what matters most in it; the first is the default.
    """
    formula: Mapping[str, Number] = {"lam": "formula"}
    rows = (
        Row("ERM + l2", "erm-l2", grid(c=(1e-3, 1e-4))),
        Row("ERM + lip", "erm-lip", ({"lam": "formula"}, {"lam": 0.003})),
        Row("IRM + l2", "irm-l2", grid(eta=STRENGTH), SPLIT),
        Row("IRM + lip", "irm-lip", grid(formula, eta=STRENGTH), SPLIT),
        # Between three domains signs agree in all or in two: no threshold between tells models apart.
        Row("ANDMask", "andmask", grid(lr=(0.01, 0.003))),
        Row("CORAL", "coral", grid(gamma=(1.0, 10.0))),
        Row("DANN", "dann", grid(lam=(1.0, 0.1))),
        Row("CDANN", "cdann", grid(lam=(1.0, 0.1))),
        Row("GroupDRO", "groupdro", grid(step=(0.01, 0.1))),
        Row("IGA", "iga", grid(lam=(1000.0, 10_000.0))),
        Row("Mixup", "mixup", grid(alpha=(0.2, 1.0))),
        Row("MLDG", "mldg", grid(beta=(1.0, 0.1))),
        Row("MTL", "mtl", grid(ema=(0.99, 0.5))),
        Row("RSC", "rsc", grid(p=(1 / 3, 0.5))),
        Row("SagNet", "sagnet", grid(w=(0.1, 1.0))),
        Row("SD", "sd", grid(lam=(0.1, 0.01))),
        Row("CNBB", "cnbb", grid(lam=(0.01, 0.1))),
        Row("LDAM + IRM", "ldam-irm", grid(eta=STRENGTH), SPLIT),
        Row("SAT + IRM", "sat-irm", grid(eta=STRENGTH), SPLIT),
        Row("HAR + IRM", "har", grid(eta=STRENGTH), SPLIT),
        Row("V-REx", "vrex", grid(beta=(10.0, 100.0))),
        Row("Fishr", "fishr", grid(lam=(1000.0, 100.0))),
        Row("IB-ERM", "ib-erm", grid(gamma=(1.0, 10.0))),
        Row("IB-IRM", "ib-irm", grid(eta=STRENGTH), SPLIT),
        Row("EQRM", "eqrm", grid(alpha=(0.75, 0.9))),
        Row("MMD", "mmd", grid(gamma=(1.0, 10.0))),
        Row("anchor", "anchor", grid(gamma=(2.0, 10.0))),
        Row("LAP", "lap", grid(m=(1.0, 2.0))),
        Row("ICorr", "icorr", grid(lam=(1e4, 100.0))),
        Row("PAIR", "pair", grid(irm=(1e-2, 1.0))),
    )
    return tuple(replace(row, section=COMPARISON) for row in rows)


def fair() -> tuple[Row, ...]:
    """Return RPO, its ablations and controls in the form and with the grid of IRM.

    Uniform penalties have no row of their own: with mean one they are IRM + lip but for the centre of the dummy
    classifier, the log odds of the classes, which are nearly even here. With `centre="zero"` they are equal to 1e-9;
    with the log odds the logits differ by 0.04 after 60 steps on small digits (`tests/lab/test_cmnist.py`).
    """
    strength = grid(strength=STRENGTH)
    return (
        Row(PEN, "rpo-pen", strength, FAIR, section=OURS),
        Row(LIP, "rpo-lip", strength, FAIR, section=OURS),
        Row(RPO, "rpo", strength, FAIR, section=OURS),
        Row(PERMUTED, "rpo-permuted", strength, FAIR, section=CONTROLS, ranked=False),
    )


def literal() -> tuple[Row, ...]:
    """Return RPO, its ablations and controls exactly as in the paper, without tuning."""
    same = {**SPLIT, "reduction": "sum"}
    return (
        Row(PEN, "rpo-pen", options=LITERAL, section=OURS),
        Row(LIP, "rpo-lip", options=LITERAL, section=OURS),
        Row(RPO, "rpo", options=LITERAL, section=OURS),
        Row(SAME_FORM, "irm-lip", grid({"lam": "formula"}, eta=(1.0,)), same, section=CONTROLS, ranked=False),
        Row(PERMUTED, "rpo-permuted", options=LITERAL, section=CONTROLS, ranked=False),
        Row(UNIFORM, "rpo-uniform", options=LITERAL, section=CONTROLS, ranked=False),
    )


def columns(data: Mapping[str, DataSpec]) -> tuple[Setting, ...]:
    """Return each data set in accuracy and in AUC."""
    return tuple(
        Setting(f"{label}, {METRICS[metric].words}", spec, metric=metric, panel=label, mark=METRICS[metric].words)
        for label, spec in data.items()
        for metric in ("accuracy", "auc")
    )


def data_of(numbers: Sequence[int], digits: str = "mnist") -> dict[str, DataSpec]:
    """Return the data sets of some settings by label.

    >>> list(data_of([1, 7]))
    ['Setting 1 (Bad Domain)', 'Setting 7 (Bad Group)']
    """
    return {
        f"Setting {n} ({colored_setting(n).kind})": DataSpec(name="colored", options={"setting": n, "digits": digits})
        for n in numbers
    }


def make(
    name: str,
    rows: tuple[Row, ...],
    settings: tuple[Setting, ...],
    profile: str,
    *,
    seeds: int | None = None,
    leave_one_out: bool = False,
    digits: str = "mnist",
) -> Study:
    """Make a study of Colored-MNIST with the network and the training that all of them share."""
    size = get_profile(PROFILES, profile, seeds)
    # The large set trains one model at a time, which gives the same figures in single precision always; small sets
    # train in stacks, which do so in double precision.
    training = Training(
        hidden=HIDDEN, steps=size.steps, batch_size=BATCH, dtype="float32" if digits == "mnist" else "float64"
    )
    return Study(
        name=name,
        rows=rows,
        settings=settings,
        seeds=tuple(range(size.seeds)),
        reference=RPO,
        training=training,
        leave_one_out=leave_one_out,
    )


def cmnist(
    profile: str = "quick",
    *,
    settings: str = "1,7,13",
    methods: str = "all",
    seeds: int | None = None,
    leave_one_out: bool = False,
    digits: str = "mnist",
) -> list[View]:
    """Make the study under both protocols: every method, or the main ones, on the settings given.

    >>> [(view.name, len(view.study.rows)) for view in cmnist(digits="sklearn")]
    [('cmnist', 34), ('cmnist-literal', 36)]
    """
    if methods not in ("all", "main"):
        main = f"{', '.join(MAIN[:4])}, {RPO}, its halves and controls"
        raise InputError(f"methods must be 'all', or 'main' for {main}, got {methods!r}")
    others = tuple(row for row in comparison() if methods == "all" or row.label in MAIN)
    ours = [tuple(row for row in rows if methods == "all" or row.label in MAIN) for rows in (fair(), literal())]
    where = columns(data_of(numbers_of(settings), digits))
    build = partial(make, profile=profile, seeds=seeds, digits=digits)
    name = "cmnist" if methods == "all" else "cmnist-main"
    tuned = build(name, (*others, *ours[0]), where, leave_one_out=leave_one_out)
    untuned = build(f"{name}-literal", (*others, *ours[1]), where)
    untuned = replace(untuned, rows=tuple(replace(row, grid=row.grid[:1]) for row in untuned.rows))
    return [
        View(name, tuned, "Colored-MNIST: same form and equal tuning for all", summary, answers=answers(where)),
        View(
            f"{name}-literal",
            untuned,
            "Colored-MNIST: to the letter",
            summary,
            rule="formula",
            answers=answers(where),
        ),
    ]


def numbers_of(settings: str) -> tuple[int, ...]:
    """Parse numbers of settings from `1,7,13` or `all`.

    >>> numbers_of("1,7,13"), len(numbers_of("all"))
    ((1, 7, 13), 14)
    """
    if settings == "all":
        return SETTINGS
    words = [word.strip() for word in settings.split(",")]
    if not all(word.isdecimal() for word in words):
        raise InputError(f"settings must be 'all' or numbers separated by commas, such as 1,7,13, got {settings!r}")
    return tuple(dict.fromkeys(colored_setting(int(word)).number for word in words))


def summary(results: Results) -> list[str]:
    """Describe the rank of RPO in each setting, and whether the place of its penalties matters."""
    if SAME_FORM in {row.label for row in results.study.rows}:
        sentence = controls(results, CONTROLLED, (SAME_FORM,), (PERMUTED, UNIFORM))
    else:
        sentence = controls(results, UNCENTRED, (), ("IRM + lip", PERMUTED), "IRM + lip or its own penalties permuted")
    if results.tall:
        return [across(results, COMPARISON), sentence]
    first, others = (
        [ranking(results, s, COMPARISON) for s in results.study.settings if (s.metric == "accuracy") is is_first]
        for is_first in (True, False)
    )
    return [*first, sentence, *others]


def answers(settings: Sequence[Setting]) -> int:
    """Count the words that stand on a page: those on accuracy and on the controls."""
    return sum(setting.metric == "accuracy" for setting in settings) + 1


ABLATED = (1, 7)
# What the paper prints, mean and deviation as its table has them.
PRINTED = {
    "1, ACC printed": {LIP: "0.398 ± 0.01", PEN: "0.616 ± 0.05", RPO: "0.643 ± 0.04"},
    "1, AUC printed": {LIP: "0.351 ± 0.002", PEN: "0.649 ± 0.07", RPO: "0.685 ± 0.04"},
    "7, ACC printed": {LIP: "0.679 ± 0.03", PEN: "0.544 ± 0.1", RPO: "0.699 ± 0.08"},
    "7, AUC printed": {LIP: "0.740 ± 0.05", PEN: "0.555 ± 0.1", RPO: "0.774 ± 0.1"},
}


def ablation(
    profile: str = "quick", *, seeds: int | None = None, leave_one_out: bool = False, digits: str = "mnist"
) -> list[View]:
    """Return the study of RPO, RPO-Pen and RPO-Lip under both protocols.

    >>> [[row.label for row in view.study.rows] for view in ablation(digits="sklearn")]
    [['RPO-Pen', 'RPO-Lip', 'RPO'], ['RPO-Pen', 'RPO-Lip', 'RPO']]
    """
    build = partial(make, settings=columns(data_of(ABLATED, digits)), profile=profile, seeds=seeds, digits=digits)
    tuned, untuned = (tuple(row for row in rows if row.section == OURS) for rows in (fair(), literal()))
    studies = build("ablation", tuned, leave_one_out=leave_one_out), build("ablation-literal", untuned)
    view = partial(View, words=ablation_summary, printed=PRINTED)
    return [
        view("ablation", studies[0], "Ablation: mean form, equal tuning"),
        view("ablation-literal", studies[1], "Ablation: to the letter", rule="formula"),
    ]


def ablation_summary(results: Results) -> list[str]:
    """Describe whether each half does as the paper claims: η* for bad domains, ρ* for bad groups, best together."""
    lines = []
    for setting in results.study.settings:
        text = METRICS[setting.metric].text
        means = {row.label: results.cell(row.label, setting.label).mean for row in results.study.rows}
        expected = PEN if setting.label.startswith("Setting 1 ") else LIP
        other = LIP if expected == PEN else PEN
        behind = [label for label in (PEN, LIP) if is_worse(results.cell(label, setting.label), setting)]
        sure = [label for label in behind if results.cell(label, setting.label).marks in ("***", "**")]
        lines.append(
            f"{setting.label}: {expected} {text(means[expected])}, {other} {text(means[other])}: the half that the "
            f"paper finds better {'is' if means[expected] > means[other] else 'is not'} better here. RPO, "
            f"{text(means[RPO])}, is above {len(behind)} of the two, with p < 0.05 above {len(sure)}."
        )
    return lines


# Where two of the three are held while the third varies: settings 1 to 14 have the same keep and flip.
USUAL: Mapping[str, JsonValue] = {"bad_share": 0.3, "flip": 0.3, "keep": 0.1}
SEVERITY = ("ERM + l2", "IRM + l2", "IRM + lip", RPO, PERMUTED)
CURVES = (
    Curve("bad_share", "share of bad cells", (0.0, 0.1, 0.2, 0.3, 0.5)),
    Curve("flip", "labels flipped in bad cells", (0.0, 0.15, 0.3, 0.45)),
    Curve("keep", "rows kept in bad cells", (0.1, 0.3, 1.0)),
)


def severity(
    profile: str = "quick", *, seeds: int | None = None, leave_one_out: bool = False, digits: str = "mnist"
) -> View:
    """Make the study of the main methods, with equal tuning, at every point of the three curves.

    >>> study = severity(digits="sklearn").study
    >>> len(study.rows), len(study.settings)
    (5, 12)
    """
    settings = tuple(
        Setting(
            curve.label(value),
            DataSpec(name="colored", options={**USUAL, curve.option: value, "digits": digits}),
            metric="accuracy",
        )
        for curve in CURVES
        for value in curve.values
    )
    rows = tuple(row for row in (*comparison(), *fair()) if row.label in SEVERITY)
    study = make("severity", rows, settings, profile, seeds=seeds, leave_one_out=leave_one_out, digits=digits)
    return View(
        "severity",
        study,
        "Colored-MNIST: accuracy as the corruption grows",
        severity_summary,
        figure=partial(curves_figure, curves=CURVES),
        caption=f"Bands: {CONFIDENCE:.0%} intervals of the mean over seeds (Student's t).",
    )


def severity_summary(results: Results) -> list[str]:
    """Describe the loss of every method from the first value of each curve to its last, and where RPO stands out."""
    lines = []
    for curve in CURVES:
        ends = [curve.label(curve.values[i]) for i in (0, -1)]
        falls = ", ".join(
            f"{row.label} {results.cell(row.label, ends[0]).mean:.3f} to {results.cell(row.label, ends[1]).mean:.3f}"
            for row in results.study.rows
        )
        lines.append(f"{curve.words.capitalize()}, {curve.values[0]:g} to {curve.values[-1]:g}: {falls}.")
    settings = {setting.label: setting for setting in results.study.settings}
    for other in ("IRM + lip", PERMUTED):
        cells = {label: results.cell(other, label) for label in settings}
        sure = [label for label, cell in cells.items() if cell.p is not None and cell.p < SURE]
        better = [label for label in sure if is_worse(cells[label], settings[label])]
        worse = [label for label in sure if label not in better]
        lines.append(
            f"{RPO} compared with {other} at {len(settings)} points: better with p < {SURE} at {len(better)}"
            f"{_at(better)}, worse at {len(worse)}{_at(worse)}."
        )
    return lines


def _at(labels: list[str]) -> str:
    return f" ({', '.join(labels)})" if labels else ""
