"""`rpo fit`: a folder that a person can read, written whole or not at all."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from tests.report.reading import section_of, strange, values


def test_the_folder_and_its_card(command, homes, tmp_path):
    folder = tmp_path / "model"
    rest = ("--drop", "high", "-m", "rpo", "--steps", 20, "--out", folder)
    code, out, _ = command("fit", homes, "-t", "radon", "-d", "site", *rest)
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


def test_by_default_it_says_what_it_decided_and_what_to_expect(command, homes, tmp_path):
    rest = ("--drop", "high", "--out", tmp_path / "m", "--report", tmp_path / "p.html")
    code, out, err = command("fit", homes, "-t", "radon", "-d", "site", *rest)
    assert code == 0
    assert "Expected on a new domain: root mean squared error" in out
    assert [name for name in ("this model", "linear", "trees", "mean") if name not in out] == []
    assert "rows get less weight, because they are noisier than the others" in err
    card = (tmp_path / "m" / "README.md").read_text()
    assert "## Expected error on a new domain" in card
    assert "| high | left out |" in card
    assert "Expected error on a new domain" in (tmp_path / "p.html").read_text()


def test_weights_ids_and_thresholds(command, homes, tmp_path):
    frame = pd.read_csv(homes).assign(home=np.arange(1000, 1240), times=2, other=1.5)
    frame.to_csv(tmp_path / "more.csv", index=False)
    words = ("-t", "high", "-d", "site", "--drop", "radon,other", "--id", "home", "--weight", "times", "-m", "linear")
    for folder, threshold in (("low", 0.01), ("high", 0.99)):
        code, out, _ = command(
            "fit", tmp_path / "more.csv", *words, "--threshold", threshold, "-o", tmp_path / folder, "--json"
        )
        assert code == 0
        assert [row["learner"] for row in json.loads(out)["expected"]] == ["quality", "linear", "trees", "majority"]
    found = {}
    for folder in ("low", "high"):
        code, out, _ = command("predict", tmp_path / folder, tmp_path / "more.csv", "--json")
        rows = pd.DataFrame(json.loads(out)["predictions"])
        assert rows["home"].tolist() == frame["home"].tolist()
        assert json.loads(out)["score"][0]["rows"] == 240
        found[folder] = (rows["prediction"] == "yes").mean()
    assert found["low"] > found["high"]


def test_where_nothing_beats_the_mean_it_says_so(command, tmp_path):
    rng = np.random.default_rng(0)
    noise = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60), "d": list("abc") * 20})
    noise["x"] += 5 * (noise["d"] == "a")
    noise["y"] -= 5 * (noise["d"] == "a")
    noise.loc[noise["d"] == "b", "x"] += 9
    noise.to_csv(tmp_path / "t.csv", index=False)
    words = ("-t", "y", "-d", "d", "-m", "linear", "-o", tmp_path / "m")
    code, _, err = command("fit", tmp_path / "t.csv", *words)
    assert code == 0
    assert "WARNING: on held-out domains the model is no better than the mean" in err


def test_trees_are_fitted_and_used_without_torch(homes, tmp_path):
    run = "from rpo.cli import main\ntry: main()\nfinally: assert 'torch' not in sys.modules"
    for words in (
        ["fit", homes, "-t", "radon", "-d", "site", "--drop", "high", "-m", "trees", "-o", tmp_path / "m"],
        ["predict", tmp_path / "m", homes, "-o", tmp_path / "p.csv"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", f"import sys\n{run}", *map(str, words)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


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
        "fit", homes, "-t", "radon", "-d", "site", "--drop", "high", "--strata", "wall", "-m", "rpo", "--steps", 10,
        "-o", tmp_path / "m", "--report", tmp_path / "p.html",
    )  # fmt: skip
    assert code == 0
    assert "wall brick" in out
    assert "<h1>homes.csv</h1>" in (tmp_path / "p.html").read_text()


@pytest.mark.parametrize(("target", "other"), [("radon", "high"), ("high", "radon")])
def test_numbers_of_the_page_are_in_the_json(command, homes, tmp_path, target, other):
    words = ("-t", target, "-d", "site", "--drop", other, "-m", "linear", "-o", tmp_path / "m")
    code, out, _ = command("fit", homes, *words, "--report", tmp_path / "p.html", "--json")
    found, page = json.loads(out), (tmp_path / "p.html").read_text()
    assert code == 0
    assert [row["level"] for row in found["coverage"]] == [0.5]  # three domains: of two, no more can be promised
    assert strange(section_of(page, "fitted"), values(found)) == []
    assert strange(section_of(page, "domains"), values(found["judgement"])) == []


def test_one_domain_is_said(command, homes, tmp_path):
    code, _, err = command("fit", homes, "-t", "radon", "--drop", "high", "-m", "linear", "-o", tmp_path / "m")
    assert code == 0
    assert "note: there is only one training domain" in err


def test_a_folder_of_another_kind_is_left_alone(command, homes, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    code, out, err = command("fit", homes, "-t", "radon", "-d", "site", "-o", tmp_path / "thesis")
    assert (code, out) == (2, "")
    assert "which is not part of a saved model" in err
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


def test_a_place_that_cannot_be_written_to_is_told_before_the_fitting(command, homes, tmp_path):
    (tmp_path / "file").write_text("")
    hours = ("-m", "rpo", "--steps", 10**9, "-o", tmp_path / "file" / "model")
    code, out, err = command("fit", homes, "-t", "radon", "-d", "site", *hours)
    assert (code, out, err) == (2, "", f"rpo: cannot write {tmp_path}/file/model: Not a directory\n")


@pytest.mark.parametrize(
    "words, message",
    [
        (("--method", "magic"), "unknown method 'magic'"),
        (("--method", "rpo-weights"), "method 'rpo-weights' was removed in 0.2: QualityRegressor(estimator='network')"),
        (("--method", "groupdro", "--out", "/proc/model"), "cannot write"),
        (("--method", "trees"), "--steps is only for methods in `rpo methods`"),
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
    assert "is the input file" in err
    assert homes.read_bytes() == before
    (tmp_path / "m" / "notes.txt").write_text("own words")
    code, out, err = command("fit", homes, *common, "-o", tmp_path / "m")
    assert (code, out) == (2, "")
    assert "holds notes.txt, which is not part of a saved model" in err
    assert (tmp_path / "m" / "notes.txt").read_text() == "own words"
