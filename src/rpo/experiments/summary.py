"""What Table 1 shows, in plain words made from its own figures."""

from rpo.experiments.significance import stars
from rpo.experiments.study import Setting
from rpo.experiments.table1 import CAUSAL, COMPARISON, MEAN, PERMUTED, RPO, SAME_FORM, SCREENED, UNIFORM
from rpo.experiments.tables import Table

SURE = 0.05  # below this p a difference is called one


def summary(table: Table) -> list[str]:
    """One sentence or two for each thing a reader should take away, whichever way the figures fall."""
    settings = table.study.settings
    return [
        *(_ranking(table, setting) for setting in settings),
        _controls(table),
        _references(table),
        _home(table),
    ]


def _mean(table: Table, row: str, setting: Setting) -> float:
    return table.cell(row, setting.label).mean


def _ranking(table: Table, setting: Setting) -> str:
    rows = (row.label for row in table.study.rows if row.section == COMPARISON)
    others = [label for label in rows if table.cell(label, setting.label).values]
    own = _mean(table, RPO, setting)
    best = min(others, key=lambda label: _mean(table, label, setting))
    beaten = [label for label in others if _worse(table, label, setting)]
    verb = "below" if own < _mean(table, best, setting) else "not below"
    return (
        f"{setting.label}: RPO has test MSE {own:.2f}, {verb} the best comparison method, {best} "
        f"({_mean(table, best, setting):.2f}); it is better than {len(beaten)} of {len(others)} with p < 0.01."
    )


def _worse(table: Table, label: str, setting: Setting) -> bool:
    cell = table.cell(label, setting.label)
    return cell.comparison is not None and cell.comparison.difference > 0 and stars(cell.p) == "***"


def _controls(table: Table) -> str:
    """By Welch's test and by the paired one, which sees smaller differences since the seeds are shared."""
    cells = [
        (label, s, table.cell(label, s.label)) for label in (SAME_FORM, PERMUTED, UNIFORM) for s in table.study.settings
    ]
    found: dict[str, list[str]] = {"Welch's": [], "the paired": []}
    better = set()
    for label, setting, cell in cells:
        if cell.comparison is None:
            continue
        for test, p in (("Welch's", cell.p), ("the paired", cell.comparison.p_paired)):
            if p is not None and p < SURE:
                means = f"{cell.mean:.2f} against {_mean(table, RPO, setting):.2f}, p = {p:.2g}"
                found[test].append(f"{label} on {setting.label} ({means})")
                if label != SAME_FORM and cell.comparison.difference > 0:
                    better.add(setting.label)
    words = "; ".join(
        f"by {test} test from {len(which)}{': ' if which else ''}{', '.join(which)}" for test, which in found.items()
    )
    line = (
        f"Controls (IRM + lip in the same sum form, RPO's own penalties permuted, and made uniform): of {len(cells)}, "
        f"RPO differs with p < {SURE} {words}."
    )
    if better:
        return f"{line} It is better than its own penalties permuted or made uniform on {_list(sorted(better))}."
    return (
        f"{line} Nowhere is it better, by either test, than its own penalties permuted or made uniform: "
        "nothing here shows that their place matters, and not only their strength."
    )


def _references(table: Table) -> str:
    settings = table.study.settings
    lost = [s.label for s in settings if _mean(table, RPO, s) > _mean(table, MEAN, s)]
    screened = [s.label for s in settings if _mean(table, SCREENED, s) < _mean(table, RPO, s)]

    def span(row: str) -> str:
        means = [_mean(table, row, setting) for setting in settings]
        return f"{min(means):.2f}–{max(means):.2f}"

    return (
        f"References: predicting the mean of the target scores {span(MEAN)}, an oracle on the causal features "
        f"{span(CAUSAL)}; RPO is worse than the mean on {_list(lost)}. "
        f"ERM on screened features scores {span(SCREENED)}, better than RPO on {_list(screened)}."
    )


def _home(table: Table) -> str:
    """How much of the target's variance at home a model explains: next to nothing is a model that has collapsed."""
    settings = table.study.settings

    def explained(row: str) -> str:
        shares = [
            1 - table.cell(row, s.label).validation_risk / table.cell(MEAN, s.label).validation_risk for s in settings
        ]
        return f"{min(shares):.0%} to {max(shares):.0%}"

    return (
        "At home, on validation rows of the training domains, the share of the target's variance explained is "
        f"{explained(RPO)} for RPO, {explained(SAME_FORM)} for IRM + lip in the same sum form, "
        f"{explained('IRM + lip')} for IRM + lip in mean form and {explained('ERM + l2')} for ERM + l2. "
        "Near zero, a model has collapsed onto a constant, which no confounder can lead astray."
    )


def _list(names: list[str]) -> str:
    return ", ".join(names) if names else "none of the sets"
