"""`rpo bench real` as people call it, on small tables; killed and gone on with."""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rpo_lab.data.real import listing
from rpo_lab.data.recipes import recipe_of
from rpo_lab.real import folds

SMALL = Path(__file__).parents[1] / "real" / "small.py"
CODE = f"import runpy; runpy.run_path({str(SMALL)!r})['use_small_tables'](); from rpo.cli import main; main()"


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(folds, "load_real", runpy.run_path(str(SMALL))["small_table"])
    for cached in (folds.real_table, folds.make_fold):
        cached.cache_clear()
    yield
    for cached in (folds.real_table, folds.make_fold):
        cached.cache_clear()


def test_tables_figures_a_page_and_plain_words(small, command, tmp_path, monkeypatch):
    words = ("bench", "real", "--tables", "exam,contraception", "--seeds", 1, "--jobs", 1, "--out", tmp_path / "out")
    code, out, err = command(*words, "--page", tmp_path / "page.md", "--frozen", "abc123")
    assert code == 0, err
    assert "Error over the best stock learner, as they are" in out
    assert "Do weights from judged quality help on unseen domains?" in out
    page = (tmp_path / "page.md").read_text()
    assert "Made by `rpo bench real --tables exam,contraception --frozen abc123 --profile quick --seeds 1" in page
    assert "](out/real.png)" in page
    made = {path.name for path in (tmp_path / "out").iterdir()} - {"runs", "lock"}
    figures = {"real.png", "real-unevenness.png"}
    assert made == {*figures, "errors.csv", "summary.csv", "gains.csv"}
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 2 * 14
    before = (tmp_path / "page.md").read_bytes(), (tmp_path / "out" / "real.png").read_bytes()
    file = tmp_path / "real.jsonl.gz"
    code, again, _ = command(*words, "--page", tmp_path / "page.md", "--frozen", "abc123", "--records-out", file)
    assert again == out
    assert before == ((tmp_path / "page.md").read_bytes(), (tmp_path / "out" / "real.png").read_bytes())
    # From the records alone, whatever is installed here.
    with monkeypatch.context() as without:
        without.setattr("rpo_lab.real.study.installed", lambda _: False)
        code, again, err = command(*words, "--page", tmp_path / "page.md", "--frozen", "abc123", "--records", file)
    assert (code, again, err) == (0, out, "")
    assert before == ((tmp_path / "page.md").read_bytes(), (tmp_path / "out" / "real.png").read_bytes())
    code, out, _ = command(*words, "--json")
    found = json.loads(out)
    assert {one["row"] for one in found["summary"]} >= {"ridge", "hgb", "forest", "quality-auto"}
    assert found["not installed"] == {}


def test_dry_run_counts_and_writes_nothing(small, command, tmp_path):
    code, out, _ = command("bench", "real", "--tables", "exam", "--dry-run", "--out", tmp_path / "out")
    assert code == 0
    assert out.startswith("42 runs, 0 done, 42 to do in 6 stacks.")
    assert "About" in out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words, says",
    [
        (("--profile", "huge"), "unknown profile 'huge': use one of quick, paper, full"),
        (("--tables", "nowhere"), "there is no real table 'nowhere'"),
        (("--seeds", "0"), "seeds must be at least 1, got 0"),
    ],
)
def test_bad_words_are_one_line_and_code_two(command, tmp_path, words, says):
    code, _, err = command("bench", "real", "--out", tmp_path, *words)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1


def test_a_table_that_is_not_there_is_one_line_with_what_to_do(command, tmp_path, monkeypatch):
    monkeypatch.setenv("RPO_DATA", str(tmp_path / "nothing"))
    for cached in (folds.real_table, folds.make_fold):
        cached.cache_clear()
    code, _, err = command("bench", "real", "--tables", "exam", "--jobs", 1, "--out", tmp_path / "out")
    assert code == 2
    assert "run `rpo data get tables`" in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_killed_and_gone_on_with_it_is_the_same(tmp_path):
    """A real kill of the whole process group, twice, in the midst of the runs; then the rest, and the same tables."""
    words = ["bench", "real", "--tables", "exam,contraception", "--jobs", "1"]
    log = tmp_path / "log"
    assert _process(log, *words, "--out", tmp_path / "whole").wait() == 0, log.read_text()
    runs, seen = tmp_path / "out" / "runs", 0
    for _ in range(2):
        process = _process(log, *words, "--out", tmp_path / "out")
        while process.poll() is None and len(list(runs.glob("*.json"))) <= seen:
            time.sleep(0.05)
        assert process.poll() is None, "it was over before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        seen = len(list(runs.glob("*.json")))
    assert 0 < seen < len(list((tmp_path / "whole" / "runs").iterdir()))
    assert _process(log, *words, "--out", tmp_path / "out").wait() == 0, log.read_text()
    for name in ("errors.csv", "summary.csv", "gains.csv", "real.png", "real-unevenness.png"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def _process(log, *words):
    """A process group of its own, which says what goes wrong in a file."""
    command = [sys.executable, "-W", "ignore", "-c", CODE, *map(str, words)]
    with open(log, "w") as file:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file, start_new_session=True)


@pytest.mark.slow
def test_a_cluster_gives_the_same(tmp_path):
    """Workers read the tables themselves, from the cache of their machine."""
    if not listing(recipe_of("crime")).present:
        pytest.skip("the real tables are not in the cache")
    words = ["bench", "real", "--tables", "crime", "--seeds", "1"]
    clusters = runpy.run_path(str(SMALL.parents[1] / "runner" / "clusters.py"))
    with clusters["cluster"](tmp_path / "cluster", workers=1) as running:
        for out, where in (("here", ["--jobs", "1"]), ("there", ["--cluster", running.address])):
            command = [
                sys.executable,
                "-c",
                "from rpo.cli import main; main()",
                *words,
                *where,
                "--out",
                tmp_path / out,
            ]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    for name in ("errors.csv", "summary.csv", "gains.csv"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
