"""`rpo --help`: quick, without torch."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from rpo.cli import main

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
    assert "Models that hold up on domains never seen" in done.stdout


def test_importing_the_package_imports_nothing_heavy():
    code = "import rpo, sys; assert not {'torch', 'pandas', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_version(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rpo", "--version"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    assert capsys.readouterr().out == f"rpo {version('rpo')}\n"
