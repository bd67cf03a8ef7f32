"""What the Quality estimators promise: decisions, weights, frames, order, overruling."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neighbors import KNeighborsRegressor

from rpo import QualityClassifier, QualityRegressor
from rpo._models.decision import paired_p_value
from rpo.exceptions import InputError


@pytest.fixture
def noisy(rng):
    """Ten domains of 60 rows, three of which are noise for the most part; and clean rows of other domains."""
    X = rng.normal(size=(600, 3))
    domain = np.arange(600) % 10
    truth = X[:, 0] + np.sin(2 * X[:, 1])
    y = truth + np.where(domain < 3, 3.0, 0.2) * rng.normal(size=600)
    new = rng.normal(size=(1000, 3))
    return X, y, domain, new, new[:, 0] + np.sin(2 * new[:, 1])


def rmse(model, X, y):
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def test_noisy_domains_count_less_and_that_pays(noisy):
    X, y, domain, new, truth = noisy
    model = QualityRegressor("trees").fit(X, y, domains=domain)
    plain = QualityRegressor("trees", weights="off", screen="off").fit(X, y, domains=domain)
    assert model.weight_[domain < 3].max() < 0.5
    assert model.weight_[domain >= 3].min() == 1
    assert model.candidate_ == "weights"
    assert rmse(model, new, truth) < 0.9 * rmse(plain, new, truth)
    assert plain.quality_ is None
    assert (plain.weight_ == 1).all()


def test_the_table_of_candidates_says_what_was_compared(noisy):
    X, y, domain, *_ = noisy
    table = QualityRegressor("linear").fit(X, y, domains=domain).decision_
    assert table["candidate"].tolist() == ["plain", "weights"]
    assert table["chosen"].sum() == 1
    assert (table["error"] > 0).all()
    assert table["why"].str.len().min() > 0


def test_what_to_expect_stands_beside_stock_learners(noisy):
    X, y, domain, *_ = noisy
    expected = QualityRegressor("linear").fit(X, y, domains=domain).expected_error_
    assert expected.index.tolist() == ["quality", "linear", "trees", "mean"]
    assert expected.loc["quality", "worst_domain"] in (0, 1, 2)
    assert expected.loc["quality", "error"] < expected.loc["mean", "error"]


@pytest.mark.parametrize("installed, larger", [(True, "lightgbm"), (False, "trees")])
def test_the_stack_uses_the_learner_that_fits(rng, monkeypatch, installed, larger):
    monkeypatch.setattr("rpo._learners.stacking.find_spec", lambda name: object() if installed else None)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=400)
    model = QualityRegressor().fit(X, y, domains=np.arange(400) % 8)
    assert set(model.shares_) == {"linear", "additive", "small trees", larger, "extra trees"}
    assert sum(model.shares_.values()) == pytest.approx(1)
    assert model.shares_["linear"] + model.shares_["additive"] > 0.9
    assert model.expected_error_.loc["quality", "error"] < 0.12


def test_a_confounder_goes_and_may_be_kept(rng):
    """Its slope on what is left differs between domains by more than any curve's would."""
    domain = np.repeat([0, 1, 2], 300)
    X = rng.normal(size=(900, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=900)
    confounder = np.array([1.0, -0.2, 0.6])[domain] * y + 0.2 * rng.normal(size=900)
    X = np.column_stack([X, confounder])
    model = QualityRegressor("linear").fit(X, y, domains=domain)
    assert model.dropped_["feature"].tolist() == ["x2"]
    assert (model.dropped_[["error_with", "error_without"]] > 0).all(axis=None)
    kept = QualityRegressor("linear", screen="off").fit(X, y, domains=domain)
    assert kept.dropped_.empty
    away = X.copy()
    away[:, 2] = -away[:, 2]
    assert rmse(model, away, y) < rmse(kept, away, y)


def test_a_feature_stays_if_nothing_is_left_without_it(rng):
    """Its slopes differ, but the other column says nothing: a model without it would be the mean."""
    domain = np.repeat([0, 1, 2], 300)
    X = rng.normal(size=(900, 2))
    y = np.array([1.6, 0.6, 1.0])[domain] * X[:, 0] + 0.3 * rng.normal(size=900)
    model = QualityRegressor("linear").fit(X, y, domains=domain)
    assert model.quality_.features["suspicious"].tolist() == [True, False]
    assert model.dropped_.empty
    assert model.decision_["why"].str.contains("no model is better than the mean").any()
    assert QualityRegressor("linear", screen="on").fit(X, y, domains=domain).dropped_["feature"].tolist() == ["x0"]


def test_a_method_that_was_removed_says_what_to_use(rng):
    with pytest.raises(InputError, match=r"was removed in 0\.2: QualityRegressor"):
        QualityRegressor("rpo-weights").fit(rng.normal(size=(50, 2)), rng.normal(size=50), domains=np.arange(50) % 5)


@pytest.mark.parametrize("name", [pytest.param("auto", marks=pytest.mark.slow), "trees"])
def test_the_order_of_rows_changes_nothing(name, noisy, rng):
    X, y, domain, new, _ = noisy
    shuffled = rng.permutation(len(y))
    one = QualityRegressor(name).fit(X, y, domains=domain)
    other = QualityRegressor(name).fit(X[shuffled], y[shuffled], domains=domain[shuffled])
    np.testing.assert_array_equal(one.predict(new), other.predict(new))
    np.testing.assert_array_equal(one.weight_[shuffled], other.weight_)
    pd.testing.assert_frame_equal(
        one.held_out_.loc[shuffled].reset_index(drop=True), other.held_out_.reset_index(drop=True)
    )


def test_frames_with_text_dates_gaps_and_the_domain_as_a_column(rng):
    n = 200
    frame = pd.DataFrame(
        {
            "dose": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "drug": rng.choice(["a", "b"], n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 100, n), "D"),
            "hospital": rng.choice(["north", "south", "west"], n),
            "same": 1,
        }
    )
    y = (frame["drug"] == "b") + frame["dose"].fillna(0)
    model = QualityRegressor("linear").fit(frame, y, domains="hospital")
    assert list(model.domains_) == ["north", "south", "west"]
    assert model.left_out_ == {"same": "the same in every row"}
    assert "hospital" not in model.feature_names_in_
    with_domain, without = model.predict(frame), model.predict(frame.drop(columns="hospital"))
    np.testing.assert_array_equal(with_domain, without)
    assert np.abs(with_domain - y).max() < 0.1


def test_classes_have_names_and_calibrated_probabilities(rng):
    X = rng.normal(size=(2000, 3))
    p = 1 / (1 + np.exp(1.5 - X[:, 0]))
    y = np.where(rng.random(2000) < p, "ill", "well")
    model = QualityClassifier().fit(X, y, domains=np.arange(2000) % 5)
    assert model.candidate_ == "plain"
    found = model.expected_error_.loc["quality"]
    assert found["mean_probability"] == pytest.approx(found["share"], abs=0.01)
    assert np.corrcoef(model.predict_proba(X)[:, 0], p)[0, 1] > 0.95


def test_class_weight_is_passed_on(rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 1).astype(int)
    domains = np.arange(300) % 3
    plain = QualityClassifier("linear").fit(X, y, domains=domains)
    even = QualityClassifier("linear", class_weight="balanced").fit(X, y, domains=domains)
    assert even.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1


def test_any_estimator_is_taken_and_rows_are_drawn_where_it_takes_no_weights(noisy):
    X, y, domain, new, truth = noisy
    boosted = QualityRegressor(HistGradientBoostingRegressor(random_state=0)).fit(X, y, domains=domain)
    assert isinstance(boosted.estimator_, HistGradientBoostingRegressor)
    with pytest.warns(UserWarning, match="KNeighborsRegressor does not support sample_weight"):
        drawn = QualityRegressor(KNeighborsRegressor()).fit(X, y, domains=domain)
    plain = KNeighborsRegressor().fit(X, y)
    assert rmse(drawn, new, truth) < rmse(plain, new, truth)


def test_estimators_that_take_domains_get_them(noisy):
    X, y, domain, *_ = noisy

    class Telling(HistGradientBoostingRegressor):
        def fit(self, X, y, sample_weight=None, domains=None):
            self.seen_ = set(domains.tolist())
            return super().fit(X, y, sample_weight)

    model = QualityRegressor(Telling(max_iter=5, random_state=0)).fit(X, y, domains=domain)
    assert model.estimator_.seen_ == set(range(10))


def test_a_veto_needs_four_domains_and_certainty():
    even = np.ones(3)
    assert paired_p_value(even + 1, even, even) == 1
    many = np.linspace(1, 2, 12)
    assert paired_p_value(many * 1.1, many, np.ones(12)) < 0.001
    assert paired_p_value(many, many * 1.1, np.ones(12)) > 0.999
    one_domain = np.r_[100.0, np.full(11, 1e-6)]  # all but one of no weight: as good as one domain
    assert paired_p_value(many * 1.1, many, one_domain) == 1
