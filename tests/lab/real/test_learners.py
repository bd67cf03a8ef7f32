"""Every learner on small tables: it learns, its errors are those of its predictions, and what it lacks is said."""

import os

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.real import learners
from rpo_lab.real.folds import make_fold
from rpo_lab.real.learners import LEARNERS, errors, installed, work
from rpo_lab.real.study import real_study
from rpo_lab.runner.specification import DataSpec, Run, complete
from rpo_lab.runner.stacks import pack, run_stack


def runs(names, table="exam", setting="as-they-are", seed=0):
    data = DataSpec(name="real", options={"table": table, "setting": setting})
    return [complete(Run(data=data, method=f"real:{name}", seed=seed)) for name in names]


@pytest.mark.parametrize("table", ["exam", "contraception"])
@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "mean"])
def test_every_learner_beats_the_mean(small, name, table):
    if not installed(name):
        pytest.skip(f"{name} is not installed")
    (mean, _), (found, seconds) = work(runs(["mean", name], table))
    assert seconds >= 0
    if name == "mixed" and table == "contraception":
        assert found == "ValueError: supports regression only"
        return
    key = "mse" if table == "exam" else "brier"
    assert found.test["test"][key] < 0.6 * mean.test["test"][key]


def test_learners_print_nothing(small, capfd):
    """Standard output is for results; libraries that print from C would end up in `--json`."""
    work(runs([name for name in LEARNERS if installed(name)]))
    os.write(1, b"whole again\n")
    assert capfd.readouterr().out == "whole again\n"


def test_errors_by_hand(small):
    fold = make_fold("exam", "as-they-are", 0, 1_000, 0)
    said = fold.held.y + 0.5 * fold.unit
    assert errors(fold, said) == {"mse": pytest.approx(0.25)}
    fold = make_fold("contraception", "as-they-are", 0, 1_000, 0)
    first = (fold.held.y == "above").astype(float)
    sure = np.column_stack([first, 1 - first])
    assert errors(fold, sure) == {"accuracy": 1.0, "brier": 0.0, "auc": 1.0}
    assert errors(fold, np.full_like(sure, 0.5))["brier"] == 0.25


def test_a_learner_that_fails_is_a_failed_record_and_the_others_go_on(small, monkeypatch):
    def broken(fold, seed):
        raise ValueError("no luck\ntoday")

    monkeypatch.setitem(LEARNERS, "hgb", broken)
    good, bad = run_stack(runs(["ridge", "hgb"]))
    assert (good.status, bad.status, bad.reason) == ("done", "failed", "ValueError: no luck today")


def test_what_is_not_installed_is_named_and_left_out(small, monkeypatch):
    monkeypatch.setattr(learners, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"gpboost is not installed here: pip install 'rpo\[real\]'"):
        work(runs(["ridge", "gpboost"]))
    study = real_study("paper", ["exam"])
    assert study.missing == {
        "lightgbm": "lightgbm",
        "gpboost": "gpboost",
        "anchor": "anchorboosting",
        "mixed": "statsmodels",
    }
    assert not {key.row for key in study.runs} & study.missing.keys()


def test_learners_of_one_fold_come_together(small):
    every = [*runs(["ridge", "hgb"]), *runs(["ridge"], seed=1), *runs(["ridge"], setting="scarce")]
    stacks = pack(every)
    assert sorted(len(stack) for stack in stacks) == [1, 1, 2]
    assert pack(every[::-1])[0][0].digest in {run.digest for run in every}
