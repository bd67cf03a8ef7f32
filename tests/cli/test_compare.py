"""`rpo compare`: tables, verdict, JSON and the page with its section."""

import json


def test_the_verdict_the_tables_and_the_page(command, homes, tmp_path):
    words = ("-t", "radon", "-d", "site", "--drop", "high", "-m", "groupdro", "--seeds", 2, "--steps", 20, "-j", 2)
    place = ("--out", tmp_path / "kept", "--report", tmp_path / "p.html")
    code, out, _ = command("compare", homes, *words, *place)
    assert code == 0
    assert "Error on held-out domains, best first" in out
    assert "RPO" in out.splitlines()[-2]
    page = (tmp_path / "p.html").read_text()
    assert "On domains never seen" in page
    assert "groupdro" in page
    found = json.loads(command("compare", homes, *words, "--out", tmp_path / "kept", "--json")[1])
    assert found["verdict"] in out
    assert {row["method"] for row in found["methods"]} == {"rpo", "erm-l2", "groupdro", "mean"}
    assert [row["n"] for row in found["domains"]] == [80, 80, 80]
    assert "of which 0 failed" in out


def test_bad_options_are_one_line(command, homes, tmp_path):
    for words, message in (
        (("-d", "site", "--seeds", 1), "give at least two"),
        (("-d", "nowhere"), "no column 'nowhere'"),
        (("-d", "site", "-m", "magic"), "unknown method 'magic'"),
    ):
        code, out, err = command("compare", homes, "-t", "radon", "--drop", "high", "-o", tmp_path / "kept", *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
    assert not (tmp_path / "kept").exists()
