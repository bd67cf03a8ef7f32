"""Sentences that describe results, for any figures."""

from collections.abc import Iterable, Sequence

from rpo._stats.significance import SURE, holm
from rpo_lab.runner.metrics import METRICS
from rpo_lab.runner.results import Cell, Results
from rpo_lab.runner.study import Setting


def ranking(results: Results, setting: Setting, section: str) -> str:
    """Compare the reference row with the best row of a section, and count the rows that it beats for sure."""
    rows = (row.label for row in results.study.rows if row.section == section)
    others = [label for label in rows if results.cell(label, setting.label).values]
    metric, name = METRICS[setting.metric], results.study.reference
    own = results.cell(name, setting.label)
    if not others or not own.values:
        return f"{setting.label}: nothing to compare, because {name if others else 'every other method'} failed."
    sign = -1 if metric.larger_is_better else 1
    best = min(others, key=lambda label: sign * results.cell(label, setting.label).mean)
    top = results.cell(best, setting.label).mean
    beaten = [label for label in others if results.cell(label, setting.label).marks == "***"]
    side = "above" if metric.larger_is_better else "below"
    return (
        f"{setting.label}: {name} has test {metric.words} {metric.text(own.mean)}, "
        f"{side if sign * own.mean < sign * top else f'not {side}'} the best comparison method, {best} "
        f"({metric.text(top)}); it is better than {len(beaten)} of {len(others)} with p < 0.01."
    )


def across(results: Results, section: str) -> str:
    """Count the settings in which the reference row is the best, and beats or is beaten by each other row."""
    settings, name = results.study.settings, results.study.reference
    best = sum(results.best(setting) == name for setting in settings)
    parts = []
    for row in results.study.rows:
        if row.section == section:
            marks = [results.cell(row.label, setting.label).marks for setting in settings]
            above, below = (sum(mark in signs for mark in marks) for signs in (("***", "**"), ("+++", "++")))
            parts.append(f"than {row.label} {above} and {below}")
    return (
        f"{name} has the best mean in {best} of {len(settings)} columns (settings and metrics). Number of columns in "
        f"which it is better or worse with p < {SURE}: {', '.join(parts)}."
    )


MISPLACED = "its own penalties permuted or made uniform"


def controls(results: Results, what: str, same: Iterable[str], own: Iterable[str], elsewhere: str = MISPLACED) -> str:
    """Describe where the reference differs from its controls, before and after Holm's correction.

    By Welch's test and by the paired one, which sees smaller differences since the seeds are shared. `what` names
    them; `own` are its own penalties dealt out otherwise, named by `elsewhere`. Of many settings it says how many, not
    which.
    """
    same, own = list(same), list(own)
    every = [(label, s, results.cell(label, s.label)) for label in (*same, *own) for s in results.study.settings]
    name = results.study.reference
    paired = [None if cell.comparison is None else cell.comparison.p_paired for *_, cell in every]
    words, better = [], set()
    for test, p in (("Welch's", [cell.p for *_, cell in every]), ("the paired", paired)):
        differing = _significant(every, p)
        words.append(f"{len(differing)} by {test} test{_which(results, differing) if differing else ''}")
        better |= {setting.label for label, setting, cell, _ in differing if label in own and is_worse(cell, setting)}
    left = _significant(every, holm(paired))
    line = (
        f"Controls ({what}): of {len(every)} comparisons, {name} differs with p < {SURE} in {'; '.join(words)}. "
        f"After Holm's correction, {len(left)} by the paired test{_named(results, left) if left else ''}."
    )
    if better:
        where = f"{len(better)} of {len(results.study.settings)} columns" if results.tall else listed(sorted(better))
        return f"{line} It is better than {elsewhere} on {where}."
    return (
        f"{line} It is nowhere better, by either test, than {elsewhere}: there is no "
        "evidence that the placement of the penalties helps, and not only their strength."
    )


Compared = tuple[str, Setting, Cell]
Found = tuple[str, Setting, Cell, float]


def _significant(every: Sequence[Compared], p: Sequence[float | None]) -> list[Found]:
    return [(*place, value) for place, value in zip(every, p, strict=True) if value is not None and value < SURE]


def _which(results: Results, differing: Sequence[Found]) -> str:
    """Name the settings, or, of many, count those in which the reference is better and worse."""
    if not results.tall:
        return _named(results, differing)
    better = sum(is_worse(cell, setting) for _, setting, cell, _ in differing)
    return f" (better in {better}, worse in {len(differing) - better})"


def _named(results: Results, differing: Sequence[Found]) -> str:
    own = {setting.label: results.cell(results.study.reference, setting.label).mean for _, setting, *_ in differing}
    parts = []
    for label, setting, cell, p in differing:
        text = METRICS[setting.metric].text
        parts.append(f"{label} on {setting.label} ({text(cell.mean)} against {text(own[setting.label])}, p = {p:.2g})")
    return f": {', '.join(parts)}"


def is_worse(cell: Cell, setting: Setting) -> bool:
    """Return whether a cell's mean is worse than the reference's."""
    difference = cell.comparison.difference if cell.comparison else 0.0
    return difference < 0 if METRICS[setting.metric].larger_is_better else difference > 0


def listed(names: Iterable[str]) -> str:
    """Join names by commas, or state that there are none.

    >>> listed(["a", "b"]), listed([])
    ('a, b', 'none of the sets')
    """
    return ", ".join(names) or "none of the sets"
