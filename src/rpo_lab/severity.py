"""How accuracy out of the training domains falls as the corruption grows: more bad cells, more noise, fewer rows."""

from collections.abc import Mapping
from functools import partial

from pydantic import JsonValue

from rpo._stats.significance import SURE
from rpo_lab.cmnist import PERMUTED, RPO, comparison, fair, make
from rpo_lab.runner.figures import CONFIDENCE, Curve, View, curves_figure
from rpo_lab.runner.results import Results
from rpo_lab.runner.specification import DataSpec
from rpo_lab.runner.study import Setting, Study

TITLE = "Colored-MNIST: accuracy as the corruption grows"
# Where two of the three are held while the third varies: settings 1 to 14 have the same keep and flip.
USUAL = {"bad_share": 0.3, "flip": 0.3, "keep": 0.1}


ROWS = ("ERM + l2", "IRM + l2", "IRM + lip", RPO, PERMUTED)
CURVES = (
    Curve("bad_share", "share of bad cells", (0.0, 0.1, 0.2, 0.3, 0.5)),
    Curve("flip", "labels flipped in bad cells", (0.0, 0.15, 0.3, 0.45)),
    Curve("keep", "rows kept in bad cells", (0.1, 0.3, 1.0)),
)


def severity(
    profile: str = "quick", *, seeds: int | None = None, leave_one_out: bool = False, digits: str = "mnist"
) -> Study:
    """The main methods, with equal tuning, at every point of the three curves.

    >>> study = severity(digits="sklearn")
    >>> len(study.rows), len(study.settings)
    (5, 12)
    """
    settings = []
    for curve in CURVES:
        for value in curve.values:
            options: Mapping[str, JsonValue] = {**USUAL, curve.option: value, "digits": digits}
            data = DataSpec(name="colored", options=dict(options))
            settings.append(Setting(curve.label(value), data, metric="accuracy"))
    rows = tuple(row for row in (*comparison(), *fair()) if row.label in ROWS)
    return make("severity", rows, tuple(settings), profile, seeds=seeds, leave_one_out=leave_one_out, digits=digits)


def view(study: Study) -> View:
    """The study as three curves."""
    caption = f"Bands: {CONFIDENCE:.0%} intervals of the mean over seeds (Student's t)."
    return View("severity", study, TITLE, summary, figure=partial(curves_figure, curves=CURVES), caption=caption)


def summary(results: Results) -> list[str]:
    """For each curve: what every method loses from its first value to its last, and where RPO stands apart."""
    lines = []
    for curve in CURVES:
        ends = [curve.label(curve.values[i]) for i in (0, -1)]
        falls = ", ".join(
            f"{row.label} {results.cell(row.label, ends[0]).mean:.3f} to {results.cell(row.label, ends[1]).mean:.3f}"
            for row in results.study.rows
        )
        lines.append(f"{curve.words.capitalize()}, {curve.values[0]:g} to {curve.values[-1]:g}: {falls}.")
    points = list(dict.fromkeys(setting.label for setting in results.study.settings))
    for other in ("IRM + lip", PERMUTED):
        cells = {label: results.cell(other, label) for label in points}
        sure = {label: cell for label, cell in cells.items() if cell.p is not None and cell.p < SURE}
        better = [label for label, cell in sure.items() if cell.comparison and cell.comparison.difference < 0]
        worse = [label for label in sure if label not in better]
        lines.append(
            f"{RPO} compared with {other} at {len(points)} points: better with p < {SURE} at {len(better)}"
            f"{_at(better)}, worse at {len(worse)}{_at(worse)}."
        )
    return lines


def _at(labels: list[str]) -> str:
    return f" ({', '.join(labels)})" if labels else ""
