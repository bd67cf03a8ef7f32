"""The wheel: built as anybody would, installed into an empty environment, and used there."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import rpo

ROOT = Path(__file__).parents[1]


def test_the_version_is_the_same_everywhere():
    named = [
        line.split(mark)[1].strip().strip('"')
        for file, mark in (("pyproject.toml", "version = "), ("CITATION.cff", "version: "))
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines()
        if line.startswith(mark)
    ]
    assert named == [rpo.__version__] * 2
    assert f"\n## {rpo.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_wheel_installs_and_judges_a_table_in_an_empty_environment(tmp_path):
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words, cwd=tmp_path):
        done = subprocess.run([*map(str, words)], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stdout[-1000:], done.stderr[-2000:])
        return done.stdout

    run(sys.executable, "-m", "venv", "tools")
    run("tools/bin/python", "-m", "pip", "install", "--quiet", "build")
    run("tools/bin/python", "-m", "build", "--wheel", "--outdir", tmp_path / "dist", ROOT)
    (wheel,) = (tmp_path / "dist").iterdir()
    run(sys.executable, "-m", "venv", "empty")
    run("empty/bin/python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel)
    assert run("empty/bin/rpo", "--version").strip().endswith(rpo.__version__)
    table = pd.DataFrame({"x": range(60), "d": list("abc") * 20})
    table.assign(y=table["x"] + table["x"] % 7).to_csv(tmp_path / "table.csv", index=False)
    said = run("empty/bin/rpo", "quality", "table.csv", "-t", "y", "-d", "d", "--report", "page.html")
    assert "The page is page.html." in said
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run("empty/bin/python", "-c", "import rpo; print(len(rpo.datasets.load_radon().y))").strip() == "919"
