import gzip
import hashlib
import shutil

import pytest

from rpo.datasets import catalogue, load_radon
from rpo.exceptions import InputError


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """The shipped files, somewhere they may be damaged."""
    folder = shutil.copytree(catalogue.FOLDER, tmp_path / "files")
    monkeypatch.setattr(catalogue, "FOLDER", folder)
    return folder


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.name)
def test_the_shipped_files_are_what_the_provenance_says(entry) -> None:
    content = gzip.decompress(catalogue.read(entry))
    assert hashlib.sha256(content).hexdigest() == entry.content_sha256
    header, *rows = content.decode().splitlines()
    assert len(rows) == entry.rows
    assert [name.strip('"') for name in header.split(",") if name != '""'] == list(entry.columns)
    assert entry.path.stat().st_size < 300_000


def test_the_originals_have_the_published_checksums() -> None:
    original = {entry.name: (entry.original_sha256, entry.content_sha256) for entry in catalogue.entries()}
    assert original["cigar"][0] == original["cigar"][1]  # shipped as it came
    assert original["cigar"][0].startswith("7c417c77833")
    assert original["wage"][0].startswith("9e4d582ef51")
    assert original["wage"][1].startswith("1ed99bd3864")


def test_an_altered_file_is_named_with_both_checksums(copied) -> None:
    with (copied / "radon.csv.gz").open("ab") as file:
        file.write(b"x")
    (entry,) = catalogue.entries(["radon"])
    found = hashlib.sha256((copied / "radon.csv.gz").read_bytes()).hexdigest()
    assert catalogue.check(entry)[0] == "altered"
    with pytest.raises(InputError) as error:
        load_radon()
    for part in ("radon.csv.gz", entry.sha256, found, "reinstall"):
        assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(copied) -> None:
    (copied / "radon.csv.gz").unlink()
    assert catalogue.check(catalogue.entries(["radon"])[0])[0] == "missing"
    with pytest.raises(InputError, match=r"radon\.csv\.gz is missing: reinstall"):
        load_radon()


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(InputError, match="choose from cigar, wage, radon"):
        catalogue.entries(["iris"])
