"""Large Parquet files: columns read one at a time, numbers kept in a file, the same model as from memory."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from rpo._mapped import is_mapped, on_disk
from rpo._models.table_model import fit_table
from rpo._table import prepare, reading
from rpo._table.reading import ParquetFrame, many_rows, read_table
from rpo.exceptions import InputError

ROLES = {"target": "y", "domain": "site", "strata": ["wall"], "drop": ["left"], "category": ["code"]}


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Everything a column can be; a block of rows is smaller than the table."""
    monkeypatch.setattr("rpo._mapped.BLOCK", 7)
    monkeypatch.setattr(reading, "MANY_ROWS", 50)
    rng, n = np.random.default_rng(0), 60
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "whole": rng.integers(0, 9, n),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "wall": np.array(["brick", "wood", None], dtype=object)[rng.integers(0, 3, n)],
            # Whole numbers in the first blocks only: a block alone would spell them without the point.
            "code": np.concatenate([rng.integers(0, 3, n // 2).astype(float), rng.integers(0, 3, n // 2) + 0.5]),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "true": rng.random(n) < 0.5,
            "same": 1.0,
            "left": "x",
            "site": np.array(["a", "b", "c"])[np.arange(n) % 3],
        },
        index=pd.Index([f"row {i}" for i in range(n)], name="name"),
    )
    frame["y"] = np.where(np.arange(n) % 11 == 0, np.nan, frame["number"] + rng.normal(size=n))
    frame.to_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_it_prepares_as_the_whole_table_does(saved):
    large = many_rows(saved)
    assert isinstance(large, ParquetFrame)
    ours, theirs = prepare(large, **ROLES, room=on_disk), prepare(read_table(saved), **ROLES)
    assert is_mapped(ours.X)
    assert np.array_equal(ours.X, theirs.X)
    for name in ("y", "domains", "row"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))
    assert (ours.columns, ours.notes, ours.task) == (theirs.columns, theirs.notes, theirs.task)
    assert np.array_equal(ours.strata.labels, theirs.strata.labels)
    assert list(ours.strata.names) == list(theirs.strata.names)


def test_it_fits_the_same_model(saved):
    tables = (prepare(many_rows(saved), **ROLES, room=on_disk), prepare(read_table(saved), **ROLES))
    ours, theirs = (fit_table(ready, method="rpo", steps=20).estimator for ready in tables)
    assert all(np.array_equal(value, theirs.params_[name]) for name, value in ours.params_.items())
    pd.testing.assert_frame_equal(ours.quality_, theirs.quality_, check_exact=True)


def test_small_files_and_other_formats_are_read_whole(saved, tmp_path, monkeypatch):
    assert many_rows(tmp_path / "t.csv") is None
    (tmp_path / "torn.parquet").write_bytes(b"PAR1")
    assert many_rows(tmp_path / "torn.parquet") is None
    monkeypatch.setattr(reading, "MANY_ROWS", 61)
    assert many_rows(saved) is None


def test_columns_that_cannot_be_are_refused_alike(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MANY_ROWS", 1)
    pd.DataFrame({"a": [[1, 2]] * 20, "y": range(20)}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="column 'a' of .* has type list"):
        many_rows(tmp_path / "t.parquet")


PEAK = """
import re, sys, threading, time
anonymous = lambda: int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1])
most = [0]
def watch():
    while True:
        most[0] = max(most[0], anonymous())
        time.sleep(0.005)
import torch, rpo._models.table_model, rpo._table.reading
from rpo.cli import main
if sys.argv.pop() == "memory":
    rpo._table.reading.MANY_ROWS = 10**9
before = anonymous()
threading.Thread(target=watch, daemon=True).start()
try:
    main()
finally:
    print("peak", (most[0] - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_half_a_million_rows_take_less_memory_by_a_copy_of_the_features(tmp_path):
    rng, rows, columns = np.random.default_rng(0), 500_000, 20
    frame = pd.DataFrame(rng.normal(size=(rows, columns)), columns=[f"x{i}" for i in range(columns)])
    frame["site"] = rng.integers(0, 10, rows)
    frame["y"] = frame["x0"] + rng.normal(size=rows)
    frame.to_parquet(tmp_path / "t.parquet")
    peak = {}
    for way in ("mapped", "memory"):
        words = [
            "fit",
            tmp_path / "t.parquet",
            "-t",
            "y",
            "-d",
            "site",
            "-m",
            "rpo",
            "--steps",
            20,
            "-o",
            tmp_path / way,
            way,
        ]
        command = [sys.executable, "-c", PEAK, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak[way] = int(re.search(r"peak (\d+)", done.stdout)[1])
    assert (tmp_path / "mapped" / "weights.safetensors").read_bytes() == (
        tmp_path / "memory" / "weights.safetensors"
    ).read_bytes()
    assert peak["memory"] - peak["mapped"] > rows * columns * 8, peak
