"""The worked examples of docs/start.md, your-data.md and new-domains.md run as printed."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from rpo.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "your-data.md"
START, NEW = PAGE.with_name("start.md"), PAGE.with_name("new-domains.md")


@pytest.mark.slow
@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of this copy")
def test_every_block_and_every_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    commands = re.findall(r"^    (rpo .*)$", text, flags=re.M)
    assert (len(blocks), len(commands)) == (2, 4)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    (said,) = re.findall(r"```text\n(.*?)```", text, flags=re.S)
    # The words; the last digits may be another machine's.
    assert [re.sub(r"\d[\d.]*", "#", line) for line in names["found"].summary] == re.sub(
        r"\d[\d.]*", "#", said
    ).splitlines()
    quick = {"compare": ["--seeds", "2", "--steps", "5", "--jobs", "1"]}
    for command in commands:
        words = shlex.split(command)
        monkeypatch.setattr(sys, "argv", [*words, *quick.get(words[1], [])])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code, command
    assert {"radon.html", "radon-model", "predictions.csv", "out"} <= {path.name for path in tmp_path.iterdir()}
    assert re.search(r"(quality helps|quality hurts|cannot tell quality)", capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.skipif(not START.exists(), reason="the documentation is not part of this copy")
def test_the_first_ten_minutes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = START.read_text(encoding="utf-8").split("## Real tables")[0]  # those are fetched on demand
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(compile(block, str(START), "exec"), names)
    printed = re.search(r"^    quality +([\d.]+)", text, flags=re.M)
    assert names["model"].expected_error_.loc["quality", "error"] == pytest.approx(float(printed[1]), abs=0.02)
    assert names["again"].predict(names["radon"].X) == pytest.approx(names["model"].predict(names["radon"].X))
    assert {"radon.html", "radon-model"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
@pytest.mark.skipif(not NEW.exists(), reason="the documentation is not part of this copy")
def test_a_domain_never_seen(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = NEW.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(compile(block, str(NEW), "exec"), names)
    (said,) = re.findall(r"```text\n(.*?)```", text, flags=re.S)
    # The words; the last digits may be another machine's.
    assert re.sub(r"\d[\d.]*", "#", str(names["found"])).splitlines() == re.sub(r"\d[\d.]*", "#", said).splitlines()
    for command in re.findall(r"^    (rpo .*)$", text, flags=re.M):
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code, command
    assert {"clay.html", "predictions.csv"} <= {path.name for path in tmp_path.iterdir()}
