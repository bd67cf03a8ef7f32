"""`rpo --help`: quick, without torch; and no help loses a word."""

import re
import subprocess
import sys
from importlib.metadata import version

import pytest
import typer
from typer.testing import CliRunner

from rpo.cli import app, main

PROBE = """
import sys, time
sys.argv = ["rpo", "--help"]
from rpo.cli import main
try:
    main()
except SystemExit as end:
    assert end.code == 0, end.code
heavy = {"torch", "pandas", "scipy", "sklearn", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
"""


def test_help_imports_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Models that hold up on unseen domains" in done.stdout


def test_importing_the_package_imports_nothing_heavy():
    code = "import rpo, sys; assert not {'torch', 'pandas', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_version(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rpo", "--version"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    assert capsys.readouterr().out == f"rpo {version('rpo')}\n"


def test_python_m_rpo_is_the_command():
    done = subprocess.run([sys.executable, "-m", "rpo", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rpo {version('rpo')}\n", "")


def commands(one, words=()):
    """Every command below one, with the words that call it."""
    yield words, one
    for name, inner in getattr(one, "commands", {}).items():
        yield from commands(inner, (*words, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_help_loses_a_word(words):
    """Rich takes `[real]` in "pip install 'rpo[real]'" for markup, and shows nothing of it."""
    shown = CliRunner(env={"COLUMNS": "500"}).invoke(app, [*words, "--help"]).output
    callback = COMMANDS[words].callback
    texts = [getattr(callback, "__doc__", None) or ""] + [one.help or "" for one in COMMANDS[words].params]
    meant = re.sub(r"\[/?bold\]", "", " ".join(texts))
    assert set(meant.split()) - set(shown.split()) == set()


def test_the_paragraphs_of_a_help_fit_the_terminal():
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["bench", "real", "--help"]).output
    lines = [line.strip() for line in shown.partition("Compared")[2].partition("Examples")[0].splitlines()]
    prose = [line for line in lines if line]
    assert len(prose) > 4
    assert min(map(len, prose[:-1])) > 60  # a line that ends early would be one of the source
    assert "'rpo[real]'" in shown
