"""`rpo bench table1` as people call it; the study cut down so that a call takes seconds."""

import json
import resource
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from rpo.cli import app
from rpo_lab import table1

# Two settings and four rows of twenty steps: the same code, a tenth of a percent of the work.
CUT = """
from dataclasses import replace
from rpo_lab import table1
whole = table1.table1
def cut(*args, **options):
    study = whole(*args, **options)
    training = study.training.model_copy(update={"steps": 5})
    rows = tuple(replace(row, grid=row.grid[:1]) for row in study.rows)
    return replace(study, settings=study.settings[:1], rows=rows, training=training)
"""


@pytest.fixture
def cut(monkeypatch):
    space = {}
    exec(CUT, space)
    monkeypatch.setattr(table1, "table1", space["cut"])


def rpo(*words):
    return CliRunner().invoke(app, ["bench", "table1", "--jobs", "1", *map(str, words)])


def main(*words, limit=None):
    """A process of its own, through `main`, which turns errors into one line."""
    code = f"{CUT}\ntable1.table1 = cut\nimport sys\nfrom rpo.cli import main\nsys.argv = sys.argv[:]\nmain()"
    command = [sys.executable, "-c", code, "bench", "table1", "--jobs", "1", "--seeds", "2", *map(str, words)]
    before = limit and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=before)


def test_a_table_a_figure_and_plain_words(cut, tmp_path):
    result = rpo("--seeds", 2, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    for words in (
        "Cigar clean",
        "RPO, penalties permuted",
        "causal features only",
        "29.85 ± 2.90***",
        "Controls (IRM + lip",
    ):
        assert words in result.output
    assert f"The figure is {tmp_path / 'table1.png'}" in result.output.replace("\n", " ")
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"runs", "lock", *(f"table1.{kind}" for kind in ("csv", "html", "md", "png", "svg"))}
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"}
    again = rpo("--seeds", 2, "--out", tmp_path)
    assert again.output == result.output
    assert {path: path.read_bytes() for path in before} == before


def test_dry_run_counts_and_writes_nothing(cut, tmp_path):
    out = tmp_path / "out"
    result = rpo("--seeds", 3, "--out", out, "--dry-run")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("78 runs, 0 done, 78 to do in 25 stacks.")
    assert "with 1 workers" in result.output
    assert not out.exists()
    rpo("--seeds", 2, "--out", out)
    assert "78 runs, 52 done, 26 to do" in rpo("--seeds", 3, "--out", out, "--dry-run").output


def test_a_corrupt_record_is_named(cut, tmp_path):
    first = rpo("--seeds", 2, "--out", tmp_path)
    victim = sorted((tmp_path / "runs").iterdir())[3]
    victim.write_bytes(victim.read_bytes()[:-30])
    assert victim.name in rpo("--seeds", 2, "--out", tmp_path, "--dry-run").output
    result = rpo("--seeds", 2, "--out", tmp_path)
    assert f"{victim.name}.corrupt" in result.stderr
    assert result.stdout == first.stdout


def test_json_is_whole(cut, tmp_path):
    result = rpo("--seeds", 2, "--out", tmp_path, "--json", "--selection", "oracle", "--correction", "holm")
    found = json.loads(result.stdout)
    assert "ORACLE" in found["protocol"]["selection"]
    assert "Holm" in found["protocol"]["significance"]
    assert len(found["cells"]) == 26
    assert found["summary"]


def test_a_page_with_every_rule(cut, tmp_path):
    page = tmp_path / "page.md"
    options = ("--out", tmp_path, "--figures", tmp_path / "fig", "--page", page, "--selection", "leave-one-out")
    assert rpo("--seeds", 2, *options).exit_code == 0
    text = page.read_text()
    for words in (
        "](fig/table1.svg)",
        "](tables/table1.html)",
        "--selection leave-one-out",
    ):
        assert words in text
    lines = (tmp_path / "tables" / "table1.csv").read_text().splitlines()
    rules = [line.split(",")[0] for line in lines if not line.startswith(("#", "rule"))]
    assert list(dict.fromkeys(rules)) == ["leave-one-out", "validation", "irm", "formula", "oracle"]


def test_a_file_of_records_draws_everything_bit_for_bit_without_training(cut, tmp_path, monkeypatch):
    file, store = tmp_path / "table1.jsonl.gz", tmp_path / "store"
    places = [tmp_path / name for name in ("trained", "read")]
    monkeypatch.chdir(tmp_path)
    shown = []
    for place, more in zip(places, (("--records-out", file), ("--records", file)), strict=True):
        place.mkdir()
        monkeypatch.chdir(place)  # so that both are called with the same words
        words = ("--seeds", 2, "--page", "page.md", "--figures", "figures", "--out", "out", *more)
        shown.append(rpo(*words))
        assert shown[-1].exit_code == 0, shown[-1].output
    assert shown[0].stdout == shown[1].stdout
    made = [
        {
            path.relative_to(place): path.read_bytes()
            for path in place.rglob("*")
            if path.is_file() and path.parent.name != "runs" and path.name != "lock"
        }
        for place in places
    ]
    assert {path.suffix for path in made[0]} == {".md", ".csv", ".html", ".png", ".svg"}
    assert made[0] == made[1]
    assert not (places[1] / "out" / "runs").exists()
    assert "all of them in" in rpo("--seeds", 2, "--records", file, "--dry-run").output
    lacking = rpo("--seeds", 3, "--records", file, "--out", store)
    assert "lacks 26 of the 78 requested runs" in str(lacking.exception)
    assert not store.exists()


@pytest.mark.parametrize(
    "words, says",
    [
        (("--profile", "huge"), "got 'huge'"),
        (("--selection", "best"), "got 'best'"),
        (("--correction", "all"), "got 'all'"),
        (("--jobs", "0"), "jobs must be at least 1, got 0"),
    ],
)
def test_bad_words_are_an_input_error(cut, tmp_path, words, says):
    result = rpo("--out", tmp_path, *words)
    assert result.exit_code != 0
    assert says in str(result.exception)


def test_a_folder_that_cannot_be_made_is_one_line_and_code_two(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = main("--out", tmp_path / "file" / "out")
    assert done.returncode == 2
    assert done.stderr.startswith("rpo: cannot create the folder")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_disk_that_takes_no_more_is_one_line_and_nothing_half_written(tmp_path):
    """The system refuses files over half a kilobyte, as it would refuse any on a full disk."""
    done = main("--out", tmp_path, limit=512)
    assert done.returncode == 2
    assert done.stderr.startswith("rpo: cannot write")
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["lock"]
