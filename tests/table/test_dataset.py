import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rpo._table import dataset as module
from rpo._table.dataset import open_dataset
from rpo._table.reading import is_dataset
from rpo.exceptions import InputError

from . import parts


def _rows(dataset):
    return sum(batch.num_rows for part in dataset.parts for batch in dataset.batches(part))


def test_a_folder_a_pattern_and_a_file_are_the_same_rows(tmp_path):
    frame = parts.table(300)
    folder = parts.written(frame, tmp_path / "data", 3)
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden.parquet").write_text("")
    for given in (folder, folder / "*.parquet", tmp_path / "**" / "*.parquet"):
        found = open_dataset(str(given))
        pd.testing.assert_frame_equal(found.frame().reset_index(drop=True), frame, check_dtype=False)
        assert (found.rows, found.files) == (300, 3)
    one = open_dataset(str(folder / "part-001.parquet"))
    assert one.rows == 100
    assert is_dataset(str(folder))
    assert not is_dataset(str(folder / "part-001.parquet"))


def test_row_groups_make_parts_and_each_knows_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 40)
    folder = parts.written(parts.table(200), tmp_path / "data", 2, group=30)
    found = open_dataset(str(folder))
    assert [(part.file[-11:-8], part.rows, part.offset) for part in found.parts] == [
        ("000", 60, 0),
        ("000", 40, 60),
        ("001", 60, 0),
        ("001", 40, 60),
    ]
    assert [_rows(found.without([found.parts[0].file]))] == [100]


def test_partitions_in_names_of_folders_are_columns(tmp_path):
    frame = parts.table(300)
    found = open_dataset(str(parts.by_site(frame, tmp_path / "data")))
    again = found.frame()
    assert again["site"].value_counts().to_dict() == frame["site"].value_counts().to_dict()
    numbered = frame.assign(year=2000 + np.arange(300) % 2)
    for year, rows in numbered.groupby("year"):
        parts.written(rows.drop(columns="year"), tmp_path / "years" / f"year={year}")
    years = open_dataset(str(tmp_path / "years")).frame()["year"]
    assert sorted(years.unique()) == [2000, 2001]
    assert years.dtype.kind == "i"


def test_an_address_is_read_through_fsspec(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    frame = parts.table(100)
    system = fsspec.filesystem("memory")
    for k, half in enumerate((frame.iloc[:50], frame.iloc[50:])):
        with system.open(f"/visits/{k}.parquet", "wb") as file:
            half.to_parquet(file, index=False)
    found = open_dataset("memory://visits")
    pd.testing.assert_frame_equal(found.frame().reset_index(drop=True), frame, check_dtype=False)
    with pytest.raises(InputError, match="no Parquet file was found at memory://nothing"):
        open_dataset("memory://nothing")
    with pytest.raises(InputError, match="cannot be opened"):
        open_dataset("nosuchprotocol://a")


def test_files_whose_columns_differ_are_brought_together(tmp_path):
    folder = parts.written(parts.table(100), tmp_path / "data")
    other = parts.table(100, seed=1).drop(columns="c").assign(b=np.arange(100))
    other["colour"] = other["colour"].astype("category")
    other.to_parquet(folder / "z.parquet", index=False)
    found = open_dataset(str(folder))
    assert found.partial == ("c",)
    again = found.frame()
    assert again["c"].iloc[100:].isna().all()
    assert again["b"].iloc[100:].tolist() == list(range(100))
    assert again["colour"].iloc[100:].fillna("").tolist() == other["colour"].astype(object).fillna("").tolist()


@pytest.mark.parametrize("spoiled", ["cut", "text", "empty", "types", "lacks"])
def test_a_bad_file_is_named_before_any_work_or_skipped(tmp_path, spoiled):
    folder = parts.written(parts.table(300), tmp_path / "data", 3)
    bad = folder / "part-001.parquet"
    if spoiled == "cut":
        bad.write_bytes(bad.read_bytes()[:-20])
    elif spoiled == "text":
        bad.write_text("a,b\n1,2\n")
    elif spoiled == "empty":
        bad.write_bytes(b"")
    elif spoiled == "types":
        pd.read_parquet(bad).assign(a="text").to_parquet(bad, index=False)
    else:
        pd.read_parquet(bad).drop(columns="y").to_parquet(bad, index=False)
    with pytest.raises(InputError, match="part-001.parquet cannot be used .* --skip-bad") as caught:
        open_dataset(str(folder), needed=["y"])
    assert "\n" not in str(caught.value)
    found = open_dataset(str(folder), needed=["y"], skip_bad=True)
    assert (found.rows, found.bad) == (200, (str(bad),))


def test_nothing_to_read_is_one_line(tmp_path):
    with pytest.raises(InputError, match="no Parquet file was found at"):
        open_dataset(str(tmp_path))
    for k in range(2):
        (tmp_path / f"{k}.parquet").write_text("nothing")
    with pytest.raises(InputError, match="as 1 more of 2 files"):
        open_dataset(str(tmp_path), skip_bad=True)


def test_columns_that_hold_no_values_of_a_table_are_refused(tmp_path):
    rows = pa.table({"a": [[1], [2]], "y": [1.0, 2.0]})
    pa.parquet.write_table(rows, tmp_path / "a.parquet")
    with pytest.raises(InputError, match="has type list"):
        open_dataset(str(tmp_path))


def test_another_content_has_another_fingerprint(tmp_path):
    folder = parts.written(parts.table(100), tmp_path / "data")
    one = open_dataset(str(folder)).fingerprint
    assert one == open_dataset(str(folder / "*.parquet")).fingerprint
    parts.written(parts.table(101), tmp_path / "data")
    assert one != open_dataset(str(folder)).fingerprint
