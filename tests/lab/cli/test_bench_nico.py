"""`rpo bench nico` on a small folder in NICO's form, with a small backbone of one's own; the study cut short."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from rpo_lab import nico
from rpo_lab.runner.study import Profile

BACKBONE = """
from torch import nn
from rpo_lab.features import Backbone

def tiny():
    return Backbone(nn.Sequential(nn.AdaptiveAvgPool2d(3), nn.Flatten()), size=8)
"""


@pytest.fixture(scope="module")
def trees():
    """The maker of folders that the tests of the data sets use."""
    path = Path(__file__).parents[1] / "data" / "trees.py"
    spec = importlib.util.spec_from_file_location("trees", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["trees"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def small(trees, tmp_path, monkeypatch):
    """A folder, its lists, a cache, a backbone by name, and a profile of five steps."""
    from rpo_lab.data.nico import nico_album

    monkeypatch.setenv("RPO_DATA", str(tmp_path / "cache"))
    root = trees.tree(tmp_path / "NICO", "capital", each=9)
    names = list(nico_album(root, trees.CONTEXTS).names)
    parts = {part: names[i::5] for i, part in enumerate(("train1", "train2", "val", "test"))}
    (tmp_path / "tinynets.py").write_text(BACKBONE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(nico, "PROFILES", {"quick": Profile(seeds=2, steps=3, grid=1)})
    return ["--root", root, "--lists", trees.lists(tmp_path / "lists", parts), "--backbone", "tinynets:tiny"]


@pytest.mark.parametrize("methods", [4, pytest.param(None, marks=pytest.mark.slow)])
def test_tables_from_a_folder_and_lists_and_the_second_time_nothing_is_done(
    command, small, tmp_path, monkeypatch, methods
):
    """With the first of the comparison methods, or slowly with all."""
    comparison = nico.comparison()
    monkeypatch.setattr(nico, "comparison", lambda: comparison[:methods])
    words = ("bench", "nico", *small, "--jobs", 1, "--out", tmp_path / "out", "--page", tmp_path / "nico.md")
    code, out, err = command(*words)
    assert code == 0, err
    names = ["RPO, penalties permuted", "convolutions trained end to end"]
    for name in names + [row.label for row in comparison[:methods]]:
        assert name in out
    assert "failed" not in out.replace("0 failed", "")
    assert "Left out: 1 truncated: NICO/Animal/Bear/In forest/91.JPG" in err
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"nico.png", "nico-literal.csv", "nico-pixels.svg"} <= made
    page = (tmp_path / "nico.md").read_text()
    assert page.count("<!-- nico") == 6
    records = sorted((tmp_path / "out" / "runs").iterdir())
    times = [path.stat().st_mtime_ns for path in records]
    code, out, _ = command(*words, "--dry-run")
    assert code == 0
    assert "0 to do" in out
    assert sorted((tmp_path / "out" / "runs").iterdir()) == records
    assert [path.stat().st_mtime_ns for path in records] == times
    # From a file of records, without the pictures.
    file = tmp_path / "nico.jsonl.gz"
    _, first, _ = command(*words, "--records-out", file)
    shutil.rmtree(small[1])
    assert command(*words, "--records", file)[:2] == (0, first)
    assert (tmp_path / "nico.md").read_text() == page


def test_a_small_folder_without_lists_is_enough_if_fewer_rows_are_asked_for(command, small, monkeypatch):
    one_of_each = {name: getattr(nico, name)()[2:3] for name in ("comparison", "fair", "literal")}
    for name, rows in one_of_each.items():
        monkeypatch.setattr(nico, name, lambda rows=rows: rows)
    root, backbone = small[:2], small[4:]
    code, _, err = command("bench", "nico", *root, *backbone, "--dry-run", "--jobs", 1)
    assert code == 2
    assert "are left: ask for fewer rows" in err
    code, out, _ = command("bench", "nico", *root, *backbone, "--rows", 40, "--dry-run", "--jobs", 1)
    assert code == 0
    assert " to do in " in out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "give either --root with the folder of NICO, or --photos"),
        (("--root", ".", "--photos"), "give either --root"),
        (("--photos", "--lists", "."), "--lists requires --root"),
        (("--root", "nowhere"), "nowhere is not a folder"),
        (("--root", "nowhere", "--profile", "slow"), "got 'slow'"),
        (("--root", "nowhere", "--selection", "best"), "got 'best'"),
        (("--root", "{empty}"), "holds no picture in in_forest, on_beach, on_grass, on_snow"),
    ],
)
def test_what_cannot_be_done_is_one_line(command, tmp_path, words, line):
    code, out, err = command("bench", "nico", *(word.replace("{empty}", str(tmp_path)) for word in words))
    assert (code, out) == (2, "")
    assert line in err
    assert err.count("\n") == 1
