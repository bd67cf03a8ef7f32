"""A few labels of a new domain: how far they move a model, no harm, and when a model of its own is better."""

import numpy as np
import pytest

from rpo import QualityClassifier, QualityRegressor
from rpo.exceptions import InputError

QUICK = {"weights": "off", "screen": "off", "verbose": False}


def table(seed, domains=25, rows=30, level=1.0, slope=0.0, own=0.0):
    """y = (1 + the domain's slope)(x₀ + x₁) + the domain's level + its own relation to x₂ + noise."""
    rng = np.random.default_rng(seed)
    domain = np.repeat(np.arange(domains), rows)
    X = rng.normal(size=(len(domain), 3))
    a, b, c = (size * rng.normal(size=domains)[domain] for size in (level, slope, own))
    return X, (1 + b) * (X[:, 0] + X[:, 1]) + a + c * X[:, 2] + rng.normal(size=len(domain)), domain


def ratio(model, X, y, domain, rows):
    """Mean squared error of adapted models over that of the model, on the rest of each domain."""
    errors = []
    for e in np.unique(domain):
        mine = np.flatnonzero(domain == e)
        some, rest = mine[:rows], mine[rows:]
        moved = model.adapt(X[some], y[some])
        if hasattr(model, "classes_"):
            pair = [((one.predict_proba(X[rest])[:, 1] - y[rest]) ** 2).sum() for one in (model, moved)]
        else:
            pair = [((one.predict(X[rest]) - y[rest]) ** 2).sum() for one in (model, moved)]
        errors.append(pair)
    before, after = np.sum(errors, axis=0)
    return after / before


@pytest.fixture(scope="module")
def levels():
    X, y, domain = table(0, domains=45)
    train = domain < 25
    return QualityRegressor("linear", **QUICK).fit(X[train], y[train], domains=domain[train]), X, y, domain, ~train


def test_more_labels_help_more_where_domains_differ_in_level(levels):
    model, X, y, domain, new = levels
    ratios = [ratio(model, X[new], y[new], domain[new], rows) for rows in (1, 5, 20)]
    assert 1.0 > ratios[0] > ratios[1] > ratios[2]
    assert ratios[2] < 0.65  # noise alone would be half


def test_where_domains_do_not_differ_labels_do_no_harm():
    X, y, domain = table(1, domains=40, level=0.0)
    train = domain < 25
    model = QualityRegressor("linear", **QUICK).fit(X[train], y[train], domains=domain[train])
    for rows in (1, 5, 15):
        assert ratio(model, X[~train], y[~train], domain[~train], rows) < 1.01


def test_a_slope_of_the_domains_own_is_learned():
    X, y, domain = table(2, domains=50, level=0.0, slope=0.6)
    train = domain < 30
    model = QualityRegressor("linear", **QUICK).fit(X[train], y[train], domains=domain[train])
    assert ratio(model, X[~train], y[~train], domain[~train], 15) < 0.8


def test_classes_move_by_their_log_odds():
    X, y, domain = table(3, domains=40, level=2.0)
    train = domain < 25
    model = QualityClassifier("linear", **QUICK).fit(X[train], y[train] > 0, domains=domain[train])
    label = (y > 0)[~train]
    assert ratio(model, X[~train], label, domain[~train], 10) < 0.9
    moved = model.adapt(X[:5], [True] * 5)
    assert (moved.predict_proba(X)[:, 1] > model.predict_proba(X)[:, 1]).all()
    np.testing.assert_allclose(moved.predict_proba(X).sum(1), 1)


def test_the_model_itself_is_left_as_it_was(levels):
    model, X, y, *_ = levels
    before = model.predict(X)
    moved = model.adapt(X[:10], y[:10] + 5)
    assert (moved.predict(X) > before + 0.5).all()
    np.testing.assert_array_equal(model.predict(X), before)
    assert moved.adaptation_.rows == 10
    with pytest.raises(InputError, match="already adapted"):
        moved.adapt(X[:10], y[:10])
    np.testing.assert_array_equal(moved.fit(X, y, domains=np.arange(len(y)) % 5).adaptation_ is None, True)


def test_intervals_of_an_adapted_model_are_shorter_and_hold(levels):
    model, X, y, domain, new = levels
    inside, widths = [], []
    for e in np.unique(domain[new]):
        mine = np.flatnonzero(domain == e)
        moved = model.adapt(X[mine[:12]], y[mine[:12]])
        low, high = moved.predict_interval(X[mine[12:]], 0.8).T
        inside.append(((low <= y[mine[12:]]) & (y[mine[12:]] <= high)).mean())
        widths.append((high - low).mean())
    assert np.mean(inside) > 0.74
    assert np.mean(widths) < 0.85 * np.diff(model.predict_interval(X[new], 0.8)).mean()
    with pytest.raises(InputError, match="does not support an adapted model"):
        moved.predict_interval(X, 0.8, method="model")


def test_weights_of_zero_are_absence(levels):
    model, X, y, *_ = levels
    one = model.adapt(X[:20], y[:20], np.repeat([1.0, 0.0], 10))
    np.testing.assert_allclose(one.predict(X), model.adapt(X[:10], y[:10]).predict(X))


def test_from_some_number_of_rows_on_a_model_of_its_own_is_better():
    X, y, domain = table(4, domains=10, rows=300, own=2.0)
    model = QualityRegressor("linear", **QUICK).fit(X, y, domains=domain)
    assert 10 <= model.own_rows_ <= 60
    with pytest.warns(UserWarning, match="a model fitted to this domain alone may do better"):
        model.adapt(X[:200], y[:200])
    X, y, domain = table(5, domains=10, rows=100)
    assert QualityRegressor("linear", **QUICK).fit(X, y, domains=domain).own_rows_ == np.inf


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda X, y: (X[:3], y[:2]), "inconsistent numbers of samples"),
        (lambda X, y: (X[:2], [1.0, np.nan]), "missing in 1 of 2 rows"),
        (lambda X, y: (X[:2], ["a", "b"]), "must be numeric"),
        (lambda X, y: (X[:2, :2], y[:2]), "features"),
    ],
)
def test_rows_that_are_none_are_refused(levels, change, words):
    model, X, y, *_ = levels
    with pytest.raises(ValueError, match=words):
        model.adapt(*change(X, y))


def test_classes_never_seen_and_single_domains_are_refused():
    X, y, domain = table(6, domains=4)
    model = QualityClassifier("linear", **QUICK).fit(X, np.where(y > 0, "high", "low"), domains=domain)
    with pytest.raises(InputError, match="y has class 'middle', which is not in the training data"):
        model.adapt(X[:2], ["high", "middle"])
    with pytest.warns(UserWarning, match="one training domain"):
        alone = QualityRegressor("linear", **QUICK).fit(X, y)
    with pytest.raises(InputError, match="fitted to one domain"):
        alone.adapt(X[:2], y[:2])
