"""Files in every form a table comes in give the same table."""

import gzip

import pandas as pd
import pytest

from rpo._table.columns import Column, typed
from rpo._table.reading import read_table, write_table
from rpo.exceptions import InputError

FRAME = pd.DataFrame(
    {
        "age": [31.5, None, 44.0],
        "city": ["Ulm", "Köln", None],
        "seen": pd.to_datetime(["2020-01-31", "2021-02-28", "2022-03-31"]),
        "n": [1, 2, 3],
    }
)
TEXT = "age{0}city{0}seen{0}n\n31.5{0}Ulm{0}2020-01-31{0}1\n{0}Köln{0}2021-02-28{0}2\n44{0}NA{0}2022-03-31{0}3\n"


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name, encoding", [("t.csv", "utf-8"), ("t.tsv.gz", "utf-8"), ("T.TXT", "latin-1")])
def test_text_in_every_form(tmp_path, mark, name, encoding):
    data = TEXT.format(mark).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    found = read_table(tmp_path / name, encoding=encoding)
    pd.testing.assert_frame_equal(found, FRAME, check_dtype=False)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.pq"])
def test_what_is_written_is_read_again(tmp_path, name):
    write_table(FRAME, tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), FRAME, check_dtype=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_mark_of_byte_order_and_line_breaks_within_quotes(tmp_path):
    (tmp_path / "t.csv").write_bytes('\ufeffa,b\r\n"x\ny",1\r\n"q""q",2\r\n'.encode())
    found = read_table(tmp_path / "t.csv")
    assert found.columns.tolist() == ["a", "b"]
    assert found["a"].tolist() == ["x\ny", 'q"q']


def test_zero_and_one_stay_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n0,true\n1,false\n")
    assert [read_table(tmp_path / "t.csv")[name].dtype.kind for name in "ab"] == ["i", "b"]


def test_writing_where_one_cannot_is_one_line_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="must end in one of"):
        write_table(FRAME, tmp_path / "t.xlsx")
    with pytest.raises(InputError, match="is a directory"):
        write_table(FRAME, tmp_path)
    with pytest.raises(InputError, match="cannot write"):
        write_table(FRAME, "/proc/t.csv")
    assert list(tmp_path.iterdir()) == []


def test_an_index_with_a_name_is_a_column_and_one_without_is_none(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1, 2, 3]})
    frame.set_axis(["u", "v", "w"]).to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet")) == ["a", "b"]
    frame.set_axis(pd.Index(["u", "v", "w"], name="who")).to_parquet(tmp_path / "t.parquet")
    assert sorted(read_table(tmp_path / "t.parquet")) == ["a", "b", "who"]


def test_dates_of_any_year_are_days(tmp_path):
    (tmp_path / "t.csv").write_text("day,y\n0001-01-01,1\n1970-01-02,2\n9999-12-31,3\n")
    day = read_table(tmp_path / "t.csv")["day"]
    assert typed(day, Column(name="day", kind="date")).tolist() == [-719162.0, 1.0, 2932896.0]
