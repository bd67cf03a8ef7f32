"""What is written as a code stays as it is written: in domains, ids, classes and categories, and in a saved model."""

import json

import numpy as np
import pandas as pd
import pytest

from rpo._models.table_files import load_model, save_model
from rpo._models.table_model import fit_table, predict_table
from rpo._table import prepare
from rpo._table.reading import read_table

N = 90
IDS = [f"{10**19 + k % 45}" for k in range(N)]  # twenty digits: more than a number holds


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    frame = pd.DataFrame(
        {
            "x": x.round(3),
            "small": [f"{value:.1e}" for value in 1e-5 * rng.normal(size=N)],
            "zip": rng.choice(["02001", "10115", "00501"], N),
            "month": rng.choice(["01", "02", "11"], N),
            "site": np.array(["001", "1e5", "010"])[np.arange(N) % 3],
            "who": IDS,
            "y": (x + 0.1 * rng.normal(size=N)).round(3),
            "kind": np.where(x > 0, "007", "070"),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_columns_are_read_as_they_are_written(path):
    frame = read_table(path)
    assert sorted(frame["site"].unique()) == ["001", "010", "1e5"]
    assert sorted(frame["zip"].unique()) == ["00501", "02001", "10115"]
    assert frame["who"].tolist() == IDS
    assert [frame[name].dtype.kind for name in ("x", "small", "y")] == ["f", "f", "f"]


def test_they_stay_so_in_a_model_its_predictions_and_after_loading(path):
    frame = read_table(path)
    ready = prepare(frame, target="kind", domain="site", drop=["who", "y"])
    columns = {column.name: column for column in ready.columns}
    assert columns["zip"].categories == ("00501", "02001", "10115")
    assert columns["month"].kind == "number"  # two digits count months, days and hours
    model = fit_table(ready, method="linear", id="who")
    save_model(model, path.parent / "model")
    loaded = load_model(path.parent / "model")
    assert list(loaded.domains) == ["001", "010", "1e5"]
    assert list(json.loads((path.parent / "model" / "table.json").read_text())["domains"]) == ["001", "010", "1e5"]
    said, notes = predict_table(loaded, frame)
    assert said["who"].tolist() == IDS
    assert set(said["prediction"]) == {"007", "070"}
    assert {"probability of 007", "probability of 070"} <= set(said)
    assert not [note for note in notes if "not seen" in note]


def test_whole_numbers_with_gaps_are_not_rounded(tmp_path):
    numbers = [2**53 + 1, None, 2**53 + 3]
    pd.DataFrame({"id": pd.array(numbers, dtype="Int64"), "y": [1, 2, 3]}).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["id"].dropna().tolist() == ["9007199254740993", "9007199254740995"]


def test_a_domain_named_as_the_predictions_are_stays_beside_them():
    frame = pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40.0), "prediction": ["a", "b"] * 20})
    model = fit_table(prepare(frame, target="y", domain="prediction"), method="linear")
    said = predict_table(model, frame)[0]
    assert said["prediction (given)"].tolist() == ["a", "b"] * 20
    np.testing.assert_allclose(said["prediction"], frame["y"], atol=1e-3)
