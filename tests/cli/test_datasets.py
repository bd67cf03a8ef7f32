"""`rpo quality`, `fit` and `check` on a dataset of many files: what they say and refuse, and what survives a kill."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from rpo._table import reading
from rpo.cli.quality import quality
from rpo.exceptions import InputError
from tests.lab.runner import clusters

RPO = [sys.executable, "-c", "from rpo.cli import main; main()"]
ROLES = ("-t", "y", "-d", "site")


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 8, n)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd")).assign(site=[f"s{k}" for k in site])
    return frame.assign(y=frame["a"] + frame["b"] ** 2 + rng.normal(size=n) * np.where(site == 3, 2.0, 0.5))


def files(folder, rows, number):
    folder.mkdir(parents=True)
    for k in range(number):
        table(rows, k).to_parquet(folder / f"part-{k:02d}.parquet", index=False)
    return folder


@pytest.fixture
def many(tmp_path, monkeypatch):
    """A folder that is taken for one of very many rows."""
    monkeypatch.setattr(reading, "STREAMED", 1_000)
    return files(tmp_path / "visits", 600, 3)


def test_quality_says_what_is_of_all_rows_and_what_of_a_sample(command, many, tmp_path):
    words = ("quality", many, *ROLES, "--method", "linear", "--grouping", "none", "--jobs", 1, "--sample-rows", 1_000)
    page = tmp_path / "page.html"
    code, out, _ = command(*words, "--report", page)
    assert code == 0
    assert "In site s3, y is" in out
    assert "are computed from all 1,800 rows." in " ".join(out.split())
    assert "are computed from all 1,800 rows." in page.read_text()
    found = json.loads(command(*words, "--json")[1])
    assert found["scope"]["rows"] == found["overview"]["rows"] == 1_800
    assert 900 < found["scope"]["sample"] < 1_100
    assert found["rows"][0]["file"].startswith(str(many))
    kept = tmp_path / "kept"
    for _ in range(2):  # the second time from what was kept
        again = json.loads(command(*words, "--json", "--checkpoint", kept)[1])
        assert {**again, "about": None} == {**found, "about": None}


def test_few_rows_are_judged_as_one_table_however_many_files(command, tmp_path):
    folder = files(tmp_path / "visits", 300, 2)
    whole = pd.concat([pd.read_parquet(path) for path in sorted(folder.iterdir())])
    whole.to_parquet(tmp_path / "whole.parquet", index=False)
    words = (*ROLES, "--method", "linear", "--grouping", "none", "--json")
    one, other = (json.loads(command("quality", path, *words)[1]) for path in (folder, tmp_path / "whole.parquet"))
    assert {**one, "about": None} == {**other, "about": None}
    assert one["scope"] is None


def test_a_model_learns_from_the_sample_and_checks_another_dataset(command, many, tmp_path):
    model = tmp_path / "model"
    words = ("--method", "linear", "--grouping", "none", "--jobs", 1, "--sample-rows", 1_000)
    code, _, err = command("fit", many, *ROLES, *words, "--out", model)
    assert code == 0
    assert " of 1,800 rows, balanced between domains as far as possible" in err
    new = files(tmp_path / "new", 700, 2)
    code, out, _ = command("check", model, new, "--jobs", 1, "--json")
    assert code == 0
    streamed = json.loads(out)
    whole = pd.concat([pd.read_parquet(path) for path in sorted(new.iterdir())])
    whole.to_csv(tmp_path / "new.csv", index=False)
    memory = json.loads(command("check", model, tmp_path / "new.csv", "--json")[1])
    assert [row["domain"] for row in streamed["domains"]] == [row["domain"] for row in memory["domains"]]
    for name in ("domains", "columns", "distances"):
        left, right = (pd.DataFrame(found[name]) for found in (streamed, memory))
        pd.testing.assert_frame_equal(left, right, rtol=1e-9, check_dtype=False)
    assert streamed["summary"] == memory["summary"]


@pytest.mark.parametrize(
    "words, line",
    [
        (("--unit", "a"), "--unit needs all rows in memory: add --all-rows, or remove the option"),
        (("--weights-out", "w.csv"), "--weights-out needs all rows in memory"),
        (("-t", "z"), "the dataset has no column 'z'"),
        (("--sample-rows", "10"), "--sample-rows"),
    ],
)
def test_what_cannot_be_done_is_one_line(command, many, words, line):
    code, out, err = command("quality", many, *ROLES, "--jobs", 1, *words)
    assert (code, out) == (2, "")
    assert line in err
    assert "Traceback" not in err


def test_all_rows_in_memory_need_no_cluster(many):
    with pytest.raises(InputError, match="remove --cluster"):
        quality(str(many), target="y", domain="site", all_rows=True, cluster="tcp://127.0.0.1:1")


def test_a_bad_file_is_named_or_skipped(command, many):
    bad = many / "part-01.parquet"
    bad.write_bytes(bad.read_bytes()[:-30])
    words = ("quality", many, *ROLES, "--method", "linear", "--grouping", "none", "--jobs", 1)
    code, out, err = command(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{bad} cannot be used" in err
    code, out, err = command(*words, "--skip-bad")
    assert code == 0
    assert "1,200 rows" in " ".join(out.split())
    assert f"note: 1 files were skipped: {bad}" in err


def test_all_rows_are_read_where_that_is_asked_for(command, many):
    words = ("quality", many, *ROLES, "--method", "linear", "--grouping", "none", "--all-rows", "--json")
    found = json.loads(command(*words)[1])
    assert found["scope"] is None
    assert found["overview"]["rows"] == 1_800


def test_all_rows_on_a_cluster_are_for_trees(command, many, monkeypatch):
    monkeypatch.setattr("rpo._cluster.check_scheduler", lambda address: address)
    words = ("fit", many, *ROLES, "--all-rows", "--cluster", "tcp://127.0.0.1:1", "--out", many.parent / "model")
    code, out, err = command(*words, "--method", "linear")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--all-rows on a cluster supports only --method trees" in err


# --- real processes, and what kills them -------------------------------------------------------------------------

BIG = ("--method", "linear", "--grouping", "none", "--sample-rows", "2000", "--json")


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    return files(tmp_path_factory.mktemp("big") / "visits", 100_000, 12)


@pytest.fixture(scope="module")
def undisturbed(big):
    return _answer(_run("quality", big, *ROLES, *BIG, "--jobs", 1))


def _run(*words):
    return subprocess.run([*RPO, *map(str, words)], capture_output=True, text=True, env=_environment())


def _environment():
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def _start(*words):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*RPO, *map(str, words)], env=_environment(), **pipes)


def _answer(done):
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "about": None}


def _wait_for_parts(kept, number, process):
    """Until so many parts were measured."""
    while len(list(kept.glob("measuring-*/*.npz"))) < number:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@pytest.mark.slow
def test_two_processes_give_the_answer_of_one(big, undisturbed):
    assert _answer(_run("quality", big, *ROLES, *BIG, "--jobs", 2)) == undisturbed


@pytest.mark.slow
def test_a_cluster_gives_the_answer_of_one_process_and_a_lost_worker_costs_its_part(big, undisturbed, tmp_path):
    with clusters.cluster(tmp_path / "cluster", workers=2) as running:
        words = ("quality", big, *ROLES, *BIG, "--cluster", running.address, "--checkpoint", tmp_path / "kept")
        process = _start(*words)
        _wait_for_parts(tmp_path / "kept", 2, process)
        running.workers[0].kill()
        out, err = process.communicate()
        assert process.returncode == 0, err
        assert {**json.loads(out), "about": None} == undisturbed


@pytest.mark.slow
def test_a_lost_scheduler_is_one_line_and_the_same_command_goes_on(big, undisturbed, tmp_path):
    kept = tmp_path / "kept"
    with clusters.cluster(tmp_path / "cluster", workers=1) as running:
        words = ("quality", big, *ROLES, *BIG, "--checkpoint", kept)
        process = _start(*words, "--cluster", running.address)
        _wait_for_parts(kept, 3, process)
        running.scheduler.kill()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.splitlines()[-1].startswith("rpo: the scheduler at")
    assert "the same command continues" in err
    done = {path: path.stat().st_mtime_ns for path in kept.glob("measuring-*/*.npz")}
    assert len(done) >= 3
    assert _answer(_run(*words, "--jobs", 1)) == undisturbed
    assert all(path.stat().st_mtime_ns == time for path, time in done.items())  # not made again


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_in_the_middle_it_goes_on(big, undisturbed, tmp_path, jobs):
    kept = tmp_path / "kept"
    words = ("quality", big, *ROLES, *BIG, "--checkpoint", kept, "--jobs", jobs)
    process = _start(*words)
    _wait_for_parts(kept, 3, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = {path: path.stat().st_mtime_ns for path in kept.glob("measuring-*/*.npz")}
    assert _answer(_run(*words)) == undisturbed
    assert all(path.stat().st_mtime_ns == time for path, time in done.items())


@pytest.mark.slow
def test_trees_of_all_rows_on_a_cluster_are_a_model_like_any_other(big, tmp_path):
    model, new = tmp_path / "model", tmp_path / "new.csv"
    table(2_000, seed=99).to_csv(new, index=False)
    words = ("--method", "trees", "--grouping", "none", "--sample-rows", 2_000, "--all-rows")
    with clusters.cluster(tmp_path / "cluster", workers=2) as running:
        done = _run("fit", big, *ROLES, *words, "--cluster", running.address, "--out", model, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rows"] == 1_200_000
    assert "LightGBM's trees were fitted to all 1,200,000 rows" in " ".join(found["notes"])
    predicted = tmp_path / "predicted.csv"
    done = _run("predict", model, new, "--out", predicted)
    assert done.returncode == 0, done.stderr
    clean = pd.read_csv(new)
    error = pd.read_csv(predicted)["prediction"] - clean["a"] - clean["b"] ** 2
    assert np.sqrt(np.mean(error**2)) < 0.2  # a sample of 2,000 rows leaves more than twice that
