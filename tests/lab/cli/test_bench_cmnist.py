"""`rpo bench` of Colored-MNIST as people call it, on the small digits, cut down to seconds."""

import json

import pytest

from rpo_lab import cmnist, readings
from rpo_lab.runner.figures import Curve
from rpo_lab.runner.study import Profile


@pytest.fixture
def cut(monkeypatch):
    """Two steps of two seeds, three comparison methods, two points a curve."""
    every = cmnist.comparison()
    few = tuple(row for row in every if row.label in ("ERM + l2", "IRM + lip", "MTL"))
    curves = tuple(Curve(c.option, c.words, c.values[:2]) for c in cmnist.CURVES)
    monkeypatch.setitem(cmnist.PROFILES, "quick", Profile(seeds=2, steps=2))
    monkeypatch.setattr(cmnist, "comparison", lambda: few)
    monkeypatch.setattr(cmnist, "CURVES", curves)


def test_cmnist_under_both_protocols(cut, command, tmp_path):
    words = ("bench", "cmnist", "--digits", "sklearn", "--settings", "1,7", "--jobs", 1, "--out", tmp_path)
    page = tmp_path / "page.md"
    code, out, _ = command(*words, "--page", page, "--figures", tmp_path / "figures")
    assert code == 0
    for line in ("Setting 1 (Bad Domain), AUC", "smallest mean IRM penalty", "no selection", "Controls"):
        assert line in out, line
    for name in ("cmnist", "cmnist-literal"):
        assert {f"{name}.{kind}" for kind in ("csv", "html", "md")} <= {p.name for p in tmp_path.iterdir()}
        assert (tmp_path / "figures" / f"{name}.png").exists()
    text = page.read_text()
    assert "rpo bench cmnist --settings 1,7 --digits sklearn --profile quick" in text
    whole = (tmp_path / "tables" / "cmnist.html").read_text()
    for words in ("Smallest mean IRM penalty", "ORACLE", "Risk at home"):
        assert words in whole, words
    # The ablation finds its runs done.
    code, out, _ = command("bench", "ablation", "--digits", "sklearn", "--jobs", 1, "--out", tmp_path, "--dry-run")
    assert out.startswith("36 runs, 36 done, 0 to do")
    code, out, _ = command("bench", "ablation", "--digits", "sklearn", "--jobs", 1, "--out", tmp_path, "--json")
    assert [table["title"] for table in json.loads(out)] == [
        "Ablation: mean form, equal tuning",
        "Ablation: to the letter",
    ]


def test_severity(cut, command, tmp_path):
    page = tmp_path / "page.md"
    words = ("bench", "severity", "--digits", "sklearn", "--jobs", 1, "--out", tmp_path, "--page", page)
    code, out, _ = command(*words)
    assert code == 0, out
    assert "RPO compared with IRM + lip at 6 points" in out
    assert (tmp_path / "severity.svg").exists()
    assert "](severity.svg)" in page.read_text()


def test_penalties(cut, command, tmp_path):
    page = tmp_path / "page.md"
    words = ("bench", "penalties", "--digits", "sklearn", "--out", tmp_path, "--page", page)
    code, out, _ = command(*words)
    assert code == 0, out
    assert "1 (Bad Domain)" in out
    assert f"The figure is {tmp_path / 'penalties.png'}" in out
    assert "rpo bench penalties --digits sklearn --profile quick" in page.read_text()
    # The same from a file of records, without training.
    file = tmp_path / "penalties.jsonl.gz"
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.stem in ("penalties", "page")}
    assert command(*words, "--records-out", file)[0] == 0
    assert command(*words, "--records", file)[:2] == (0, out)
    assert {path: path.read_bytes() for path in before} == before
    code, _, said = command(*words, "--records", file, "--settings", "1,2")
    assert code == 2
    assert "lack the penalties of 2 trainings" in said
    code, out, _ = command(*words[:-2], "--settings", "1", "--json")
    assert json.loads(out)["settings"][0]["setting"] == "1 (Bad Domain)"


@pytest.mark.parametrize(
    "words, says",
    [
        (("cmnist", "--settings", "99"), "there is no setting 99"),
        (("cmnist", "--methods", "some"), "got 'some'"),
        (("penalties", "--digits", "roman"), "got 'roman'"),
        (("severity", "--profile", "huge"), "got 'huge'"),
    ],
)
def test_bad_words_are_one_line_and_code_two(command, tmp_path, words, says):
    code, _, err = command("bench", *words, "--out", tmp_path)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1


def test_readings(monkeypatch, command, tmp_path):
    tiny = readings.Profile(seeds=2, levels=(2, 1, 1, 1), steps={"2": 2})
    monkeypatch.setitem(readings.PROFILES, "quick", tiny)
    file, page = tmp_path / "readings.jsonl.gz", tmp_path / "page.md"
    words = ("bench", "readings", "--jobs", 1, "--page", page, "--figures", tmp_path / "figures")
    code, out, err = command(*words, "--out", tmp_path / "out", "--records-out", file)
    assert code == 0, err
    assert "of 6 readings by accuracy" in out
    folders = [tmp_path / name for name in ("figures", "tables")]
    made = {path: path.read_bytes() for path in (page, *(path for folder in folders for path in folder.iterdir()))}
    assert {path.name for path in made} == {"page.md", "readings.png", "readings.svg", "readings.csv"}
    assert command(*words, "--out", tmp_path / "other", "--records", file)[:2] == (0, out)
    assert {path: path.read_bytes() for path in made} == made
    code, out, _ = command("bench", "readings", "--out", tmp_path / "other", "--records", file, "--json")
    assert code == 0
    assert len(json.loads(out)["comparisons"]) == 2 * 2 * (4 + 4 + 6)
