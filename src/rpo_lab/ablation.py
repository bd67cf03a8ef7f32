"""The paper's ablation: RPO against its two halves, on Colored-MNIST with a bad domain and with a bad group."""

from functools import partial

from rpo_lab.cmnist import LIP, OURS, PEN, RPO, columns, data_of, fair, literal, make
from rpo_lab.runner.figures import View
from rpo_lab.runner.metrics import METRICS
from rpo_lab.runner.results import Results
from rpo_lab.runner.words import is_worse

SETTINGS = (1, 7)

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
    """RPO, RPO-Pen and RPO-Lip under both protocols.

    >>> [[row.label for row in view.study.rows] for view in ablation(digits="sklearn")]
    [['RPO-Pen', 'RPO-Lip', 'RPO'], ['RPO-Pen', 'RPO-Lip', 'RPO']]
    """
    build = partial(make, settings=columns(data_of(SETTINGS, digits)), profile=profile, seeds=seeds, digits=digits)
    tuned, untuned = (tuple(row for row in rows if row.section == OURS) for rows in (fair(), literal()))
    return [
        View(
            "ablation",
            build("ablation", tuned, leave_one_out=leave_one_out),
            "Ablation: mean form, equal tuning",
            summary,
            PRINTED,
        ),
        View(
            "ablation-literal",
            build("ablation-literal", untuned),
            "Ablation: to the letter",
            summary,
            PRINTED,
            rule="formula",
        ),
    ]


def summary(results: Results) -> list[str]:
    """Whether each half does what the paper says of it: η* for a bad domain, ρ* for a bad group, both best together."""
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
