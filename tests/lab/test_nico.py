"""Photos as problems, and the ladder of ties."""

import numpy as np
import pytest
from torch import nn

from rpo.exceptions import InputError
from rpo_lab import nico
from rpo_lab.data.pictures import Album
from rpo_lab.data.tying import corrupted, tied
from rpo_lab.image_problems import as_problem
from rpo_lab.runner.store import Measured, Record


@pytest.fixture
def data(monkeypatch, tmp_path):
    monkeypatch.setenv("RPO_DATA", str(tmp_path))
    kind, context, _ = np.indices((6, 2, 40)).reshape(3, -1)
    album = Album(
        tuple("abcdef"),
        ("wood", "road"),
        (kind >= 3).astype(np.int8),
        kind.astype(np.int16),
        context.astype(np.int16),
        np.array([f"{i:064x}" for i in range(480)]),
        [str(i) for i in range(480)],
        lambda picture, size: np.random.default_rng(picture).integers(0, 256, (size, size, 3), dtype=np.uint8),
    )
    rng = np.random.default_rng(0)
    drawn = tied(album, (("wood",), ("road",)), ties=(0.9, 0.8), test_tie=0.1, rows=100, test_rows=60, rng=rng)
    return corrupted(album, *drawn, setting=13, keep=0.4, flip=0.5, rng=rng)


def test_features_are_standard_on_training_rows_and_home_has_true_labels(data, monkeypatch):
    monkeypatch.setattr("rpo_lab.features.get_backbone", lambda _: _tiny())
    problem = as_problem(data, "features", "tiny", 8)
    x = problem.train.x.numpy()
    assert x.shape[1] == 12
    np.testing.assert_allclose(x.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(x.std(0), 1, atol=1e-3)
    assert problem.train.n_domains == 2
    assert problem.train.n_strata == 12
    home, validation = problem.tests["home"], problem.validation
    rows = data.rows("validation")
    np.testing.assert_array_equal(home.y.numpy(), data.true_y[rows])
    np.testing.assert_array_equal(validation.y.numpy(), data.y[rows])
    assert (data.y[rows] != data.true_y[rows]).any()
    assert list(problem.tests) == ["test", "home"]
    assert problem.tests["test"].n_rows == 60


def _tiny():
    from rpo_lab.features import Backbone

    return Backbone(nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten()), size=4)


def test_pixels_lie_between_minus_one_and_one(data):
    problem = as_problem(data, "pixels", "lite0", 8)
    assert problem.train.row_shape == (3, 8, 8)
    assert -1 <= float(problem.train.x.min()) < float(problem.train.x.max()) <= 1
    with pytest.raises(InputError, match="inputs must .* got 'sound'"):
        as_problem(data, "sound", "lite0", 8)


def test_the_ladder_says_where_erm_falls_by_ten_points():
    studies = nico.ladders("quick")
    records = {}
    for study in studies.values():
        for place, row in enumerate(study.rows):
            for seed in study.seeds:
                run = study.candidates(row, study.settings[0], seed)[0]
                accuracy = {"home": 0.9 + 0.001 * seed, "test": 0.9 - 0.02 * place}
                measured = Measured(
                    validation_risk=[0.1, 0.1],
                    validation_irm=[0.0, 0.0],
                    test={name: {"accuracy": value} for name, value in accuracy.items()},
                )
                records[run.digest] = Record(run=run, status="done", measured=measured, seconds=1.0, versions={})
    lines = nico.ladder_lines(studies, records)
    assert len(lines) == 2 + 9 + 1
    assert lines[2].startswith("| features | 0.9, 0.8 → 0.1 | 0.901 | 0.900 | 0.001 |")
    assert [("**" in line) for line in lines[2:11]] == [False] * 5 + [True] * 4
