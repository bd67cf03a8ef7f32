"""`fit(…, checkpoint=folder)`: stopped in either stage, the same call ends with the same model."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
from torch import nn

import rpo
from rpo.exceptions import InputError


class Trigger(nn.Module):
    """Passes its input on, and sends this process SIGTERM at its n-th call."""

    at, calls = 0, 0

    def forward(self, x):
        Trigger.calls += 1
        if Trigger.calls == Trigger.at:
            os.kill(os.getpid(), signal.SIGTERM)
        return x


def network(row_shape, n_outputs):
    return nn.Sequential(nn.Linear(row_shape[0], 8), nn.ReLU(), Trigger(), nn.Linear(8, n_outputs))


def fit(folder, at=0, seed=0):
    Trigger.at, Trigger.calls = at, 0
    rng = np.random.default_rng(0)
    X, domains = rng.normal(size=(150, 3)), np.arange(150) % 3
    y = X[:, 0] + rng.normal(size=150) * np.where(domains == 2, 2.0, 0.1)
    model = rpo.RPORegressor(module=network, steps=40, random_state=seed)
    return model.fit(X, y, domains=domains, checkpoint=folder), X


def test_stopped_in_either_stage_the_same_call_ends_with_the_same_model(tmp_path):
    whole, X = fit(None)
    at, kept, model = Trigger.calls // 5, [], None
    while model is None:
        try:
            model, _ = fit(tmp_path, at)
        except SystemExit as stopped:
            kept.append((stopped.code, (tmp_path / "training-0.safetensors").exists()))
    assert set(kept) == {(143, False), (143, True)}  # in stage 1, before the strata are looked for, and in stage 2
    assert np.array_equal(model.predict(X), whole.predict(X))
    assert np.array_equal(model.loss_curve_, whole.loss_curve_)
    pd.testing.assert_frame_equal(model.quality_, whole.quality_, check_exact=True)


def test_another_fit_is_refused_in_one_line(tmp_path):
    fit(tmp_path)
    with pytest.raises(InputError, match="another training \\(different seeds\\)"):
        fit(tmp_path, seed=1)
