import pytest

from rpo.exceptions import InputError
from rpo_lab.runner.results import make_results
from rpo_lab.runner.runner import execute
from rpo_lab.runner.selection import get_rule
from rpo_lab.runner.specification import complete
from rpo_lab.runner.store import Measured, Record, Store
from rpo_lab.table1 import CAUSAL, MEAN, PERMUTED, PRINTED, RPO, SAME_FORM, TITLE, UNFLAGGED, UNIFORM, summary, table1


def test_the_two_profiles_differ_in_size_only():
    quick, paper = table1("quick"), table1("paper")
    assert [row.label for row in quick.rows] == [row.label for row in paper.rows]
    assert quick.settings == paper.settings
    for small, large in zip(quick.rows, paper.rows, strict=True):
        assert small.grid == large.grid[: len(small.grid)]
        assert (small.method, small.options) == (large.method, large.options)
    assert len(paper.seeds) >= 10


def test_every_row_is_one_that_can_be_run():
    study = table1("paper")
    for run in study.runs():
        assert complete(run).digest == run.digest


def test_rpo_is_in_the_papers_literal_form_and_the_control_in_the_same():
    study = table1("paper")
    rows = {row.label: study.candidates(row, study.settings[0], 0) for row in study.rows}
    (rpo,), (same,) = rows[RPO], rows[SAME_FORM]
    assert rpo.options["reduction"] == same.options["reduction"] == "sum"
    assert (rpo.options["scheme"], rpo.options["folds"]) == ("paper", 0)
    assert (rpo.numbers["strength"], rpo.numbers["lam"]) == (1.0, None)
    assert (same.numbers["eta"], same.numbers["lam"]) == (1.0, "formula")
    assert all(run.options["reduction"] == "mean" for run in rows["IRM + lip"])


def test_what_is_printed_names_rows_that_are_there():
    labels = {row.label for row in table1().rows}
    for column in PRINTED.values():
        assert set(column) <= labels


@pytest.mark.parametrize("call, says", [({"profile": "huge"}, "quick, paper"), ({"seeds": 1}, "at least 2")])
def test_bad_choices_are_one_line(call, says):
    with pytest.raises(InputError, match=says):
        table1(**call)


def hand_made(means, home=None):
    """A table of two seeds whose cells have the given means, the same in every setting, and risks at home."""
    study = table1("quick", seeds=2)
    records = {}
    for row, setting in study.cells():
        for seed in study.seeds:
            for run in study.candidates(row, setting, seed):
                mse = means.get(row.label, 9.0) + (0.01 if seed else -0.01)
                risk = [(home or {}).get(row.label, 1.0)]
                measured = Measured(validation_risk=risk, validation_irm=[1.0], test={"test": {"mse": mse}})
                records[run.digest] = Record(run=run, status="done", measured=measured, seconds=0, versions={})
    return make_results(study, records, get_rule("validation"), title=TITLE)


def test_the_summary_says_what_the_figures_say_either_way():
    same = {RPO: 2.0, PERMUTED: 2.0, UNIFORM: 2.001, SAME_FORM: 2.002, MEAN: 1.0, UNFLAGGED: 0.9, CAUSAL: 0.5}
    words = "\n".join(summary(hand_made(same, {RPO: 0.9, "ERM + l2": 0.25})))
    assert "10% to 10% for RPO, 0% to 0% for IRM + lip in the same sum form" in words
    assert "75% to 75% for ERM + l2" in words
    assert "Cigar clean: RPO has test MSE 2.00, below the best comparison method" in words
    assert "better than 17 of 17" in words
    assert "of 12 comparisons, RPO differs with p < 0.05 in 0 by Welch's test; 8 by the paired test: IRM" in words
    assert "After Holm's correction, 8 by the paired test: IRM" in words
    assert "It is better than its own penalties permuted or made uniform on Cigar clean, Cigar mix" in words
    assert "worse than the mean on Cigar clean, Cigar mix, Wage clean, Wage mix" in words
    other = {RPO: 2.0, PERMUTED: 4.0, UNIFORM: 2.0, SAME_FORM: 2.0, MEAN: 3.0, UNFLAGGED: 5.0, "MLDG": 1.0}
    words = "\n".join(summary(hand_made(other)))
    assert "not below the best comparison method, MLDG (1.00)" in words
    assert "in 4 by Welch's test: RPO, penalties permuted on Cigar clean" in words
    assert f"{PERMUTED} on Wage mix (4.00 against 2.00" in words
    assert "worse than the mean on none of the sets" in words
    words = "\n".join(summary(hand_made({RPO: 2.0, PERMUTED: 2.0, UNIFORM: 1.0, SAME_FORM: 2.0})))
    assert "no evidence that the placement of the penalties helps" in words


@pytest.mark.long
def test_the_papers_ordering_on_the_clean_sets(tmp_path):
    """Ten seeds: RPO first, *** against the comparison methods of the paper."""
    from dataclasses import replace

    study = table1("paper")
    study = replace(study, settings=study.settings[::2], rows=study.rows[:10])
    records = execute(study.runs(), Store(tmp_path), jobs=2)
    table = make_results(study, records, get_rule("validation"), title=TITLE)
    for setting in study.settings:
        for label in ("ERM + l2", "ERM + lip", "ANDMask", "IRM + l2", "IRM + lip", "MLDG"):
            assert table.cell(label, setting.label).marks == "***", (label, setting.label)
