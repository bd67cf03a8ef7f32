import os
import subprocess
import sys
from dataclasses import replace

import pytest
from pydantic import ValidationError

from rpo.exceptions import InputError
from rpo.methods import REGISTRY, get_method
from rpo_lab.runner.specification import DataSpec, Run, Training, complete, sha256

RUN = Run(
    data=DataSpec(name="confounded", options={"table": "wage", "noise": 0.25}),
    method="irm-lip",
    numbers={"eta": 10.0, "lam": "formula"},
    options={"reduction": "sum"},
    seed=3,
)
DIGEST = "ba0d343d83aa67b222ea"


def test_the_hash_never_changes():
    # A change here makes every record on every disk unknown: raise FORMAT and say so.
    assert RUN.digest == DIGEST


def test_the_hash_is_the_same_in_another_process():
    code = (
        f"from rpo_lab.runner.specification import Run;print(Run.model_validate_json({RUN.model_dump_json()!r}).digest)"
    )
    environment = os.environ | {"PYTHONHASHSEED": "12345"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == DIGEST


def test_spelling_does_not_matter_and_content_does():
    def but(**changes):
        return Run.model_validate(RUN.model_dump() | changes).digest

    assert but(numbers={"lam": "formula", "eta": 10}) == DIGEST
    others = [
        but(seed=4),
        but(method="rpo"),
        but(numbers={"eta": 10.0, "lam": None}),
        but(options={"reduction": "mean"}),
        but(leave_one_out=True),
        but(version=2),
        but(training=Training(steps=401)),
        but(data=DataSpec(name="confounded", options={"table": "cigar", "noise": 0.25})),
    ]
    assert len({DIGEST, *others}) == len(others) + 1


def test_complete_writes_out_every_default_and_keeps_what_was_given():
    run = complete(RUN)
    assert run.data.options["noise"] == 0.25
    assert run.data.options["keep"] == 0.2
    assert run.numbers == {"eta": 10.0, "lam": "formula", "anneal": 0.25, "lr": 0.01}
    assert run.options == {"reduction": "sum", "irm_estimator": "square", "rescale": "divide"}
    assert complete(run).digest == run.digest
    assert complete(Run(data=DataSpec(name="confounded"), method="rpo")).numbers["lam"] is None


def test_an_option_that_came_later_keeps_the_hash_of_earlier_runs():
    """RPO had no `centre` when records were published; one that is chosen is another run."""
    rpo = Run(data=DataSpec(name="confounded"), method="rpo")
    run = complete(rpo)
    assert run.options["centre"] is None
    assert run.digest == "d31478fd2fa45a0d670a"
    options = {name: value for name, value in run.options.items() if name != "centre"}
    assert run.model_copy(update={"options": options}).digest == run.digest
    assert complete(rpo.model_copy(update={"options": {"centre": "zero"}})).digest != run.digest


def test_a_corrected_method_is_another_run(monkeypatch):
    """A method at its first version has the digest it had before there were versions; a corrected one never has it."""
    first = replace(get_method("irm-lip"), version=1)
    monkeypatch.setitem(REGISTRY, "irm-lip", first)
    before = complete(RUN)
    since = {"version": True, "source": True, "data": {"judged", "rules"}}
    assert before.digest == sha256(before.model_dump(mode="json", exclude=since))[:20]
    monkeypatch.setitem(REGISTRY, "irm-lip", replace(first, version=2))
    corrected = complete(before)
    assert corrected.version == 2
    assert corrected.digest != before.digest
    assert complete(corrected).digest == corrected.digest


@pytest.mark.parametrize(
    "run, says",
    [
        (Run(data=DataSpec(name="beer"), method="rpo"), "unknown data set 'beer'"),
        (Run(data=DataSpec(name="confounded", options={"colour": 1}), method="rpo"), "no option 'colour'"),
        (Run(data=DataSpec(name="confounded"), method="magic"), "unknown method 'magic'"),
        (Run(data=DataSpec(name="confounded"), method="rpo", numbers={"tau": 1.0}), "no hyper-parameter 'tau'"),
    ],
)
def test_what_does_not_exist_is_one_line(run, says):
    with pytest.raises(InputError, match=says):
        complete(run)


def test_unknown_fields_are_refused():
    with pytest.raises(ValidationError):
        Run(data=DataSpec(name="confounded"), method="rpo", sede=1)
