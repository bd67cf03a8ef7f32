"""A command that must fail, and leave everything as it was."""

import sys

import pytest

from rpo.cli import main

GOOD = "x,y,d\n" + "".join(f"{i % 7},{i * 0.37 % 5},{'abc'[i % 3]}\n" for i in range(60))


@pytest.fixture(scope="session")
def good():
    """A whole table, as text."""
    return GOOD


@pytest.fixture
def fails(monkeypatch, capfd, tmp_path):
    """Run `rpo …`: it must end with code 2 and one line, and the folder must be as it was."""

    def run(argv, message):
        before = sorted((p, p.lstat().st_size) for p in tmp_path.rglob("*"))
        monkeypatch.setattr(sys, "argv", ["rpo", *map(str, argv)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capfd.readouterr()
        assert stop.value.code == 2
        assert (out, err.count("\n")) == ("", 1), err
        assert err.startswith("rpo: ")
        assert message in err
        assert len(err) < 500
        assert sorted((p, p.lstat().st_size) for p in tmp_path.rglob("*")) == before

    return run
