"""`rpo methods`: all of them, by task, as a table and as JSON."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rpo.cli import app
from rpo.exceptions import InputError
from rpo.methods import get_method
from rpo.methods import methods as registered

WHAT = {"name", "summary", "formula", "cite", "reference"}


def tunable(method):
    return [*method.space.values(), *method.options.values()]


def run(*arguments):
    done = CliRunner().invoke(app, ["methods", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_json_lists_all_with_everything_a_user_needs():
    entries = json.loads(run("--json"))
    assert {entry["name"] for entry in entries} == {method.name for method in registered()}
    for entry in entries:
        assert set(entry) == {*WHAT, "tasks", "hyperparameters", "options", "version"}
        assert all(entry[key] for key in WHAT)
        assert set(entry["tasks"]) <= {"regression", "classification"}
        assert entry["hyperparameters"]["lr"]["range"].startswith("log-uniform")


def test_a_task_leaves_out_those_that_lack_it():
    names = {entry["name"] for entry in json.loads(run("--json", "--task", "regression"))}
    assert {"rpo", "mldg", "har"} <= names
    assert not {"cdann", "rsc", "cnbb", "ldam-irm", "sat-irm"} & names
    assert len(json.loads(run("--json", "--task", "classification"))) == len(list(registered()))


def test_the_table_names_every_method():
    table = run()
    assert f"{len(list(registered()))} methods" in table
    assert "rpo-permuted" in table


@pytest.fixture
def costs_two(monkeypatch):
    """A step is not measured for every method."""
    monkeypatch.setattr("rpo.engine.cost.step_cost", lambda method: 2.0)


@pytest.mark.parametrize("name", sorted(method.name for method in registered()))
def test_one_method_is_explained(name, costs_two):
    """Formula, tasks, full reference, and every hyper-parameter and option in a sentence with default and range."""
    method = get_method(name)
    said = " ".join(run(name).split())
    for text in (name, method.summary, method.formula, method.reference, *(tuned.words for tuned in tunable(method))):
        assert " ".join(text.split()) in said
    assert "lr: Learning rate of Adam. Default 0.01, searched log-uniform 3.16e-05 to 0.0316." in said
    assert json.loads(run(name, "--json"))["name"] == name


def test_a_sentence_says_default_and_range():
    said = " ".join(run("vrex").split())
    assert "regression and classification" in said
    assert "beta: Strength of the penalty on the variance of the domains' risks. Default 10, searched log-uni" in said
    assert "Default divide, one of divide, reset, none." in said
    assert "Default by formula" in " ".join(run("rpo").split())


def test_the_cost_over_plain_training_is_measured():
    assert "times that of plain training" in " ".join(run("erm-l2").split())
    assert 0 < json.loads(run("iga", "--json"))["cost"] < 1000


def test_methods_of_a_module_are_listed_and_explained(monkeypatch, costs_two, registry):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples" / "own_method")
    said = " ".join(run("my-vrex", "--plugin", "rpo_vrex").split())
    assert "My V-REx: domains whose risks are equal" in said
    assert "beta: Strength of the penalty on the variance of the domains' risks. Default 10" in said


def test_an_unknown_method_is_one_line():
    done = CliRunner().invoke(app, ["methods", "magic"])
    assert isinstance(done.exception, InputError)
    assert "unknown method 'magic': use one of anchor, andmask" in str(done.exception)


def test_an_unknown_task_is_refused():
    assert CliRunner().invoke(app, ["methods", "--task", "ranking"]).exit_code == 2
