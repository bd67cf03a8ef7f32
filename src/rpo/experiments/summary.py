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
    controls = (SAME_FORM, PERMUTED, UNIFORM)
    told_apart = [
        f"{label} on {setting.label} ({_mean(table, label, setting):.2f} against {_mean(table, RPO, setting):.2f}, "
        f"p = {cell.p:.2g})"
        for label in controls
        for setting in table.study.settings
        if (cell := table.cell(label, setting.label)).p is not None and cell.p < SURE
    ]
    total = len(controls) * len(table.study.settings)
    line = (
        f"Controls: RPO differs (p < {SURE}) from {len(told_apart)} of {total} controls "
        "(IRM + lip in the same sum form, its own penalties permuted, and made uniform)"
    )
    if told_apart:
        return f"{line}: {'; '.join(told_apart)}."
    return f"{line}: its gain is that of strong penalties as such, not of where they are put."


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
        f"{explained('IRM + lip')} for IRM + lip in mean form and {explained('ERM + l2')} for ERM + l2: near zero, a model has collapsed onto a "
        "constant, and a constant cannot be led astray by a confounder."
    )


def _list(names: list[str]) -> str:
    return ", ".join(names) if names else "none of the sets"
