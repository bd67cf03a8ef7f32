"""On ordinary data the default does no harm: what a plain network learns, it learns too."""

import numpy as np
import pytest
from torch import nn

from rpo import DomainClassifier, DomainRegressor, RPOClassifier, RPORegressor
from rpo.engine.drawing import Seeded
from rpo.exceptions import OneDomainWarning

TRUTHS = {
    "square": lambda x: x[:, 0] ** 2 + x[:, 1],
    "exponential": lambda x: np.exp(0.7 * x[:, 0]) + x[:, 1],
    "product": lambda x: x[:, 0] * x[:, 1] + x[:, 2],
    "sine": lambda x: 2 * np.sin(1.5 * x[:, 0]) + x[:, 1],
}


def exact_score(seed, **options):
    """R² where the target is the first feature, exactly: 90 rows, three domains."""
    X = np.random.default_rng(seed).normal(size=(90, 3))
    return RPORegressor(**options).fit(X, X[:, 0], domains=np.arange(90) % 3).score(X, X[:, 0])


def own_module():
    with Seeded(0):
        return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))


def test_a_feature_that_is_the_target_is_found():
    assert exact_score(0) > 0.95
    assert exact_score(1, module=own_module()) > 0.95


@pytest.mark.long
def test_a_feature_that_is_the_target_is_found_in_forty_of_forty_seeds():
    assert min(exact_score(seed) for seed in range(40)) > 0.95
    assert min(exact_score(seed, module=own_module()) for seed in range(40)) > 0.95


def loss_by_penalties(truth, seed, rows=60):
    """R² of ERM + lip at the same λ, less RPO's, on a fifth domain between the four it was trained on."""
    rng = np.random.default_rng(seed)
    domain = np.repeat(np.arange(4), rows)
    X = rng.normal(size=(4 * rows, 3)) + (domain - 1.5)[:, None]
    new = rng.normal(size=(1000, 3)) + rng.uniform(-1, 1)
    y, y_new = (TRUTHS[truth](x) + 0.3 * rng.normal(size=len(x)) for x in (X, new))
    ours = RPORegressor(random_state=seed).fit(X, y, domains=domain)
    same = DomainRegressor("erm-lip", hyperparameters={"lam": ours.penalties_.lam}, random_state=seed)
    return same.fit(X, y, domains=domain).score(new, y_new) - ours.score(new, y_new)


@pytest.mark.parametrize("truth", TRUTHS)
def test_curved_truths_under_shift(truth):
    assert loss_by_penalties(truth, 0) < 0.03


@pytest.mark.long
@pytest.mark.parametrize("truth", TRUTHS)
def test_curved_truths_under_shift_in_ten_of_ten_seeds(truth):
    assert max(loss_by_penalties(truth, seed) for seed in range(10)) < 0.03


def clean_classes(seed, rows):
    """One positive in four, three domains alike; the classes overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    y = rng.random(rows) < 1 / (1 + np.exp(1.35 - X[:, 0]))
    return X, y, np.arange(rows) % 3


def rare_class(seed, rows):
    """Mean predicted probability less the share of the positives, and recall on new rows less that of two networks."""
    X, y, domain = clean_classes(seed, rows)
    new, truth, _ = clean_classes(1000 + seed, 10_000)
    ours = RPOClassifier(random_state=seed).fit(X, y, domains=domain)
    lam = {"lam": ours.penalties_.lam}
    same = DomainClassifier("erm-lip", hyperparameters=lam, random_state=seed).fit(X, y, domains=domain)
    plain = DomainClassifier("erm-l2", random_state=seed).fit(X, y, domains=domain)
    recall = [model.predict(new)[truth].mean() for model in (ours, same, plain)]
    assert len(ours.strata_) == 1
    return ours.predict_proba(X)[:, 1].mean() - y.mean(), recall[0] - recall[1], recall[0] - recall[2]


def test_a_rare_class_of_clean_data():
    share, same, plain = rare_class(0, 900)
    assert abs(share) < 0.03
    assert min(same, plain) > -0.05


@pytest.mark.long
def test_a_rare_class_of_clean_data_in_ten_seeds():
    found = np.array([rare_class(seed, 900) for seed in range(10)])
    assert abs(found[:, 0]).max() < 0.03
    assert found[:, 1].min() > -0.05
    assert found[:, 2].mean() > -0.05  # a single network of the other kind differs by chance as much


def test_one_domain_tiny_domains_and_constant_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(120, 2)), np.ones(120)])
    y = X[:, 0] + 0.1 * rng.normal(size=120)
    with pytest.warns(OneDomainWarning):
        assert RPORegressor().fit(X, y).score(X, y) > 0.9
    assert RPORegressor().fit(X, y, domains=np.arange(120) // 2).score(X, y) > 0.9
    assert RPOClassifier().fit(X, y > 0, domains=np.arange(120) // 3).score(X, y > 0) > 0.9
