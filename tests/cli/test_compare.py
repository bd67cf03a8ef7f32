"""`rpo compare`: tables, verdict, JSON and the page with its section."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.report.reading import section_of, strange, values


def test_the_verdict_the_tables_and_the_page(command, homes, tmp_path):
    words = ("-t", "radon", "-d", "site", "--drop", "high", "-m", "groupdro", "--seeds", 2, "--steps", 20, "-j", 1)
    place = ("--out", tmp_path / "kept", "--report", tmp_path / "p.html")
    code, out, _ = command("compare", homes, *words, *place)
    assert code == 0
    assert "Error on held-out domains, best first" in out
    said = out.rsplit("The page is ", 1)[0]
    assert max(map(len, said.splitlines())) <= 80
    verdict = said.split("\n\n")[-1].strip().replace("\n", " ")
    assert re.search(r"quality (helps|hurts)|cannot tell quality from", verdict)
    page = (tmp_path / "p.html").read_text()
    assert "Methods on unseen domains" in page
    assert "groupdro" in page
    found = json.loads(command("compare", homes, *words, *place, "--json")[1])
    assert found["verdict"] == verdict
    assert strange(section_of(page, "held_out"), values(found)) == []
    assert strange(section_of(page, "domains"), values(found["judgement"])) == []
    ours = {"quality", "quality-permuted", "quality-uniform"}
    others = {"mean", "linear", "trees", "erm-l2", "rpo", "groupdro"}
    assert {row["method"] for row in found["methods"]} == ours | others
    assert [row["n"] for row in found["domains"]] == [80, 80, 80]
    assert "of which 0 failed" in out


def test_a_dry_run_trains_nothing(command, homes, tmp_path):
    words = ("-t", "radon", "-d", "site", "--drop", "high", "-m", "coral,vrex", "--seeds", 2, "--dry-run")
    code, out, _ = command("compare", homes, *words, "--out", tmp_path / "kept")
    assert code == 0
    assert "240 rows, 3 domains, held out in 3 folds" in out
    assert "coral, vrex, erm-l2, rpo: 72 of 72 networks to train" in out
    assert not (tmp_path / "kept").exists()


def test_bad_options_are_one_line(command, homes, tmp_path):
    for words, message in (
        (("-d", "site", "--seeds", 1), "seeds must be at least 2"),
        (("-d", "nowhere"), "no column 'nowhere'"),
        (("-d", "site", "-m", "magic"), "unknown method 'magic'"),
    ):
        code, out, err = command("compare", homes, "-t", "radon", "--drop", "high", "-o", tmp_path / "kept", *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
    assert not (tmp_path / "kept").exists()


@pytest.mark.slow
def test_it_goes_on_after_a_kill(command, homes, tmp_path):
    words = ("compare", homes, "-t", "radon", "-d", "site", "--drop", "high", "-m", "groupdro")
    words = (*words, "--seeds", 2, "--steps", 400, "-j", 1, "--json")
    kept = tmp_path / "killed"
    start = "import sys; from rpo.cli import main; sys.argv = ['rpo', *sys.argv[1:]]; main()"
    process = subprocess.Popen([sys.executable, "-c", start, *map(str, words), "-o", str(kept)])
    while process.poll() is None and len(list(kept.glob("runs/*.json"))) < 3:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = {path.name: path.stat().st_mtime_ns for path in kept.glob("runs/*.json")}
    code, went_on, _ = command(*words, "-o", kept)
    assert code == 0
    assert len(done) < len(list(kept.glob("runs/*.json")))
    assert all((kept / "runs" / name).stat().st_mtime_ns == when for name, when in done.items())
    assert went_on == command(*words, "-o", tmp_path / "whole")[1]
