"""`rpo fit`: a folder that a person can read, written whole or not at all."""

import json

import pytest


def test_the_folder_and_its_card(command, homes, tmp_path):
    folder = tmp_path / "model"
    code, out, _ = command("fit", homes, "-t", "radon", "-d", "site", "--drop", "high", "--steps", 20, "--out", folder)
    assert code == 0
    assert "Fitted rpo to 240 rows of 3 domains" in out
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "manifest.json",
        "model.json",
        "table.json",
        "weights.safetensors",
    ]
    card = (folder / "README.md").read_text()
    assert "A regression of `radon`, fitted to 240 rows of 3 domains (column `site`)" in card
    assert "| wall | 2 categories |" in card
    assert "| day | date |" in card
    assert card.count("| 80 |") == 3  # each domain with its rows and η
    assert "torch" in card
    assert sorted(path.name for path in tmp_path.iterdir()) == ["homes.csv", "model"]


@pytest.mark.parametrize("method", ["coral", "groupdro"])
def test_another_method_and_classes_and_json(command, homes, tmp_path, method):
    code, out, _ = command(
        "fit",
        homes,
        "-t",
        "high",
        "-d",
        "site",
        "--drop",
        "radon",
        "-m",
        method,
        "--steps",
        10,
        "-o",
        tmp_path / "m",
        "--json",
    )
    assert code == 0
    found = json.loads(out)
    assert (found["task"], found["rows"], found["quality"]) == ("classification", 240, None)


def test_with_a_page(command, homes, tmp_path):
    code, out, _ = command(
        "fit", homes, "-t", "radon", "-d", "site", "--drop", "high", "--strata", "wall", "--steps", 10,
        "-o", tmp_path / "m", "--report", tmp_path / "p.html",
    )  # fmt: skip
    assert code == 0
    assert "wall brick" in out
    assert "<h1>homes.csv</h1>" in (tmp_path / "p.html").read_text()


def test_one_domain_is_said(command, homes, tmp_path):
    code, _, err = command("fit", homes, "-t", "radon", "--drop", "high", "--steps", 5, "-o", tmp_path / "m")
    assert code == 0
    assert "note: there is one training domain only" in err


def test_a_folder_of_another_kind_is_left_alone(command, homes, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    code, out, err = command("fit", homes, "-t", "radon", "-d", "site", "-o", tmp_path / "thesis")
    assert (code, out) == (2, "")
    assert "which is not part of a saved model" in err
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


def test_a_place_that_cannot_be_written_to_is_told_before_the_fitting(command, homes, tmp_path):
    (tmp_path / "file").write_text("")
    hours = ("--steps", 10**9, "-o", tmp_path / "file" / "model")
    code, out, err = command("fit", homes, "-t", "radon", "-d", "site", *hours)
    assert (code, out, err) == (2, "", f"rpo: cannot write {tmp_path}/file/model: Not a directory\n")


@pytest.mark.parametrize(
    "words, message",
    [
        (("--method", "magic"), "unknown method 'magic'"),
        (("--method", "groupdro", "--out", "/proc/model"), "cannot write"),
    ],
)
def test_bad_options_are_one_line(command, homes, words, message):
    code, out, err = command("fit", homes, "-t", "radon", "-d", "site", "--drop", "high", "--steps", 1, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_the_input_is_not_overwritten_by_its_predictions(command, homes, tmp_path):
    common = ("-t", "radon", "-d", "site", "--drop", "high", "--method", "erm-l2", "--steps", 5)
    assert command("fit", homes, *common, "-o", tmp_path / "m")[0] == 0
    before = homes.read_bytes()
    code, out, err = command("predict", tmp_path / "m", homes, "-o", homes)
    assert (code, out) == (2, "")
    assert "is the input itself" in err
    assert homes.read_bytes() == before
    (tmp_path / "m" / "notes.txt").write_text("own words")
    code, out, err = command("fit", homes, *common, "-o", tmp_path / "m")
    assert (code, out) == (2, "")
    assert "holds notes.txt, which is not part of a saved model" in err
    assert (tmp_path / "m" / "notes.txt").read_text() == "own words"
