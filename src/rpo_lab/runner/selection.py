"""Rules that select a model of a grid, applied to the same records after training; each seed separately."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from rpo.exceptions import InputError
from rpo_lab.runner.metrics import METRICS
from rpo_lab.runner.store import Measured, Record
from rpo_lab.runner.study import Row, Setting, Study

# The smaller the better; None if the run lacks what the rule looks at.
Score = Callable[[Measured], float | None]


@dataclass(frozen=True)
class Rule:
    """A rule, how a protocol words it, and its score; without one it looks at the test domain."""

    name: str
    words: str
    score: Score | None


def _left_out(measured: Measured) -> float | None:
    if measured.left_out_risk is None:
        raise InputError(
            "these runs have no leave-one-domain-out score: give --selection leave-one-out to the run itself"
        )
    known = [risk for risk in measured.left_out_risk if risk is not None]
    return fmean(known) if len(known) == len(measured.left_out_risk) else None


RULES = {
    rule.name: rule
    for rule in (
        Rule(
            "validation",
            "smallest mean risk on validation rows of the training domains",
            lambda m: fmean(m.validation_risk),
        ),
        Rule("leave-one-out", "smallest mean risk on training domains that are held out in turn", _left_out),
        Rule("irm", "smallest mean IRM penalty on validation rows", lambda m: fmean(m.validation_irm)),
        Rule("formula", "no selection: hyper-parameters from formulas or defaults", lambda _: 0.0),
        Rule("oracle", "ORACLE: best on the test domain itself, which no fair rule can use", None),
    )
}


def get_rule(name: str) -> Rule:
    """Return the rule of that name, or raise an error that lists them.

    >>> get_rule("irm").words
    'smallest mean IRM penalty on validation rows'
    """
    if name not in RULES:
        raise InputError(f"selection must be one of {', '.join(RULES)}, got {name!r}")
    return RULES[name]


def metric_of(record: Record, setting: Setting) -> float | None:
    """Return the setting's metric on its one test domain; None if the run failed."""
    return record.measured.test[setting.test][setting.metric] if record.measured else None


def choose(rule: Rule, candidates: Sequence[Record], setting: Setting) -> Record | None:
    """Return the candidate with the smallest score, the first of equals; the only one; None if all failed.

    A candidate that failed is passed over, but the rule that chooses nothing takes the first or none.
    """
    pool = candidates[:1] if rule.name == "formula" else candidates
    if len(pool) == 1:
        return pool[0] if pool[0].measured else None
    scored = [
        (score, place) for place, record in enumerate(pool) if (score := _score(rule, record, setting)) is not None
    ]
    return pool[min(scored)[1]] if scored else None


def _score(rule: Rule, record: Record, setting: Setting) -> float | None:
    if record.measured is None:
        return None
    if rule.score is not None:
        return rule.score(record.measured)
    value = record.measured.test[setting.test][setting.metric]
    return -value if METRICS[setting.metric].larger_is_better else value


def chosen(study: Study, records: Mapping[str, Record], row: Row, setting: Setting, rule: Rule) -> dict[int, Record]:
    """Return the record taken for each seed; a seed is missing if its candidates all failed or are not all known."""
    taken = {}
    for seed in study.seeds:
        runs = study.candidates(row, setting, seed)
        if any(run.digest not in records for run in runs):
            continue
        candidates = [records[run.digest] for run in runs]
        if (record := choose(rule, candidates, setting)) is not None:
            taken[seed] = record
    return taken
