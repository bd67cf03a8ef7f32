"""`rpo quality`: what it finds, in words, as JSON and as a page; bad input is one line."""

import json
import re
import subprocess
import sys

import pandas as pd
import pytest

import rpo


def test_the_noisy_site_is_named_first(command, homes):
    code, out, err = command("quality", homes, "--target", "radon", "--domain", "site", "--drop", "high")
    assert code == 0
    assert re.match(r"In site c, radon is [5-8]\.\d times as noisy as in the other sites \(p < 0\.0001\)", out)
    sentences = out.split("Domains, noisiest first")[0]
    assert all(len(line) <= 80 for line in sentences.splitlines())
    assert "note: the target 'radon' is numeric: regression" in err
    assert "missing values were filled with the median and marked in an indicator column: 'floor'" in err
    table = out.split("Domains, noisiest first")[1]
    assert table.index("│ c ") < table.index("│ a ")


def test_json_holds_all_tables_and_what_python_finds(command, homes):
    words = ("quality", homes, "-t", "radon", "-d", "site", "--drop", "high", "--json")
    found = json.loads(command(*words)[1])
    assert found["task"] == "regression"
    assert {row["domain"] for row in found["domains"]} == {"a", "b", "c"}
    assert sum(row["n"] for row in found["cells"]) == 240
    assert len(found["rows"]) == 100
    again = rpo.quality(pd.read_csv(homes), target="radon", domain="site", drop=["high"])
    assert list(again.summary) == found["summary"]
    assert again.domains["noise"].tolist() == pytest.approx([row["noise"] for row in found["domains"]])
    assert {row["feature"] for row in found["features"]} == set(again.features["feature"])


def test_groups_are_the_strata_and_the_page_is_written(command, homes, tmp_path):
    page = tmp_path / "deep" / "page.html"
    code, out, _ = command(
        "quality",
        homes,
        "-t",
        "high",
        "-d",
        "site",
        "--strata",
        "wall",
        "--drop",
        "radon",
        "--report",
        page,
    )
    assert code == 0
    assert f"The page is {page}." in out
    text = page.read_text()
    assert "wall brick" in text
    assert "wall wood" in text
    assert list(page.parent.iterdir()) == [page]


@pytest.mark.parametrize(
    "words, message",
    [
        (("--target", "radom"), "no column 'radom' (--target): did you mean 'radon'?"),
        (("--target", "radon", "--domain", "radon"), "cannot also be the domain"),
        (("--target", "radon", "--strata", "nothing"), "no column 'nothing' (--strata)"),
        (("--target", "radon", "--report", "page.pdf"), "must end in .html, got page.pdf"),
        (("--target", "radon", "--report", "."), "is a directory"),
        (("--target", "wall", "--task", "regression"), "is not a number in 240 of 240 rows"),
        (("--target", "radon", "--report", "/proc/page.html"), "cannot write /proc/page.html"),
    ],
)
def test_bad_options_are_one_line(command, homes, words, message):
    code, out, err = command("quality", homes, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_rows_and_weights_are_written_for_others_to_use(command, homes, tmp_path):
    rows, weights = tmp_path / "rows.csv", tmp_path / "weights.csv"
    frame = pd.read_csv(homes)
    frame.loc[3, "radon"] = None
    frame.to_csv(homes, index=False)
    words = (
        "-t",
        "radon",
        "-d",
        "site",
        "--drop",
        "high",
        "--unit",
        "day",
        "--rows-out",
        rows,
        "--weights-out",
        weights,
    )
    code, out, _ = command("quality", homes, *words)
    assert code == 0
    assert f"The rows to look at first are in {rows}." in out
    written = pd.read_csv(rows)
    assert (written["times"] >= 3).all()  # those that the page shows
    assert written["target"].tolist() == pytest.approx(frame["radon"][written["row"] - 1].tolist())
    assert "column day" not in written.columns  # the unit is no feature
    weight = pd.read_csv(weights)
    assert weight["row"].tolist() == list(range(1, 241))
    assert weight["weight"][3] == 0
    site = frame["site"] == "c"
    assert weight["weight"][site].mean() < 0.5 * weight["weight"][~site].mean()


@pytest.mark.parametrize("option", ["--rows-out", "--weights-out"])
def test_the_table_is_not_written_over(command, homes, option):
    before = homes.read_bytes()
    code, _, err = command("quality", homes, "-t", "radon", option, homes)
    assert (code, err.count("\n")) == (2, 1)
    assert homes.read_bytes() == before


def test_no_torch_is_loaded(homes, tmp_path):
    """Seconds and hundreds of megabytes that the judgement does not need."""
    script = (
        "import sys\nfrom rpo.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "assert 'torch' not in sys.modules"
    )
    words = ["quality", str(homes), "-t", "radon", "-d", "site", "--report", str(tmp_path / "page.html")]
    subprocess.run([sys.executable, "-c", script, *words], check=True, capture_output=True, timeout=300)


def test_help_has_examples(command):
    code, out, _ = command("quality", "--help")
    assert code == 0
    assert "rpo quality homes.csv --target radon" in out
