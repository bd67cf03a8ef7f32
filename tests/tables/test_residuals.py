"""Rows judged by models that have not seen them: the same as RPO's own first stage, with its predictions."""

from functools import partial

import numpy as np
import pytest
import torch

from rpo.datasets import make_uneven
from rpo.engine import Config, make_data, mlp
from rpo.engine.training import first_stage
from rpo.frames import prepare
from rpo.methods import get_method
from rpo.tables.residuals import FOLDS, HIDDEN, encoded, residuals
from tests.tables.test_judging import frame_of


@pytest.mark.parametrize("rows, task", [(60, "regression"), (200, "classification")])
def test_it_is_rpos_first_stage(rows, task):
    frame = frame_of(make_uneven(rows_per_domain=rows, task=task, seed=1))
    ready = prepare(frame, target="y", domain="site", task=task)
    found = residuals(ready, seed=3, steps=30, progress=False)
    x = torch.from_numpy((ready.X - ready.X.mean(0)) / ready.X.std(0))
    y, kind, classes, scale = encoded(ready)
    data = make_data(x, torch.from_numpy(y), torch.from_numpy(found.domain), task=kind, n_classes=classes)
    method = get_method("rpo")
    numbers, options = method.fill({"scheme": "calibrated", "reduction": "mean", "folds": FOLDS})
    first = first_stage(
        method,
        partial(mlp, x.shape[1], data.n_outputs, HIDDEN),
        data,
        seeds=[3],
        numbers=numbers,
        options=options,
        config=Config(steps=30, dtype=torch.float64, progress=False),
    )
    assert found.lam == pytest.approx(float(first["lam"][0]))
    assert np.allclose(found.squared, first["residual"][0].numpy() * scale**2, rtol=1e-4)
    if task == "regression":
        assert np.allclose((ready.y - found.expected) ** 2, found.squared)


def test_a_row_does_not_see_itself():
    frame = frame_of(make_uneven(rows_per_domain=60, seed=1))
    changed = frame.copy()
    changed.loc[17, "y"] += 50.0
    before, after = (
        residuals(prepare(table, target="y", domain="site"), steps=30, progress=False) for table in (frame, changed)
    )
    # The deviation of the target sets the unit of training, so that equality is not exact.
    moved = np.abs(after.expected - before.expected)
    assert after.squared[17] > 40**2
    assert moved[17] < 5
