"""A network of the user's own, on tables and on images."""

import numpy as np
from torch import nn

from rpo import RPOClassifier, RPORegressor
from rpo.engine.drawing import Seeded


def test_a_template_module_on_a_table(rng):
    X = rng.normal(size=(90, 3))
    with Seeded(0):
        module = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    model = RPORegressor(module=module, steps=200).fit(X, X[:, 0], domains=np.arange(90) % 3)
    assert model.score(X, X[:, 0]) > 0.95
    assert set(model.params_) == {"0.weight", "0.bias", "2.weight", "2.bias"}


def test_a_convolution_on_images(rng):
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 1, 6, 6))
    X[:, 0, 2:4, 2:4] += 3 * y[:, None, None]

    def network(shape, outputs):
        return nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 16, outputs))

    model = RPOClassifier(module=network, steps=80).fit(X, y, domains=np.arange(120) % 3)
    assert model.score(X, y) > 0.9
