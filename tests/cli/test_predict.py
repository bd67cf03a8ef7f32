"""`rpo predict`: what is lacking or new is said, and every row gets its prediction."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def model(command, homes, tmp_path):
    folder = tmp_path / "model"
    words = ("-t", "radon", "-d", "site", "--drop", "high", "-m", "erm-l2", "--steps", 150, "-o", folder)
    assert command("fit", homes, *words)[0] == 0
    return folder


def test_predictions_come_in_the_order_of_the_rows(command, homes, model, tmp_path):
    code, out, err = command("predict", model, homes, "--out", tmp_path / "out.parquet")
    assert (code, err) == (0, "")
    assert "240 predictions" in out
    found, truth = pd.read_parquet(tmp_path / "out.parquet"), pd.read_csv(homes)
    assert list(found.columns) == ["site", "prediction"]
    quiet = (truth["site"] != "c").to_numpy()
    assert np.corrcoef(found["prediction"][quiet], truth["radon"][quiet])[0, 1] > 0.9


def test_what_is_lacking_or_new_is_said(command, homes, model, tmp_path):
    frame = pd.read_csv(homes).drop(columns=["floor", "radon"]).head(4)
    frame.loc[0, "wall"], frame.loc[1, "site"], frame.loc[2, "day"] = "straw", "moon", "soon"
    frame.to_csv(tmp_path / "new.csv", index=False)
    code, out, err = command("predict", model, tmp_path / "new.csv", "--json")
    assert code == 0
    notes = json.loads(out)["notes"]
    assert notes == [
        "column 'floor' is missing from the table: filled with its median, 1",
        "column 'wall' has categories that are not in the training data: 'straw'",
        "column 'day' has 1 values that are not a date: treated as missing",
        "1 row is from a domain not in the training data: 'moon'",
    ]
    assert all(f"note: {note}" in err for note in notes)
    assert all(np.isfinite(row["prediction"]) for row in json.loads(out)["predictions"])


def test_classes_have_probabilities(command, homes, tmp_path):
    folder = tmp_path / "m"
    command("fit", homes, "-t", "high", "-d", "site", "--drop", "radon", "-m", "erm-l2", "--steps", 50, "-o", folder)
    _, out, _ = command("predict", folder, homes)
    lines = out.splitlines()
    assert lines[0] == "site,prediction,probability of no,probability of yes"
    assert len(lines) == 241
    assert sum(map(float, lines[1].split(",")[2:])) == pytest.approx(1)


def test_none_of_the_columns_is_an_error(command, model, tmp_path):
    (tmp_path / "other.csv").write_text("p,q\n1,2\n")
    code, out, err = command("predict", model, tmp_path / "other.csv")
    assert (code, out) == (2, "")
    assert "none of the columns that the model needs: 'floor', 'wall', 'day'" in err
