"""`rpo quality`: what it finds, in words, as JSON and as a page; bad input is one line."""

import json

import pandas as pd
import pytest

import rpo
from rpo.exceptions import InputError


def test_the_noisy_site_is_named_first(command, homes):
    code, out, err = command(
        "quality", homes, "--target", "radon", "--domain", "site", "--drop", "high", "--steps", 100
    )
    assert code == 0
    assert out.startswith("The target is noisier than elsewhere in the domain “c”")
    assert "note: the target 'radon' is numbers: a regression" in err
    assert "missing values were filled by the median, and marked, in 'floor'" in err
    table = out.split("Domains, poorest first")[1]
    assert table.index("│ c ") < table.index("│ a ")


def test_json_holds_all_tables_and_what_python_finds(command, homes):
    words = ("quality", homes, "-t", "radon", "-d", "site", "--drop", "high", "--steps", 60, "--json")
    found = json.loads(command(*words)[1])
    assert found["task"] == "regression"
    assert {row["domain"] for row in found["domains"]} == {"a", "b", "c"}
    assert sum(row["n"] for row in found["cells"]) == 240
    assert len(found["rows"]) == 100
    again = rpo.quality(pd.read_csv(homes), target="radon", domain="site", drop=["high"], steps=60)
    assert list(again.summary) == found["summary"]
    assert again.domains["eta"].tolist() == pytest.approx([row["eta"] for row in found["domains"]])


def test_groups_are_the_strata_and_the_page_is_written(command, homes, tmp_path):
    page = tmp_path / "deep" / "page.html"
    code, out, _ = command(
        "quality",
        homes,
        "-t",
        "high",
        "-d",
        "site",
        "--group",
        "wall",
        "--drop",
        "radon",
        "--steps",
        30,
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
        (("--target", "radon", "--domain", "radon"), "cannot be the domain"),
        (("--target", "radon", "--group", "nothing"), "no column 'nothing' (--group)"),
        (("--target", "radon", "--report", "page.pdf"), "does not end in .html"),
        (("--target", "radon", "--report", "."), "is a directory"),
        (("--target", "wall", "--task", "regression"), "is not a number in 240 of 240 rows"),
        (("--target", "radon", "--report", "/proc/page.html"), "cannot write /proc/page.html"),
    ],
)
def test_bad_options_are_one_line(command, homes, words, message):
    code, out, err = command("quality", homes, *words, "--steps", 1)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_grouping_is_checked_in_python(homes):
    frame = pd.read_csv(homes)
    with pytest.raises(InputError, match="grouping='class' needs classes"):
        rpo.quality(frame, target="radon", domain="site", grouping="class")
    with pytest.raises(InputError, match="grouping is 'magic': use one of auto"):
        rpo.quality(frame, target="radon", domain="site", grouping="magic")


def test_help_has_examples(command):
    code, out, _ = command("quality", "--help")
    assert code == 0
    assert "rpo quality homes.csv --target radon" in out
