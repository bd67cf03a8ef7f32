"""docs/your-method.md and the package beside it: their code runs, in a notebook's way and through the command line."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from rpo.engine import Config, make_data, mlp, train

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "your-method.md"
PACKAGE = ROOT / "examples" / "own_method"
RUN = "from rpo.cli import main; main()"


@pytest.fixture(scope="module")
def page():
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this copy")
    return PAGE.read_text(encoding="utf-8")


def test_the_blocks_run_and_the_first_is_the_package(page, registry, capsys):
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert len(blocks) == 2
    assert blocks[0] in (PACKAGE / "rpo_vrex" / "__init__.py").read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert float(capsys.readouterr().out) > 0.5
    # The same as ours in force from the first step on and not rescaled.
    x = torch.randn(60, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    data = make_data(x, x[:, 0] + x[:, 1].square(), torch.arange(60) % 3, task="regression")
    common = {"seeds": [0], "numbers": {"beta": 2.0}, "config": Config(steps=20, dtype=torch.float64, progress=False)}
    mine = train("my-vrex", lambda: mlp(3, 1, (8,)), data, **common)
    common["numbers"] = {"beta": 2.0, "anneal": 0.0}
    ours = train("vrex", lambda: mlp(3, 1, (8,)), data, options={"rescale": "none"}, **common)
    torch.testing.assert_close(mine.snapshot.flat, ours.snapshot.flat, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_every_command_of_the_page_runs_with_two_workers(page, tmp_path):
    """In processes of their own, in a folder that has the module and nothing installed."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=36), "site": ["a", "b", "c"] * 12})
    table["y"] = table["x"] + 0.1 * rng.normal(size=36)
    table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "rpo_vrex.py").write_text((PACKAGE / "rpo_vrex" / "__init__.py").read_text(encoding="utf-8"))
    commands = re.findall(r"^    rpo (.*)$", page, flags=re.M)
    assert [shlex.split(command)[0] for command in commands] == ["methods", "compare", "fit", "predict"]
    quick = {"compare": ["--seeds", "2", "--steps", "5"], "fit": ["--steps", "5"]}
    said = {}
    for command in commands:
        words = shlex.split(command)
        script = [sys.executable, "-c", RUN, *words, *quick.get(words[0], [])]
        done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said[words[0]] = done.stdout + done.stderr
    assert "FAILED" not in said["compare"]
    assert re.search(r"my-vrex +│ +[\d.]+", said["compare"])
    assert len(pd.read_csv(tmp_path / "predictions.csv")) == 36
    # Without the plugin the model says what it lacks.
    lost = [sys.executable, "-c", RUN, "predict", "model", "table.csv"]
    done = subprocess.run(lost, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "my-vrex" in done.stderr
    assert "--plugin" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number", "says"),
    [
        ("training", 2, "step"),
        ("sweeps", 2, "hyperparameters__gamma"),
        ("learners", 1, "linear"),
        ("quality", 1, "noise"),
    ],
)
def test_the_blocks_of_a_guide_run(tmp_path, monkeypatch, capsys, name, number, says):
    page = ROOT / "docs" / f"{name}.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this copy")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) == number
    names = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    said = capsys.readouterr().out
    assert says in said
    if name == "training":
        assert float(said.splitlines()[0]) > 0.9
        assert (tmp_path / "log.csv").exists()
