"""Anchor regression in closed form: against its formula, its limits, and as the learner of a Quality model."""

import numpy as np
import pytest

import rpo
from rpo._learners.learners import AnchorLine, Line
from rpo.exceptions import InputError


@pytest.fixture
def data(rng):
    domain = np.arange(400) % 4
    X = rng.normal(size=(400, 3)) + domain[:, None] * [1.0, 0.0, -0.5]
    y = X @ [1.0, -2.0, 0.5] + 0.7 * domain + 0.3 * rng.normal(size=400)
    return X, y, domain


@pytest.mark.parametrize("gamma", [0.0, 2.0, 50.0])
def test_it_minimises_its_formula(data, gamma):
    X, y, domain = data
    line = AnchorLine(gamma).fit(X, y, domains=domain).line_
    project = (domain[:, None] == domain) / 100.0

    def objective(coef):
        u = y - y.mean() - (X - X.mean(0)) @ coef
        inside = project @ u
        return ((u - inside) ** 2).sum() + gamma * (inside**2).sum()

    A = np.eye(400) - project + np.sqrt(gamma) * project
    exact = np.linalg.lstsq(A @ (X - X.mean(0)), A @ (y - y.mean()), rcond=None)[0]
    assert objective(line.coef) <= objective(exact) * (1 + 1e-3)
    np.testing.assert_allclose(line.coef, exact, atol=0.02)
    assert line.intercept == pytest.approx(y.mean() - X.mean(0) @ line.coef)


def test_gamma_one_is_the_plain_line_and_a_large_one_evens_mean_residuals(data):
    X, y, domain = data
    plain = Line().fit(X, y)
    np.testing.assert_allclose(AnchorLine(1.0).fit(X, y, domains=domain).line_.coef, plain.line_.coef, rtol=1e-9)
    np.testing.assert_allclose(AnchorLine(9.0).fit(X, y).line_.coef, plain.line_.coef, rtol=1e-9)  # one domain

    def spread(line):
        u = y - line.predict(X)
        return np.var([u[domain == e].mean() for e in range(4)])

    assert spread(AnchorLine(1e4).fit(X, y, domains=domain)) < 0.2 * spread(plain)


def test_weights_repeat_rows(data):
    X, y, domain = data
    weight = np.arange(400) % 3
    twice = np.repeat(np.arange(400), weight)
    one = AnchorLine().fit(X, y, weight, domains=domain).line_
    other = AnchorLine().fit(X[twice], y[twice], domains=domain[twice]).line_
    np.testing.assert_allclose(one.coef, other.coef, rtol=1e-3)
    assert one.intercept == pytest.approx(other.intercept, rel=1e-2)


def test_a_quality_model_takes_it_by_name_and_saves_it(data, tmp_path):
    X, y, domain = data
    model = rpo.QualityRegressor("anchor", weights="off", screen="off").fit(X, y, domains=domain)
    line = AnchorLine().fit(X, y, domains=domain)
    np.testing.assert_allclose(model.predict(X), line.predict(X), rtol=1e-6)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(rpo.load(tmp_path / "model").predict(X), model.predict(X))


def test_a_negative_gamma_is_refused(data):
    with pytest.raises(InputError, match="gamma must be a non-negative number, got -1"):
        AnchorLine(-1).fit(*data[:2])
