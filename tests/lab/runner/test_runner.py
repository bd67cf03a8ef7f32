import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rpo.exceptions import InputError
from rpo.methods import load_plugin
from rpo_lab.runner import runner
from rpo_lab.runner.runner import execute, plan
from rpo_lab.runner.store import Store
from rpo_lab.runner.study import Row

SCRIPT = Path(__file__).with_name("small.py")


def _without_time(records):
    return {digest: record.model_dump(exclude={"seconds"}) for digest, record in records.items()}


@pytest.fixture(scope="module")
def done(small, tmp_path_factory):
    """A small study done in this process, its store and records."""
    study, store = small.study(leave_one_out=True), Store(tmp_path_factory.mktemp("done"))
    return study, store, execute(study.runs(), store, jobs=1, progress=False)


def test_every_run_has_a_record_with_all_that_was_asked(done):
    study, _, records = done
    assert set(records) == {run.digest for run in study.runs()}
    for record in records.values():
        assert record.status == "done"
        assert record.measured.test["test"]["mse"] > 0
        assert [len(v) for v in (record.measured.validation_risk, record.measured.validation_irm)] == [3, 3]
        # ERM alone has a grid to choose from.
        assert len(record.measured.left_out_risk or []) == (3 if record.run.method == "erm-l2" else 0)
        assert set(record.versions) == {"rpo", "torch", "numpy", "python"}


@pytest.mark.parametrize("options", [{"jobs": 2}, {"jobs": 1, "width": 1}], ids=["two workers", "not stacked"])
def test_neither_workers_nor_stacks_change_anything(small, done, tmp_path, options):
    study, _, records = done
    again = execute(study.runs(), Store(tmp_path), progress=False, **options)
    assert _without_time(again) == _without_time(records)
    assert small.table(study, again) == small.table(study, records)


def test_the_second_time_nothing_is_done(done, monkeypatch):
    study, store, records = done
    before = {path: path.stat().st_mtime_ns for path in store.runs.iterdir()}

    def never(*_):
        raise AssertionError("a run was done again")

    monkeypatch.setattr(runner, "run_stack", never)
    assert execute(study.runs(), store, jobs=1, progress=False) == records
    assert {path: path.stat().st_mtime_ns for path in store.runs.iterdir()} == before


def test_a_corrupt_record_is_set_aside_and_only_it_is_done_again(small, done, tmp_path):
    study, _, records = done
    store = Store(tmp_path)
    with store.lock():
        for record in records.values():
            store.write(record)
    victim = next(iter(sorted(store.runs.iterdir())))
    times = {path: path.stat().st_mtime_ns for path in store.runs.iterdir() if path != victim}
    victim.write_bytes(victim.read_bytes()[:40])
    todo = plan(study.runs(), store)
    assert (todo.missing, store.corrupt) == (1, [victim])
    store.corrupt.clear()
    again = execute(study.runs(), store, jobs=1, progress=False)
    assert store.aside == [victim.with_suffix(".json.corrupt")]
    assert _without_time(again) == _without_time(records)
    assert {path: path.stat().st_mtime_ns for path in times} == times


TEXT = '''
"""Mine: plain training, while a file is there."""
from pathlib import Path

from rpo.methods import BOTH, method
from rpo.methods.terms import risk


@method("mine", tasks=BOTH, space={}, cite="me")
def mine(net, params, state, batch, hp):
    """mean_e R_e"""
    if not Path(FILE).exists():
        raise RuntimeError("no file")
    return {"risk": risk(net(params, batch.x), batch, hp.task)}
'''


@pytest.fixture
def own(small, tmp_path, monkeypatch, registry):
    """A study of two stacks by a method in a module that no worker has; and the file that it needs."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "file"
    (tmp_path / "outside_runner.py").write_text(TEXT.replace("FILE", repr(str(file))))
    load_plugin("outside_runner")
    rows = (Row("mine", "mine"), Row("ERM", "erm-l2"))
    study = replace(small.study(steps=5), rows=rows, settings=small.study().settings[:1], reference="mine")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(tmp_path)])
    return study, file


def test_a_method_from_outside_goes_to_workers_and_its_failures_are_tried_again(own, tmp_path):
    study, file = own
    store = Store(tmp_path / "store")
    mine = {run.digest for run in study.runs() if run.method == "mine"}
    first = execute(study.runs(), store, jobs=2, progress=False)
    assert {first[digest].reason for digest in mine} == {"RuntimeError: no file"}
    assert {record.status for digest, record in first.items() if digest not in mine} == {"done"}
    file.touch()
    second = execute(study.runs(), store, jobs=2, progress=False)
    assert {second[digest].status for digest in mine} == {"done"}
    alone = execute(study.runs(), Store(tmp_path / "alone"), jobs=1, progress=False)
    assert _without_time(second) == _without_time(alone)


def test_a_method_that_a_process_does_not_know_is_an_error_and_no_record(own, registry, tmp_path):
    study, _ = own
    runs = study.runs()
    del registry["mine"]
    with pytest.raises(InputError, match="unknown method 'mine'"):
        execute(runs, Store(tmp_path / "store"), jobs=1, progress=False)
    kept = [path.stem for path in (tmp_path / "store" / "runs").glob("*.json")]
    assert not {run.digest for run in runs if run.method == "mine"} & set(kept)


def test_a_failed_run_is_a_record_with_its_reason_and_the_others_go_on(small, tmp_path):
    from dataclasses import replace

    study = small.study()
    # After a step that long the loss overflows.
    bad = replace(study.rows[1], label="bad", grid=({"eta": 10.0, "lam": 0.1, "lr": 1e200},))
    study = replace(study, rows=(*study.rows, bad))
    store = Store(tmp_path)
    records = execute(study.runs(), store, jobs=1, progress=False)
    failed = [record for record in records.values() if record.status == "failed"]
    assert len(failed) == 4
    assert all("not finite" in record.reason for record in failed)
    assert sum(record.status == "done" for record in records.values()) == len(study.runs()) - 4
    assert execute(study.runs(), store, jobs=1, progress=False) == records
    assert "not finite" in small.table(study, records)


def test_a_run_that_raises_takes_no_other_with_it(small, tmp_path):
    from rpo_lab.runner.stacks import run_stack

    runs = small.study().runs()[:2]
    broken = runs[1].model_copy(update={"numbers": {"c": 1e-3, "tau": 1.0}})
    good, bad = run_stack([runs[0], broken])
    assert good.status == "done"
    assert bad.status == "failed"
    assert bad.reason.startswith(("InputError", "KeyError"))


def test_the_plan_says_how_much_and_how_long(small, tmp_path):
    study = small.study()
    todo = plan(study.runs(), Store(tmp_path / "not there"))
    assert (len(todo.done), todo.missing) == (0, 20)
    assert 0 < todo.seconds(2) < 120
    assert not (tmp_path / "not there").exists()


def test_no_workers_is_an_error(small, tmp_path):
    with pytest.raises(InputError, match="jobs must .* got 0"):
        execute(small.study().runs(), Store(tmp_path), jobs=0)


def _start(folder, jobs, *words, **options):
    return subprocess.Popen([sys.executable, str(SCRIPT), str(folder), str(jobs), *words], **options)


def _records(folder):
    return set((folder / "runs").glob("*.json"))


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, 5])
def test_killed_at_random_moments_it_still_ends_as_if_undisturbed(small, tmp_path, kills):
    """SIGKILL at random moments of the study; then the same command to the end."""
    study = small.study(**small.KILLED)
    undisturbed = execute(study.runs(), Store(tmp_path / "undisturbed"), width=1, progress=False)
    folder = tmp_path / "killed"
    (folder / "runs").mkdir(parents=True)
    seed = random.randrange(2**32)
    moments, counts = random.Random(seed), []
    pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with _start(folder, 1, "--fork", **pipe) as server:
        for _ in range(kills):
            before = len(_records(folder))
            print(file=server.stdin, flush=True)
            pid = int(server.stdout.readline())
            # It has begun once a first new record is there; then any moment of the next quarter of a second.
            while len(_records(folder)) == before:
                time.sleep(0.002)
            time.sleep(moments.uniform(0, 0.25))
            os.kill(pid, signal.SIGKILL)
            ended = int(server.stdout.readline())
            assert ended == -signal.SIGKILL, f"it ended before it was killed (seed {seed}): make the study longer"
            counts.append(len(_records(folder)))
        server.stdin.close()
    assert counts == sorted(counts), f"a kill lost finished runs (seed {seed}): {counts}"
    assert 0 < counts[-1] < len(study.runs())
    assert _start(folder, 1).wait() == 0
    names = sorted(path.name for path in (folder / "runs").iterdir())
    assert names == sorted(f"{run.digest}.json" for run in study.runs()), f"seed {seed}"
    assert (folder / "table.csv").read_text() == small.table(study, undisturbed), f"seed {seed}"


def test_workers_do_not_outlive_a_killed_study(small, tmp_path):
    with _start(tmp_path, 2) as process:
        while not _records(tmp_path):
            assert process.poll() is None
            time.sleep(0.01)
        workers = _children(process.pid)
        assert len(workers) >= 2
        process.send_signal(signal.SIGKILL)
    end = time.monotonic() + 20
    while any(_alive(pid) for pid in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in workers if _alive(pid)]
    assert plan(small.study(**small.KILLED).runs(), Store(tmp_path)).missing > 0


def _children(pid):
    if not Path("/proc").exists():
        pytest.skip("needs /proc")
    return [int(p) for t in Path(f"/proc/{pid}/task").iterdir() for p in (t / "children").read_text().split()]


def _alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.long
def test_twenty_kills_lose_double_and_tear_nothing(small, tmp_path):
    """Ten with one process, ten with two workers: after each, all records are whole and those of before untouched."""
    study = small.study(**small.LONG)
    folder = tmp_path / "killed"
    (folder / "runs").mkdir(parents=True)
    seed = random.randrange(2**32)
    moments, before, kills = random.Random(seed), {}, 0
    for jobs in (1, 2):
        pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with _start(folder, jobs, "--fork", "--long", **pipe) as server:
            for _ in range(10):
                print(file=server.stdin, flush=True)
                pid = int(server.stdout.readline())
                while len(_records(folder)) == len(before):
                    time.sleep(0.002)
                time.sleep(moments.uniform(0, 0.25))
                os.kill(pid, signal.SIGKILL)
                kills += int(server.stdout.readline()) == -signal.SIGKILL
                store = Store(folder)
                done = plan(study.runs(), store).done
                assert not store.corrupt, f"a torn record (seed {seed}): {store.corrupt}"
                after = {path: path.stat().st_mtime_ns for path in _records(folder)}
                assert len(done) == len(after)
                assert before.items() < after.items(), f"a record was lost or done again (seed {seed})"
                before = after
            server.stdin.close()
    assert kills == 20, f"it ended before it was killed (seed {seed}): make the study longer"
    assert len(before) < len(study.runs())
    assert _start(folder, 2, "--long").wait() == 0
    names = sorted(path.name for path in (folder / "runs").iterdir())
    assert names == sorted(f"{run.digest}.json" for run in study.runs()), f"seed {seed}"
    undisturbed = execute(study.runs(), Store(tmp_path / "undisturbed"), progress=False)
    assert (folder / "table.csv").read_text() == small.table(study, undisturbed), f"seed {seed}"
