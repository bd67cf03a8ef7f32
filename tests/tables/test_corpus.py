"""Malformed inputs: each gives one clear line and exit code 2, and leaves nothing behind."""

import builtins
import gzip
import json
import os
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from rpo.cli import main

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


MIXED = "x,y,d\nKöln,1,a\n".encode() + "Köln,2,b\n".encode("latin-1")

TABLES = {
    "empty file": (text(""), "is empty"),
    "empty archive": (text(gzip.compress(b""), "t.csv.gz"), "is empty"),
    "header only": (text("x,y,d\n"), "a header but no rows"),
    "short row": (text(GOOD + "1,2\n"), "Expected 3 columns, got 2"),
    "long row": (text(GOOD + "1,2,a,9\n"), "Expected 3 columns, got 4"),
    "another encoding": (text("x,y,d\nKöln,1,a\n".encode("latin-1")), "is not in utf-8: say which with --encoding"),
    "two encodings": (text(MIXED), "is not in utf-8"),
    "two bytes a letter": (text(GOOD.encode("utf-16")), "is in UTF-16"),
    "unknown encoding": (words("-t", "y", "--encoding", "klingon"), "unknown encoding 'klingon'"),
    "duplicate columns": (text("x,y,y\n1,2,3\n"), "has the column 'y' more than once"),
    "column without a name": (text("x,y,\n1,2,3\n"), "has a column without a name (number 3)"),
    "wrong delimiter": (text("x y d\n1 2 a\n"), "has one column only"),
    "unclosed quote": (text('x,y,d\n"1,2,a\n3,4,b\n'), "cannot be read as a table"),
    "not text": (text(b"\x00\x01\x02\n\x03"), "is not a text file"),
    "not an archive": (text(GOOD, "t.csv.gz"), "cannot be read"),
    "cut archive": (text(gzip.compress(GOOD.encode() * 50)[:-30], "t.csv.gz"), "cannot be read"),
    "not Parquet": (text(GOOD, "t.parquet"), "cannot be read as Parquet"),
    "cut Parquet": (cut_parquet, "cannot be read as Parquet"),
    "lists in Parquet": (lists, "column 'x' of"),
    "unknown ending": (text(GOOD, "t.xlsx"), "ends in none of"),
    "a directory": (path(None), "is a directory"),
    "no such file": (path("nowhere.csv"), "there is no file nowhere.csv"),
    "a device": (path("/dev/zero"), "is not a regular file"),
    "target not there": (words("-t", "z"), "no column 'z' (--target)"),
    "domain not there": (words("-t", "y", "-d", "where"), "no column 'where' (--domain)"),
    "target is the domain": (words("-t", "y", "-d", "y"), "it cannot be the domain"),
    "target without a value": (frame(y=[None] * 60), "the target 'y' has no value in any row"),
    "target constant": (frame(y=7.5), "the target 'y' is 7.5 in every row"),
    "one class only": (frame(y="yes"), "the target 'y' is 'yes' in every row"),
    "target infinite": (frame(y=[*np.arange(59.0), np.inf]), "the target 'y' is infinite in 1 of 60 rows"),
    "target of dates": (frame(y=pd.date_range("2020-01-01", periods=60)), "the target 'y' is dates"),
    "target with a mistake": (frame(y=[*map(str, range(59)), "12 kg"]), "but for 1 of 60 values, such as '12 kg'"),
    "10,000 classes": (frame(y=[f"c{i}" for i in range(10_000)]), "has 10,000 classes, more than 100"),
    "10,000 domains": (frame(d=[f"c{i % 9_999}" for i in range(10_000)]), "has 9,999 values, more than 2,000"),
    "a domain a row": (frame(d=[f"c{i}" for i in range(60)]), "is different in every row"),
    "domain with gaps": (frame(d=[None, *"ab" * 29, "a"]), "is missing in 1 of 60 rows"),
    "column without a value": (frame(x=[None] * 60), "column 'x' has no value in any row"),
    "numbers as text": (frame(x=[*map(str, range(58)), "?", "about 3"]), "numbers but for 2 of 60 values, such as '?'"),
    "infinities": (frame(x=[*np.arange(58.0), np.inf, -np.inf]), "column 'x' is infinite in 2 of 60 rows"),
    "nothing to predict from": (words("-t", "y", "-d", "d", "--drop", "x"), "no column is left to predict from"),
    "all columns constant": (frame(x=1), "no column is left to predict from"),
    "nothing but blank lines": (text("\n\n\n"), "cannot be read as a table"),
    "zeros at the end": (text(GOOD.encode() + b"\0" * 90 + b"\n"), "Expected 3 columns, got 1"),
    "a zero for a number": (text(GOOD + "1,\0,a\n"), r"but for 1 of 61 values, such as '\x00'"),
    "two bytes a letter, no mark": (text(GOOD.encode("utf-16-le")), "is not a text file"),
    "bytes after the archive": (text(gzip.compress(GOOD.encode()) + b"more", "t.csv.gz"), "cannot be read as a table"),
    "a line of 50 MB in an archive": (text(gzip.compress(b"0" * 50_000_000), "t.csv.gz"), "cannot be read as a table"),
    "a header of two megabytes": (text("x" * 2_000_000 + ",y\n1,2\n"), "cannot be read as a table"),
    "a quote of five megabytes": (text('x,y,d\n"' + "a" * 5_000_000), "cannot be read as a table"),
    "structs in Parquet": (parquet(s=[{"a": 1}] * 60), "column 's' of"),
    "bytes in Parquet": (parquet(s=[b"a"] * 60), "holds binary: give numbers, text or dates"),
    "nulls in Parquet": (parquet(s=[None] * 60), "column 's' has no value in any row"),
    "a link to itself": (loop, "there is no file"),
    "a pipe": (pipe, "is not a regular file"),
    "one mistake in 10,000 targets": (
        frame(y=["oops" if i == 5_000 else str(i * 0.37) for i in range(10_000)]),
        "but for 1 of 10000 values, such as 'oops'",
    ),
    "domain that is not a number": (frame(d=[np.nan, *range(59)]), "is missing in 1 of 60 rows"),
    "a day that is none": (frame(x=[f"2020-02-{i % 31 + 1:02d}" for i in range(60)]), "such as '2020-02-30'"),
    "beyond all numbers": (frame(x=["1e400", *range(59)]), "column 'x' is infinite in 1 of 60 rows"),
    "too large to square": (frame(x=[1e300, *range(59)]), "column 'x' reaches 1e+300"),
    "target too large to square": (frame(y=[1e298 * (i + 0.5) for i in range(60)]), "the target 'y' reaches 6e+299"),
    "classes too large to count": (frame(y=[1e300 * (i % 5) for i in range(60)], x=1), "no column is left"),
    "thousands with a comma": (frame(x=[f"{i},000" for i in range(60)]), "'x' is no use (60 different texts"),
    "a name that steers the terminal": (words("-t", "\x1b[2Jz"), r"no column '\x1b[2Jz'"),
    "nine rows": (text("\n".join(GOOD.split("\n")[:10])), "there are 9 rows with a target"),
}  # fmt: skip


@pytest.fixture
def fails(monkeypatch, capfd, tmp_path):
    """Run `rpo …`: it must end with code 2 and one line, and the folder must be as it was."""

    def run(argv, message):
        before = sorted((p, p.lstat().st_size) for p in tmp_path.rglob("*"))
        monkeypatch.setattr(sys, "argv", ["rpo", *map(str, argv)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capfd.readouterr()
        assert stop.value.code == 2
        assert (out, err.count("\n")) == ("", 1), err
        assert err.startswith("rpo: ")
        assert message in err
        assert len(err) < 500
        assert sorted((p, p.lstat().st_size) for p in tmp_path.rglob("*")) == before

    return run


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


# --- folders -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    from rpo.frames import prepare
    from rpo.tables.folder import save_model
    from rpo.tables.model import fit_table

    place = tmp_path_factory.mktemp("fitted")
    (place / "t.csv").write_text(GOOD)
    save_model(
        fit_table(prepare(pd.read_csv(place / "t.csv"), target="y", domain="d"), method="rpo", steps=3), place / "m"
    )
    return place


def edit(name, change):
    """The JSON of a file, changed."""

    def harm(model):
        saved = json.loads((model / name).read_text())
        change(saved)
        (model / name).write_text(json.dumps(saved))

    return harm


def put(name, content):
    return lambda model: (model / name).write_bytes(content)


def cut(name):
    return lambda model: (model / name).write_bytes((model / name).read_bytes()[:-40])


def grow(name, size):
    """A file that says it is large, and takes no room on disk."""
    return lambda model: os.truncate(model / name, size)


def weights(change):
    def harm(model):
        arrays = load_file(model / "weights.safetensors")
        change(arrays)
        save_file(arrays, model / "weights.safetensors")

    return harm


def tensor(shape, size):
    """A weights file whose header promises a tensor that is not there."""
    said = {"x_mean_": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}
    header = json.dumps(said).encode()
    return len(header).to_bytes(8, "little") + header + b"\0" * 4


def link(model):
    (model / "weights.safetensors").unlink()
    (model / "weights.safetensors").symlink_to("/dev/zero")


class Evil:
    def __reduce__(self):
        return os.system, ("touch pwned",)


FOLDERS = {
    "no table.json": (lambda m: (m / "table.json").unlink(), "holds no table.json"),
    "no weights": (lambda m: (m / "weights.safetensors").unlink(), "holds no weights.safetensors"),
    "weights are a device": (link, "is a link"),
    "not JSON": (put("table.json", b"{"), "is not as `rpo fit` writes it"),
    "JSON bomb in the table": (put("table.json", b"[" * 200_000), "is not as `rpo fit` writes it"),
    "JSON bomb in the model": (put("model.json", b"[" * 200_000), "cannot be read"),
    "huge JSON": (grow("model.json", 1 << 40), "more than 16,777,216"),
    "huge weights": (grow("weights.safetensors", 1 << 40), "more than 268,435,456"),
    "path in the card": (edit("table.json", lambda c: c.update(weights="../../etc/passwd")), "weights: Extra inputs"),
    "path in a column": (edit("table.json", lambda c: c["columns"][0].update(file="/etc/passwd")), "Extra inputs"),
    "another format": (edit("table.json", lambda c: c.update(format=9)), "format: Input should be 1"),
    "task unknown": (edit("table.json", lambda c: c.update(task="eval")), "task: Input should be"),
    "no columns": (edit("table.json", lambda c: c.update(columns=[])), "names no columns"),
    "fill not a number": (edit("table.json", lambda c: c["columns"][0].update(fill="1e999")), "columns.0.fill"),
    "more columns": (
        edit("table.json", lambda c: c["columns"].append({"name": "q", "kind": "number"})),
        "its inputs are not the columns",
    ),
    "a name changed": (
        edit("table.json", lambda c: c["columns"][0].update(name="other")),
        "its inputs are not the columns",
    ),
    "a column twice": (edit("table.json", lambda c: c["columns"].append(c["columns"][0])), "a column is named twice"),
    "a category twice": (
        edit("table.json", lambda c: c["columns"].append({"name": "q", "kind": "category", "categories": ["a", "a"]})),
        "a category is named twice",
    ),
    "an odd fill": (edit("table.json", lambda c: c["columns"][0].update(fill=1e200)), "that it cannot have"),
    "rows that are not there": (edit("table.json", lambda c: c.update(rows=3)), "not the rows of the table"),
    "another class": (edit("model.json", lambda c: c.update({"class": "os.system"})), "none of RPORegressor"),
    "unknown parameter": (edit("model.json", lambda c: c["parameters"].update(evil=1)), "not a whole model"),
    "altered shapes": (edit("model.json", lambda c: c["parameters"].update(hidden=[3])), "not those of the network"),
    "a network of a terabyte": (
        edit("model.json", lambda c: c["parameters"].update(hidden=[10**6, 10**6])),
        "its parameters are not those of the network",
    ),
    "width not a number": (edit("model.json", lambda c: c["parameters"].update(hidden=["64"])), "not a whole model"),
    "labels of a gigabyte": (
        edit("model.json", lambda c: c["labels"]["domains_"].update(dtype="<U1000000000")),
        "labels of type '<U1000000000'",
    ),
    "labels of objects": (
        edit("model.json", lambda c: c["labels"]["domains_"].update(dtype="V8")),
        "labels of type 'V8'",
    ),
    "scale of text": (edit("model.json", lambda c: c["fitted"].update(y_scale_="x")), "not a whole model"),
    "scale not finite": (edit("model.json", lambda c: c["fitted"].update(y_scale_=1e308 * 10)), "not a whole model"),
    "deep JSON": (put("model.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000), "cannot be read"),
    "a million layers": (
        edit("model.json", lambda c: c["parameters"].update(hidden=[1] * 10**6)),
        "its inputs or layers",
    ),
    "a number of 5,000 digits": (
        put("table.json", b'{"format": ' + b"1" * 5_000 + b"}"),
        "is not as `rpo fit` writes it",
    ),
    "a tensor of a terabyte": (put("weights.safetensors", tensor([1 << 38], 1 << 40)), "not a whole model"),
    "a tensor of 2**90 numbers": (put("weights.safetensors", tensor([1 << 45, 1 << 45], 4)), "not a whole model"),
    "pickle for weights": (put("weights.safetensors", pickle.dumps(Evil())), "not a whole model"),
    "truncated weights": (cut("weights.safetensors"), "not a whole model"),
    "header of 2**63 bytes": (put("weights.safetensors", b"\xff" * 7 + b"\x7f" + b"{}"), "not a whole model"),
    "mean of another shape": (weights(lambda a: a.update(x_mean_=np.zeros((9, 1)))), "x_mean_ is of another shape"),
    "no mean": (weights(lambda a: a.pop("x_mean_")), "not a whole model"),
    "weights of another shape": (
        weights(lambda a: a.update({n: v[..., :1].copy() for n, v in a.items() if n.startswith("weights/")})),
        "not those of the network",
    ),
    "weights not finite": (
        weights(lambda a: a.update({n: v * np.nan for n, v in a.items() if n.startswith("weights/")})),
        "is not a whole model (0.bias is not finite)",
    ),
}


@pytest.mark.parametrize("harm, message", FOLDERS.values(), ids=FOLDERS)
def test_a_malformed_folder(fails, fitted, reseal, tmp_path, harm, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(fitted, tmp_path / "it")
    harm(tmp_path / "it" / "m")
    reseal(tmp_path / "it" / "m")
    fails(["predict", tmp_path / "it" / "m", tmp_path / "it" / "t.csv", "-o", tmp_path / "out.csv"], message)
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    "table, message",
    [
        ("p,q\n1,2\n", "none of the columns"),
        ("x,y\ninf,2\n", "column 'x' is infinite (inf) in 1 rows"),
        ("x,y\n", "no rows"),
    ],
)
def test_a_table_that_cannot_be_predicted(fails, fitted, tmp_path, table, message):
    (tmp_path / "t.csv").write_text(table)
    fails(["predict", fitted / "m", tmp_path / "t.csv", "-o", tmp_path / "out.csv"], message)


def test_the_folder_itself_is_whole(fitted, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["rpo", "predict", str(fitted / "m"), str(fitted / "t.csv")])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code in (0, None)
    assert capfd.readouterr().out.count("\n") == 61


def test_there_are_at_least_forty():
    assert len(TABLES) >= 40
    assert len(TABLES) + len(FOLDERS) >= 70
