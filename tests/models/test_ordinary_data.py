"""On ordinary data nothing is lost: curves under shift, rare classes, controls, large domains."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score, recall_score

from rpo import QualityClassifier, QualityRegressor
from rpo._table import prepare

TRUTHS = {
    "square": lambda x: x[:, 0] ** 2 + x[:, 1],
    "exponential": lambda x: np.exp(x[:, 0] / 2) + x[:, 1],
    "sine": lambda x: np.sin(2 * x[:, 0]) + x[:, 1],
    "interaction": lambda x: x[:, 0] * x[:, 1] + x[:, 2],
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_curves_under_shift_cost_no_feature_and_no_accuracy(truth, rng):
    """Domains of other means see other parts of a curve: that makes no feature suspicious."""
    domain = np.repeat(np.arange(5), 120)
    X = rng.normal(size=(600, 3)) + np.array([-2.0, -1.0, 0.0, 1.0, 2.0])[domain, None] * [1, 0.5, 0]
    clean = TRUTHS[truth](X)
    y = clean + 0.3 * clean.std() * rng.normal(size=600)
    held = domain == 2  # within the reach of the others
    model = QualityRegressor("trees").fit(X[~held], y[~held], domains=domain[~held])
    plain = QualityRegressor("trees", weights="off", screen="off").fit(X[~held], y[~held], domains=domain[~held])
    assert model.dropped_.empty
    assert r2_score(clean[held], model.predict(X[held])) > r2_score(clean[held], plain.predict(X[held])) - 0.01


def test_a_class_of_one_row_in_four_keeps_its_recall_and_its_probability(rng):
    domain = np.repeat(np.arange(6), 300)
    X = rng.normal(size=(1800, 4))
    p = 1 / (1 + np.exp(-(X[:, 0] + X[:, 1] - 1.5 + 0.4 * rng.normal(size=6)[domain])))
    y = rng.random(1800) < p
    new = rng.normal(size=(4000, 4))
    truth = rng.random(4000) < 1 / (1 + np.exp(-(new[:, 0] + new[:, 1] - 1.5)))
    for name in ("linear", "trees"):
        model = QualityClassifier(name).fit(X, y, domains=domain)
        plain = QualityClassifier(name, weights="off", screen="off").fit(X, y, domains=domain)
        recall = [recall_score(truth, one.predict(new)) for one in (model, plain)]
        assert abs(recall[0] - recall[1]) <= 0.02
        assert abs(model.predict_proba(new)[:, 1].mean() - plain.predict_proba(new)[:, 1].mean()) <= 0.01


def test_the_controls_differ_in_the_weights_alone_and_do_worse(rng):
    domain = np.arange(800) % 10
    X = rng.normal(size=(800, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + np.where(domain < 3, 4.0, 0.2) * rng.normal(size=800)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, d=domain.astype(str))
    made = QualityRegressor("trees").fit_with_controls(prepare(frame, target="y", domain="d"))
    new = rng.normal(size=(2000, 3))
    truth, table = new[:, 0] + np.sin(2 * new[:, 1]), pd.DataFrame(new, columns=list("abc"))
    error = {name: np.mean((model.predict(table) - truth) ** 2) for name, model in made.items()}
    assert error["quality"] < 0.7 * min(error["permuted"], error["uniform"])
    quiet = frame[~frame["d"].isin(["0", "1", "2"])]
    same = QualityRegressor("trees").fit_with_controls(prepare(quiet, target="y", domain="d"))
    assert same["permuted"] is same["uniform"] is same["quality"]


def test_weights_that_cost_large_domains_are_vetoed(rng):
    """Noise that grows with the size of what is predicted is the nature of large domains, which only they tell of."""
    size = np.exp(np.linspace(0, 4, 24))
    domain = np.repeat(np.arange(24), 15)
    x = size[domain] * rng.lognormal(sigma=0.3, size=360)
    y = x + 0.02 * x**2 + 0.2 * size[domain] * rng.normal(size=360)
    model = QualityRegressor("linear").fit(x[:, None], y, domains=domain)
    assert (model.quality_.weight < 1).any()
    assert model.candidate_ == "plain"
    assert (model.weight_ == 1).all()
    assert model.decision_["why"].str.contains("have full weight").any()


@pytest.mark.parametrize("seed", range(6))
def test_a_feature_that_is_the_target_stays(seed):
    """Nothing is left to explain but rounding, whose slopes differ between domains as they like."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3))
    model = QualityRegressor("linear").fit(X, X[:, 0], domains=np.arange(90) % 3)
    assert not model.quality_.features["suspicious"].any()
    assert model.dropped_.empty
    assert r2_score(X[:, 0], model.predict(X)) > 0.9999


def test_a_flagged_feature_that_carries_the_target_is_not_dropped(rng):
    """Three domains are too few to be sure of anything by their spread, but not of an error ten times as large."""
    domain = np.repeat(np.arange(3), 200)
    X = rng.normal(size=(600, 2))
    y = np.array([1.0, 1.02, 0.98])[domain] * X[:, 0] + 0.01 * rng.normal(size=600)
    model = QualityRegressor("linear").fit(X, y, domains=domain)
    assert model.quality_.features.set_index("feature").loc["x0", "suspicious"]
    assert model.dropped_.empty
    assert model.decision_["why"].str.contains("ten times").any()
