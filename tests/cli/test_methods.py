"""`rpo methods`: all of them, by task, as a table and as JSON."""

import json

from typer.testing import CliRunner

from rpo.cli import app


def run(*arguments):
    done = CliRunner().invoke(app, ["methods", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_json_lists_twenty_six_with_everything_a_user_needs():
    entries = json.loads(run("--json"))
    assert len(entries) == 27
    for entry in entries:
        assert set(entry) == {"name", "tasks", "summary", "formula", "hyperparameters", "options", "reference"}
        assert set(entry["tasks"]) <= {"regression", "classification"}
        assert entry["hyperparameters"]["lr"]["range"].startswith("log-uniform")


def test_a_task_leaves_out_those_that_lack_it():
    names = {entry["name"] for entry in json.loads(run("--json", "--task", "regression"))}
    assert {"rpo", "mldg", "har"} <= names
    assert not {"cdann", "rsc", "cnbb", "ldam-irm", "sat-irm"} & names
    assert len(json.loads(run("--json", "--task", "classification"))) == 27


def test_the_table_names_every_method():
    table = run()
    assert "27 methods" in table
    assert "rpo-permuted" in table


def test_an_unknown_task_is_refused():
    assert CliRunner().invoke(app, ["methods", "--task", "ranking"]).exit_code == 2
