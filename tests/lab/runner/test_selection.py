import pytest

from rpo.exceptions import InputError
from rpo_lab.runner.selection import RULES, choose, get_rule
from rpo_lab.runner.specification import DataSpec, Run
from rpo_lab.runner.store import Measured, Record
from rpo_lab.runner.study import Setting

SETTING = Setting("Cigar", DataSpec(name="confounded"))


def record(risk, irm, left_out, mse, status="done"):
    measured = Measured(validation_risk=risk, validation_irm=irm, left_out_risk=left_out, test={"test": {"mse": mse}})
    run = Run(data=SETTING.data, method="rpo")
    done = status == "done"
    return Record(
        run=run,
        status=status,
        measured=measured if done else None,
        reason=None if done else "x",
        seconds=0,
        versions={},
    )


# Each of the first four is the best of one rule.
FORMULA = record([5.0, 5.0], [5.0, 5.0], [5.0, 5.0], 5.0)
VALIDATION = record([0.0, 2.0], [4.0, 4.0], [4.0, 4.0], 4.0)
LEFT_OUT = record([4.0, 4.0], [3.0, 3.0], [1.0, 1.0], 4.0)
IRM = record([3.0, 3.0], [1.0, 0.0], [3.0, 3.0], 4.0)
ORACLE = record([4.0, 4.0], [4.0, 4.0], [4.0, 4.0], 1.0)
ALL = [FORMULA, VALIDATION, LEFT_OUT, IRM, ORACLE]


@pytest.mark.parametrize(
    "name, expected",
    [("formula", FORMULA), ("validation", VALIDATION), ("leave-one-out", LEFT_OUT), ("irm", IRM), ("oracle", ORACLE)],
)
def test_each_rule_takes_its_own(name, expected):
    assert choose(get_rule(name), ALL, SETTING) is expected
    # The order of the grid does not matter but for the rule that takes its first.
    if name != "formula":
        assert choose(get_rule(name), ALL[::-1], SETTING) is expected


def test_no_rule_but_the_oracle_looks_at_the_test_domain():
    blind = [r.model_copy(update={"measured": r.measured.model_copy(update={"test": {}})}) for r in ALL]
    for name in set(RULES) - {"oracle"}:
        assert blind.index(choose(RULES[name], blind, SETTING)) == ALL.index(choose(RULES[name], ALL, SETTING))
    with pytest.raises(KeyError):
        choose(RULES["oracle"], blind, SETTING)
    assert "ORACLE" in RULES["oracle"].words


def test_failed_candidates_are_passed_over():
    failed = record([0.0], [0.0], [0.0], 0.0, status="failed")
    assert choose(get_rule("validation"), [failed, IRM], SETTING) is IRM
    assert choose(get_rule("validation"), [failed], SETTING) is None
    assert choose(get_rule("formula"), [failed, IRM], SETTING) is None


def test_equals_go_to_the_first():
    twin = VALIDATION.model_copy()
    assert choose(get_rule("validation"), [VALIDATION, twin], SETTING) is VALIDATION


def test_a_left_out_training_that_failed_takes_the_candidate_out():
    broken = record([0.0], [0.0], [0.0, None], 0.0)
    assert choose(get_rule("leave-one-out"), [broken, IRM], SETTING) is IRM


def test_records_without_left_out_scores_say_so():
    without = record([0.0], [0.0], None, 0.0)
    with pytest.raises(InputError, match="no leave-one-domain-out score"):
        choose(get_rule("leave-one-out"), [without, IRM], SETTING)
    assert choose(get_rule("leave-one-out"), [without], SETTING) is without  # nothing to choose from


def test_an_unknown_rule_names_those_there_are():
    with pytest.raises(InputError, match="validation, leave-one-out, irm, formula, oracle"):
        get_rule("best")
