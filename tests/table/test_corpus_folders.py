"""Malformed model folders: each gives one clear line and exit code 2, and leaves nothing behind."""

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


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, good):
    from rpo._models.table_files import save_model
    from rpo._models.table_model import fit_table
    from rpo._table import prepare

    place = tmp_path_factory.mktemp("fitted")
    (place / "t.csv").write_text(good)
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


def folder_for(name):
    def harm(model):
        (model / name).unlink()
        (model / name).mkdir()

    return harm


def fifo(name):
    def harm(model):
        (model / name).unlink()
        os.mkfifo(model / name)

    return harm


CATEGORY = {"name": "q", "kind": "category"}


class Evil:
    def __reduce__(self):
        return os.system, ("touch pwned",)


FOLDERS = {
    "no table.json": (lambda m: (m / "table.json").unlink(), "has no table.json"),
    "no weights": (lambda m: (m / "weights.safetensors").unlink(), "has no weights.safetensors"),
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
    "no columns": (edit("table.json", lambda c: c.update(columns=[])), "has no columns"),
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
    "an odd fill": (edit("table.json", lambda c: c["columns"][0].update(fill=1e200)), "does not fit its kind"),
    "rows that are not there": (edit("table.json", lambda c: c.update(rows=3)), "do not add up to those of the table"),
    "another class": (edit("model.json", lambda c: c.update({"class": "os.system"})), "not one of RPORegressor"),
    "unknown parameter": (edit("model.json", lambda c: c["parameters"].update(evil=1)), "not a complete model"),
    "altered shapes": (edit("model.json", lambda c: c["parameters"].update(hidden=[3])), "do not fit the network"),
    "a network of a terabyte": (
        edit("model.json", lambda c: c["parameters"].update(hidden=[10**6, 10**6])),
        "the parameters do not fit the network",
    ),
    "width not a number": (edit("model.json", lambda c: c["parameters"].update(hidden=["64"])), "not a complete model"),
    "labels of a gigabyte": (
        edit("model.json", lambda c: c["labels"]["domains_"].update(dtype="<U1000000000")),
        "unknown type of labels '<U1000000000'",
    ),
    "labels of objects": (
        edit("model.json", lambda c: c["labels"]["domains_"].update(dtype="V8")),
        "unknown type of labels 'V8'",
    ),
    "scale of text": (edit("model.json", lambda c: c["fitted"].update(y_scale_="x")), "not a complete model"),
    "scale not finite": (edit("model.json", lambda c: c["fitted"].update(y_scale_=1e308 * 10)), "not a complete model"),
    "deep JSON": (put("model.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000), "cannot be read"),
    "a million layers": (
        edit("model.json", lambda c: c["parameters"].update(hidden=[1] * 10**6)),
        "inputs or layers are not valid",
    ),
    "a number of 5,000 digits": (
        put("table.json", b'{"format": ' + b"1" * 5_000 + b"}"),
        "is not as `rpo fit` writes it",
    ),
    "a tensor of a terabyte": (put("weights.safetensors", tensor([1 << 38], 1 << 40)), "not a complete model"),
    "a tensor of 2**90 numbers": (put("weights.safetensors", tensor([1 << 45, 1 << 45], 4)), "not a complete model"),
    "pickle for weights": (put("weights.safetensors", pickle.dumps(Evil())), "not a complete model"),
    "truncated weights": (cut("weights.safetensors"), "not a complete model"),
    "header of 2**63 bytes": (put("weights.safetensors", b"\xff" * 7 + b"\x7f" + b"{}"), "not a complete model"),
    "mean of another shape": (weights(lambda a: a.update(x_mean_=np.zeros((9, 1)))), "x_mean_ has the wrong shape"),
    "no mean": (weights(lambda a: a.pop("x_mean_")), "not a complete model"),
    "weights of another shape": (
        weights(lambda a: a.update({n: v[..., :1].copy() for n, v in a.items() if n.startswith("weights/")})),
        "do not fit the network",
    ),
    "a folder for a file": (folder_for("model.json"), "is not a regular file"),
    "a FIFO for a file": (fifo("weights.safetensors"), "is not a regular file"),
    "a thousand categories": (
        edit("table.json", lambda c: c["columns"].append(CATEGORY | {"categories": [str(k) for k in range(1000)]})),
        "a column has more than 20 categories",
    ),
    "weights of bytes": (
        weights(lambda a: a.update({n: v.astype(np.int8) for n, v in a.items() if n.startswith("weights/")})),
        "has type int8",
    ),
    "a precision that is none": (edit("model.json", lambda c: c["fitted"].update(dtype_="int8")), "unknown precision"),
    "a scale of zero": (weights(lambda a: a.update(x_scale_=a["x_scale_"] * 0)), "x_scale_ is zero"),
    "domains named twice": (
        edit("model.json", lambda c: c["labels"]["domains_"].update(values=["a"] * 3)),
        "domains_ has duplicates",
    ),
    "a message that steers the terminal": (
        edit("model.json", lambda c: c["parameters"].update({"\x1b[2J": 1})),
        r"\x1b[2J",
    ),
    "weights not finite": (
        weights(lambda a: a.update({n: v * np.nan for n, v in a.items() if n.startswith("weights/")})),
        "is not a complete model (0.bias is not finite)",
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
        ("x,y\n1,2\n1e300,2\n", "column 'x' is 1e+300 in row 2"),
        ("x,y\n-1.8e308,2\n", "column 'x' is infinite (inf) in 1 rows"),
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
    assert len(FOLDERS) >= 40
