"""What nobody foresaw: one line, exit code 70, and a file with everything that a report needs."""

import re
from pathlib import Path

import pytest

from rpo._table import reading


@pytest.fixture
def broken(monkeypatch, tmp_path):
    """A command that raises something in its middle; reports go to a folder of their own."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")

    def breaks(error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr("rpo._quality.quality", fail)
        return ["quality", tmp_path / "t.csv", "-t", "y"]

    return breaks


def test_a_bug_is_one_line_and_a_file_with_the_traceback(command, broken):
    code, out, err = command(*broken(KeyError("no such\nthing \x1b[2J")))
    assert (code, out, err.count("\n")) == (70, "", 1)
    assert "Traceback" not in err
    named = re.fullmatch(r"rpo: unexpected error \(KeyError: (.*)\); please report it, with the file (.*)\n", err)
    assert "\x1b" not in err
    text = Path(named[2]).read_text()
    assert text.startswith("rpo quality ")
    assert "Traceback (most recent call last)" in text
    assert "scikit-learn" in text.splitlines()[1]


def test_no_memory_is_no_bug(command, broken):
    code, out, err = command(*broken(MemoryError()))
    assert (code, out) == (2, "")
    assert err == "rpo: not enough memory: use fewer rows or columns, or a machine with more memory\n"


def test_whatever_a_file_makes_a_library_raise_is_a_line_about_the_file(command, monkeypatch, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")

    def fail(*_, **__):
        raise RuntimeError("deep in a library\nsecond line")

    monkeypatch.setattr(reading, "_text", fail)
    code, out, err = command("quality", tmp_path / "t.csv", "-t", "y")
    assert (code, out) == (2, "")
    assert err == f"rpo: {tmp_path / 't.csv'} cannot be read as a table (deep in a library)\n"
