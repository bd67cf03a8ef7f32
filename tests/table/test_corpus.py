"""Malformed inputs: each gives one clear line and exit code 2, and leaves nothing behind."""

import builtins
import gzip
import os
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

GOOD = "x,y,d\n" + "".join(f"{i % 7},{i * 0.37 % 5},{'abc'[i % 3]}\n" for i in range(60))


def text(content, name="t.csv"):
    """A file of that content, judged with target y and domain d."""

    def make(folder):
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
        return ["quality", folder / name, "-t", "y", "-d", "d"]

    return make


def frame(**columns):
    """A table with some columns of the good one replaced."""

    def make(folder):
        n = max([60, *(len(values) for values in columns.values() if isinstance(values, list))])
        good = {"x": np.arange(n) % 7, "y": np.arange(n) * 0.37 % 5, "d": np.array(list("abc"))[np.arange(n) % 3]}
        pd.DataFrame(good | columns).to_csv(folder / "t.csv", index=False)
        return ["quality", folder / "t.csv", "-t", "y", "-d", "d"]

    return make


def words(*given):
    """A good table, other words."""

    def make(folder):
        (folder / "t.csv").write_text(GOOD)
        return ["quality", folder / "t.csv", *given]

    return make


def path(place):
    return lambda folder: ["quality", place or folder, "-t", "y"]


def lists(folder):
    pd.DataFrame({"x": [[1], [2]] * 10, "y": range(20)}).to_parquet(folder / "t.parquet")
    return ["quality", folder / "t.parquet", "-t", "y"]


def parquet(**columns):
    """The good table as Parquet, with further columns of pyarrow's kinds."""

    def make(folder):
        import pyarrow as pa
        from pyarrow.parquet import write_table

        good = {"x": [i % 7 for i in range(60)], "y": [i * 0.37 % 5 for i in range(60)], "d": list("abc" * 20)}
        write_table(pa.table(good | columns), folder / "t.parquet")
        return ["quality", folder / "t.parquet", "-t", "y", "-d", "d"]

    return make


def loop(folder):
    (folder / "t.csv").symlink_to(folder / "t.csv")
    return ["quality", folder / "t.csv", "-t", "y"]


def pipe(folder):
    os.mkfifo(folder / "t.csv")
    return ["quality", folder / "t.csv", "-t", "y"]


def cut_parquet(folder):
    pd.DataFrame({"x": range(90), "y": range(90)}).to_parquet(folder / "t.parquet")
    whole = (folder / "t.parquet").read_bytes()
    (folder / "t.parquet").write_bytes(whole[: len(whole) // 2])
    return ["quality", folder / "t.parquet", "-t", "y"]


def bad_gzip(folder):
    """An archive with a wrong byte in its middle, before the end of the header."""
    packed = bytearray(gzip.compress(GOOD.encode()))
    packed[20] ^= 0x55
    (folder / "t.csv.gz").write_bytes(bytes(packed))
    return ["quality", folder / "t.csv.gz", "-t", "y", "-d", "d"]


def kind(name):
    """A column of a kind that only pyarrow knows."""

    def make(folder):
        import pyarrow as pa

        made = {
            "unknown zone": lambda: pa.array(range(60), pa.timestamp("us", "Mars/Olympus")),
            "json": lambda: pa.array(['{"a": 1}'] * 60, pa.json_()),
            "uuid": lambda: pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16] * 60, pa.binary(16))),
            "large bytes": lambda: pa.array([b"a"] * 60, pa.large_binary()),
            "far dates": lambda: pa.array([i * 10**6 for i in range(60)], pa.date32()),
            "large decimals": lambda: pa.array([Decimal(10) ** 60 * i for i in range(60)]),
        }[name]()
        return parquet(s=made)(folder)

    return make


MIXED = "x,y,d\nKöln,1,a\n".encode() + "Köln,2,b\n".encode("latin-1")

TABLES = {
    "empty file": (text(""), "is empty"),
    "empty archive": (text(gzip.compress(b""), "t.csv.gz"), "is empty"),
    "header only": (text("x,y,d\n"), "a header but no rows"),
    "short row": (text(GOOD + "1,2\n"), "Expected 3 columns, got 2"),
    "long row": (text(GOOD + "1,2,a,9\n"), "Expected 3 columns, got 4"),
    "another encoding": (text("x,y,d\nKöln,1,a\n".encode("latin-1")), "is not in utf-8: specify its encoding"),
    "two encodings": (text(MIXED), "is not in utf-8"),
    "two bytes a letter": (text(GOOD.encode("utf-16")), "is in UTF-16"),
    "unknown encoding": (words("-t", "y", "--encoding", "klingon"), "unknown encoding 'klingon'"),
    "duplicate columns": (text("x,y,y\n1,2,3\n"), "has the column 'y' more than once"),
    "column without a name": (text("x,y,\n1,2,3\n"), "has a column without a name (number 3)"),
    "wrong delimiter": (text("x y d\n1 2 a\n"), "has only one column"),
    "unclosed quote": (text('x,y,d\n"1,2,a\n3,4,b\n'), "cannot be read as a table"),
    "not text": (text(b"\x00\x01\x02\n\x03"), "is not a text file"),
    "not an archive": (text(GOOD, "t.csv.gz"), "cannot be read"),
    "cut archive": (text(gzip.compress(GOOD.encode() * 50)[:-30], "t.csv.gz"), "cannot be read"),
    "not Parquet": (text(GOOD, "t.parquet"), "cannot be read as Parquet"),
    "cut Parquet": (cut_parquet, "cannot be read as Parquet"),
    "lists in Parquet": (lists, "column 'x' of"),
    "unknown ending": (text(GOOD, "t.xlsx"), "must end in one of"),
    "a directory without Parquet": (path(None), "no Parquet file was found at"),
    "no such file": (path("nowhere.csv"), "nowhere.csv does not exist"),
    "a device": (path("/dev/zero"), "is not a regular file"),
    "target not there": (words("-t", "z"), "no column 'z' (--target)"),
    "domain not there": (words("-t", "y", "-d", "where"), "no column 'where' (--domain)"),
    "target is the domain": (words("-t", "y", "-d", "y"), "it cannot also be the domain"),
    "target without a value": (frame(y=[None] * 60), "the target 'y' has no values"),
    "target constant": (frame(y=7.5), "the target 'y' is 7.5 in every row"),
    "one class only": (frame(y="yes"), "the target 'y' is 'yes' in every row"),
    "target infinite": (frame(y=[*np.arange(59.0), np.inf]), "the target 'y' is infinite in 1 of 60 rows"),
    "target of dates": (frame(y=pd.date_range("2020-01-01", periods=60)), "the target 'y' is a date"),
    "target with a mistake": (frame(y=[*map(str, range(59)), "12 kg"]), "except for 1 of 60 values, such as '12 kg'"),
    "10,000 classes": (frame(y=[f"c{i}" for i in range(10_000)]), "has 10,000 classes, more than 100"),
    "10,000 domains": (frame(d=[f"c{i % 9_999}" for i in range(10_000)]), "has 9,999 values, but at most 2,000"),
    "a domain a row": (frame(d=[f"c{i}" for i in range(60)]), "is different in every row"),
    "domain with gaps": (frame(d=[None, *"ab" * 29, "a"]), "is missing in 1 of 60 rows"),
    "column without a value": (frame(x=[None] * 60), "column 'x' has no values"),
    "numbers as text": (frame(x=[*map(str, range(58)), "?", "about 3"]), "except for 2 of 60 values, such as '?'"),
    "infinities": (frame(x=[*np.arange(58.0), np.inf, -np.inf]), "column 'x' is infinite in 2 of 60 rows"),
    "nothing to predict from": (words("-t", "y", "-d", "d", "--drop", "x"), "there is no column to predict from"),
    "all columns constant": (frame(x=1), "there is no column to predict from"),
    "nothing but blank lines": (text("\n\n\n"), "cannot be read as a table"),
    "zeros at the end": (text(GOOD.encode() + b"\0" * 90 + b"\n"), "Expected 3 columns, got 1"),
    "a zero for a number": (text(GOOD + "1,\0,a\n"), r"except for 1 of 61 values, such as '\x00'"),
    "two bytes a letter, no mark": (text(GOOD.encode("utf-16-le")), "is not a text file"),
    "bytes after the archive": (text(gzip.compress(GOOD.encode()) + b"more", "t.csv.gz"), "cannot be read as a table"),
    "a line of 50 MB in an archive": (text(gzip.compress(b"0" * 50_000_000), "t.csv.gz"), "cannot be read as a table"),
    "a header of two megabytes": (text("x" * 2_000_000 + ",y\n1,2\n"), "cannot be read as a table"),
    "a quote of five megabytes": (text('x,y,d\n"' + "a" * 5_000_000), "cannot be read as a table"),
    "structs in Parquet": (parquet(s=[{"a": 1}] * 60), "column 's' of"),
    "bytes in Parquet": (parquet(s=[b"a"] * 60), "has type binary: use numbers, text or dates"),
    "nulls in Parquet": (parquet(s=[None] * 60), "column 's' has no values"),
    "a link to itself": (loop, "does not exist"),
    "a pipe": (pipe, "is not a regular file"),
    "one mistake in 10,000 targets": (
        frame(y=["oops" if i == 5_000 else str(i * 0.37) for i in range(10_000)]),
        "except for 1 of 10000 values, such as 'oops'",
    ),
    "domain that is not a number": (frame(d=[np.nan, *range(59)]), "is missing in 1 of 60 rows"),
    "a day that is none": (frame(x=[f"2020-02-{i % 31 + 1:02d}" for i in range(60)]), "such as '2020-02-30'"),
    "beyond all numbers": (frame(x=["1e400", *range(59)]), "column 'x' is infinite in 1 of 60 rows"),
    "too large to square": (frame(x=[1e300, *range(59)]), "column 'x' has values up to 1e+300"),
    "target too large to square": (frame(y=[1e298 * (i + 0.5) for i in range(60)]), "has values up to 6e+299"),
    "classes too large to count": (frame(y=[1e300 * (i % 5) for i in range(60)], x=1), "is no column to predict from"),
    "thousands with a comma": (frame(x=[f"{i},000" for i in range(60)]), "'x' cannot be used (60 different texts"),
    "a name that steers the terminal": (words("-t", "\x1b[2Jz"), r"no column '\x1b[2Jz'"),
    "a header of another encoding": (text(GOOD.replace("x", "größe", 1).encode("latin-1")), "is not in utf-8"),
    "a damaged archive": (bad_gzip, "cannot be read as a table"),
    "two bytes a letter, mark missing": (words("-t", "y", "--encoding", "utf-16"), "use --encoding utf-16-le"),
    "a codec of no file": (words("-t", "y", "--encoding", "idna"), "unknown encoding 'idna'"),
    "a codec that is undefined": (words("-t", "y", "--encoding", "undefined"), "unknown encoding 'undefined'"),
    "an encoding with a zero in it": (words("-t", "y", "--encoding", "utf-8\0"), "unknown encoding"),
    "an unknown time zone": (kind("unknown zone"), "in the unknown time zone 'Mars/Olympus'"),
    "JSON in Parquet": (kind("json"), "has type extension<arrow.json>"),
    "UUIDs in Parquet": (kind("uuid"), "has type extension<arrow.uuid>"),
    "large bytes in Parquet": (kind("large bytes"), "has type large_binary"),
    "dates beyond the calendar": (kind("far dates"), "dates outside the years 1 to 9999"),
    "decimals beyond single precision": (kind("large decimals"), "has values up to 6e+61"),
    "beyond single precision": (frame(x=[1e60, *range(59)]), "column 'x' has values up to 1e+60"),
    "a target beyond single precision": (frame(y=[1e160 * (i + 0.5) for i in range(60)]), "has values up to 6e+161"),
    "below single precision": (frame(x=[1e-160 * i for i in range(60)]), "column 'x' is below 1e-38 in every row"),
    "a target below single precision": (frame(y=[1e-200 * (i + 0.5) for i in range(60)]), "has values up to 6e-199"),
    "a class a row": (frame(y=[f"c{i}" for i in range(60)]), "has 60 classes in 60 rows"),
    "a name of five thousand letters": (text("x" * 5_000 + ",z,d\n1,2,a\n"), "no column 'y' (--target)"),
    "nine rows": (text("\n".join(GOOD.split("\n")[:10])), "only 9 rows have a target"),
}  # fmt: skip


@pytest.mark.parametrize("make, message", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("command", ["quality", "fit"])
def test_a_malformed_table(fails, tmp_path, make, message, command):
    _, *rest = make(tmp_path)
    fails(
        [command, *rest, *(["-o", tmp_path / "m"] if command == "fit" else ["--report", tmp_path / "r.html"])], message
    )


def test_no_permission(fails, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text(GOOD)
    real = builtins.open

    def refusing(file, *rest, **options):  # the tests may run as root, whom no mode stops
        if str(file).endswith("t.csv"):
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, *rest, **options)

    monkeypatch.setattr(builtins, "open", refusing)
    fails(["quality", tmp_path / "t.csv", "-t", "y"], "Permission denied")


def test_there_are_at_least_forty():
    assert len(TABLES) >= 80
