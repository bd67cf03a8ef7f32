"""A study's runs: computed once, whoever asks."""

from rpo_lab.runner import specification, study
from rpo_lab.runner.results import make_results
from rpo_lab.runner.runner import execute, plan
from rpo_lab.runner.selection import RULES
from rpo_lab.runner.store import Store


def test_runs_and_digests_are_computed_once(small, tmp_path, monkeypatch):
    counts = {"complete": 0, "sha256": 0}

    def counted(module, name):
        function = getattr(module, name)

        def count(*given):
            counts[name] += 1
            return function(*given)

        monkeypatch.setattr(module, name, count)

    counted(study, "complete")
    counted(specification, "sha256")
    made = small.study(steps=1, leave_one_out=True)
    candidates = sum(len(row.grid) for row, _ in made.cells()) * len(made.seeds)
    store = Store(tmp_path)
    records = execute(made.runs(), store, progress=False)
    for rule in RULES.values():
        make_results(made, records, rule, title="Small")
    assert counts == {"complete": candidates, "sha256": candidates}
    # What comes from the disk is checked against its name, once.
    assert len(plan(made.runs(), store).done) == candidates
    assert counts == {"complete": candidates, "sha256": 2 * candidates}


def test_a_copy_has_its_own_digest(small):
    run = small.study().runs()[0]
    assert run.model_copy(update={"seed": 5}).digest != run.digest
    assert run.model_copy().digest == run.digest
