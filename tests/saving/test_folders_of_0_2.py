"""Folders that rpo 0.2.0 wrote (by write_folders.py): they load, predict as they did, and are written as they were."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo._models.table_files import load_model, save_model
from rpo._models.table_model import predict_table
from tests.saving.write_folders import predict

PLACE = Path(__file__).with_name("folders-0.2")
PREDICTIONS = json.loads((PLACE / "predictions.json").read_text())
TABLES = ("fit", "fit-rpo")  # of `rpo fit`
SINGLE = ("quality-network", "fit-rpo")  # networks of single precision: machines differ in their last digits
ROWS = pd.read_csv(PLACE / "rows.csv")


def test_all_folders_are_here():
    assert {path.name for path in PLACE.iterdir() if path.is_dir()} == {*PREDICTIONS, *TABLES}


def test_every_kind_of_learner_is_in_one_of_them():
    cards = [json.loads(path.read_text()) for path in PLACE.glob("*/model.json")]
    assert {part["kind"] for card in cards for part in card.get("parts", ())} == {
        "line", "additive", "additive logistic", "logistic", "boosted trees", "trees", "forest", "constant", "network",
    }  # fmt: skip


@pytest.mark.parametrize("name", PREDICTIONS)
def test_estimators_predict_as_in_0_2(name):
    limit = 1e-6 if name in SINGLE else 1e-12
    np.testing.assert_allclose(predict(rpo.load(PLACE / name), ROWS), PREDICTIONS[name], rtol=limit, atol=limit)


@pytest.mark.parametrize("name", TABLES)
def test_tables_predict_as_in_0_2(name):
    limit = 1e-6 if name in SINGLE else 1e-12
    predicted = predict_table(load_model(PLACE / name), ROWS)[0]
    known = pd.read_csv(PLACE / f"{name}.csv")
    assert predicted.columns.tolist() == known.columns.tolist()
    pd.testing.assert_frame_equal(predicted, known, rtol=limit, atol=limit, check_dtype=False)


@pytest.mark.parametrize("name", [*PREDICTIONS, *TABLES])
def test_saved_again_they_are_the_same_but_for_the_versions(name, tmp_path):
    if name in TABLES:
        save_model(load_model(PLACE / name), tmp_path / name)
    else:
        rpo.load(PLACE / name).save(tmp_path / name)
    for path in (PLACE / name).iterdir():
        again = (tmp_path / name / path.name).read_bytes()
        if path.name in ("model.json", "network.json"):
            before, after = json.loads(path.read_bytes()), json.loads(again)
            before.pop("versions"), after.pop("versions")
            assert json.dumps(after) == json.dumps(before)
        elif path.name == "README.md":  # its last line has versions
            assert again.decode().splitlines()[:-1] == path.read_text().splitlines()[:-1]
        elif path.name != "manifest.json":
            assert again == path.read_bytes(), path.name
