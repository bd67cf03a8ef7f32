"""Searching: `rpo.sweep`, one stack for a grid; `hyperparameters__name` for scikit-learn's searches."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold

import rpo
from rpo.exceptions import InputError

N = 120
DOMAINS = np.arange(N) % 3


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.2 * rng.normal(size=N)
    return X, y


def test_a_row_is_the_model_that_fit_gives(data):
    X, y = data
    other = X[::4], y[::4], DOMAINS[::4]
    model = rpo.DomainRegressor("coral", steps=20, hyperparameters={"lr": 0.02})
    table = rpo.sweep(model, X, y, domains=DOMAINS, grid={"gamma": [0.1, 10.0]}, seeds=[5, 7], validation=other)
    assert table.columns.tolist() == ["gamma", "seed", "risk", "worst", "failure"]
    assert table[["gamma", "seed"]].to_numpy().tolist() == [[0.1, 5], [0.1, 7], [10.0, 5], [10.0, 7]]
    for line in table.itertuples():
        alone = clone(model).set_params(hyperparameters__gamma=line.gamma, random_state=line.seed)
        wrong = (alone.fit(X, y, domains=DOMAINS).predict(other[0]) - other[1]) ** 2
        by_domain = [wrong[other[2] == e].mean() for e in range(3)]
        assert line.risk == pytest.approx(np.mean(by_domain), rel=1e-6)
        assert line.worst == pytest.approx(np.max(by_domain), rel=1e-6)
    assert not hasattr(model, "params_")  # the caller's estimator is left as it was


def test_classes_have_log_loss_and_accuracy(data):
    X, y = data
    label = np.where(y > 0, "yes", "no")
    model = rpo.DomainClassifier("irm-l2", steps=20)
    table = rpo.sweep(model, X, label, domains=DOMAINS, grid={"eta": [1.0]}, seeds=1, validation=(X, label))
    fitted = clone(model).set_params(hyperparameters__eta=1.0).fit(X, label, domains=DOMAINS)
    assert table["risk"][0] == pytest.approx(log_loss(label, fitted.predict_proba(X)), rel=1e-5)
    assert table["accuracy"][0] == pytest.approx(fitted.score(X, label))
    with pytest.raises(InputError, match="class 'perhaps', which is not in the training data"):
        rpo.sweep(model, X, label, domains=DOMAINS, grid={"eta": [1.0]}, validation=(X[:1], ["perhaps"]))


def test_without_validation_a_fifth_is_left_out_of_the_training(data):
    """Rows kept aside may say anything: the models do not change, their scores do."""
    X, y = data
    common = {"domains": DOMAINS, "grid": {"c": [1e-3]}, "seeds": 2}
    first = rpo.sweep(rpo.DomainRegressor(steps=20), X, y, **common)
    kept = np.array([bool(flag) for flag in _aside(X)])
    assert 0.1 < kept.mean() < 0.3
    spoilt = np.where(kept, y + 100, y)
    second = rpo.sweep(rpo.DomainRegressor(steps=20), X, spoilt, **common)
    assert (second["risk"] - first["risk"] > 9000).all()
    weight = np.where(kept, 0.0, 1.0)
    alone = rpo.DomainRegressor(steps=20).fit(X, y, weight, domains=DOMAINS)
    wrong = (alone.predict(X) - y) ** 2
    expected = np.mean([wrong[kept & (e == DOMAINS)].mean() for e in range(3)])
    assert first["risk"][0] == pytest.approx(expected, rel=1e-6)


def _aside(X):
    from rpo._networks.sweep import hold_out

    return hold_out(X, None)


def test_options_may_be_tried_too_and_a_list_of_combinations(data):
    X, y = data
    model = rpo.RPORegressor(steps=10, grouping="none", folds=2)
    grid = [{"strength": 1.0, "rescale": "divide"}, {"strength": 2.0, "rescale": "reset"}]
    table = rpo.sweep(model, X, y, domains=DOMAINS, grid=grid, seeds=1)
    assert table[["strength", "rescale"]].to_numpy().tolist() == [[1.0, "divide"], [2.0, "reset"]]
    assert np.isfinite(table["risk"]).all()


def test_a_training_that_fails_is_a_row_with_its_reason(data):
    X, y = data
    table = rpo.sweep(rpo.DomainRegressor(steps=20), X, y, domains=DOMAINS, grid={"lr": [1e-2, 1e200]}, seeds=1)
    assert table["failure"][0] == ""
    assert "not finite at step" in table["failure"][1]
    assert np.isnan(table["risk"][1])


@pytest.mark.parametrize(
    "more, said",
    [
        ({"grid": {"magic": [1]}}, "has no hyper-parameter 'magic'"),
        ({"grid": []}, "grid is empty"),
        ({"grid": {"gamma": [1.0]}, "seeds": 0}, "seeds is empty"),
        ({"grid": {"gamma": [1.0]}, "validation": (np.zeros((2, 3)), [1.0])}, "the validation data have 2 rows"),
    ],
)
def test_bad_input_is_one_line(data, more, said):
    with pytest.raises(InputError, match=said):
        rpo.sweep(rpo.DomainRegressor("coral", steps=2), *data, domains=DOMAINS, **more)


def test_a_grid_search_names_hyper_parameters(data):
    X, y = data
    model = rpo.DomainRegressor("coral", hyperparameters={"lr": 0.02}, steps=5)
    search = GridSearchCV(model, {"hyperparameters__gamma": [0.1, 1.0]}, cv=GroupKFold(3))
    search.fit(X, y, groups=DOMAINS, domains=DOMAINS)
    assert search.best_params_["hyperparameters__gamma"] in (0.1, 1.0)
    assert search.best_estimator_.hyperparameters == {
        "lr": 0.02,
        "gamma": search.best_params_["hyperparameters__gamma"],
    }
    assert model.get_params()["hyperparameters__lr"] == 0.02
    with pytest.raises(InputError, match="'coral' has no hyper-parameter 'eta'"):
        model.set_params(hyperparameters__eta=1.0).fit(X, y, domains=DOMAINS)
