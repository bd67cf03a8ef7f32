"""Fitting in several threads at once gives what fitting alone gives, bit for bit."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from torch import nn

from rpo import DomainClassifier, DomainRegressor, RPOClassifier, RPORegressor
from rpo.engine.drawing import Seeded

THREADS = 8
COMMON = {"hidden": (8,), "steps": 12}


def own(row_shape, n_outputs):
    layers = [nn.Linear(row_shape[0], 6), nn.Tanh(), nn.Linear(6, n_outputs)]
    nn.init.orthogonal_(layers[0].weight)
    return nn.Sequential(*layers)


with Seeded(0):
    TEMPLATE = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
MODELS = {
    "rpo": lambda: RPORegressor(**COMMON),
    "rpo to the letter": lambda: RPORegressor(scheme="paper", strength=0.5, **COMMON),
    "rpo classes": lambda: RPOClassifier(batch_size=16, **COMMON),
    "rpo template": lambda: RPORegressor(module=TEMPLATE, steps=12),
    "rpo own": lambda: RPORegressor(module=own, steps=12),
    "mixup": lambda: DomainRegressor(method="mixup", batch_size=16, **COMMON),
    "dann": lambda: DomainClassifier(method="dann", batch_size=16, **COMMON),
    "mldg": lambda: DomainRegressor(method="mldg", **COMMON),
    "sagnet": lambda: DomainClassifier(method="sagnet", **COMMON),
}


def fitted(name, seed):
    rng = np.random.default_rng(seed)
    X, domains = rng.normal(size=(60, 3)), np.arange(60) % 3
    model = MODELS[name]().set_params(random_state=seed)
    y = X[:, 0] + 0.1 * X[:, 1] ** 2
    model.fit(X, y > 0 if hasattr(model, "predict_proba") else y, domains=domains)
    return {**model.params_, "prediction": model.predict(X)}


@pytest.fixture
def _often():
    """Threads change every few operations of Python."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_often")
def test_fits_in_threads_are_bit_for_bit_the_fits_alone():
    jobs = [(name, seed) for seed in range(2) for name in MODELS]
    alone = {job: fitted(*job) for job in jobs}
    together = Barrier(THREADS)

    def some(k):
        together.wait()
        # Each thread begins elsewhere, so that no two make the same model at the same moment.
        return {job: fitted(*job) for job in jobs[k::THREADS] + jobs[k + 1 :: THREADS]}

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(some, range(THREADS)))
    assert sum(map(len, found)) >= 2 * len(jobs) - THREADS
    for some in found:
        for job, got in some.items():
            assert all(np.array_equal(got[part], alone[job][part]) for part in got), job
