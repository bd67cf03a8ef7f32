"""Intervals for domains never seen: they hold, are wider where rows are noisier, and say what they cannot promise."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import rpo
from rpo import QualityClassifier, QualityRegressor
from rpo._models.intervals import half_width, smallest_sets
from rpo.exceptions import InputError

QUICK = {"weights": "off", "screen": "off", "verbose": False}


def made(seed, domains=30, rows=20, level=1.0, noise=lambda x: 1.0, classes=False):
    """y = x₀ + x₁ + the domain's own level + noise that may depend on x₂."""
    rng = np.random.default_rng(seed)
    domain = np.repeat(np.arange(domains), rows)
    X = rng.uniform(-1, 1, size=(len(domain), 3))
    y = X[:, 0] + X[:, 1] + level * rng.normal(size=domains)[domain] + noise(X[:, 2]) * rng.normal(size=len(domain))
    return X, (y > 0 if classes else y), domain


def fitted(X, y, domain, estimator="linear", **options):
    kind = QualityClassifier if y.dtype == bool else QualityRegressor
    weight = options.pop("sample_weight", None)
    return kind(estimator, **{**QUICK, **options}).fit(X, y, weight, domains=domain)


def coverage(model, X, y, level, **options):
    found = model.predict_interval(X, level, **options)
    if found.dtype == bool:
        return float(found[np.arange(len(y)), y.astype(int)].mean()), float(found.sum(1).mean())
    return float(((found[:, 0] <= y) & (y <= found[:, 1])).mean()), float((found[:, 1] - found[:, 0]).mean())


@pytest.mark.parametrize("classes", [False, True])
def test_new_domains_are_covered_where_intervals_by_rows_fall_short(classes):
    X, y, domain = made(0, domains=120, rows=25, level=2.0, classes=classes)
    train = domain < 24
    model = fitted(X[train], y[train], domain[train])
    covered, _ = coverage(model, X[~train], y[~train], 0.9)
    assert covered > 0.86
    if not classes:  # the usual way: what the model missed on its own rows
        rest = np.abs(y - model.predict(X))
        assert (rest[~train] <= np.quantile(rest[train], 0.9)).mean() < covered


def test_intervals_are_wider_where_rows_are_noisier():
    X, y, domain = made(1, level=0.2, noise=lambda x: np.where(x > 0, 2.0, 0.2))
    model = fitted(X, y, domain)
    new, truth, _ = made(2, level=0.2, noise=lambda x: np.where(x > 0, 2.0, 0.2))
    width = np.diff(model.predict_interval(new, 0.9), axis=1)[:, 0]
    assert width[new[:, 2] > 0.1].mean() > 3 * width[new[:, 2] < -0.1].mean()
    for side in (new[:, 2] > 0.1, new[:, 2] < -0.1):
        assert coverage(model, new[side], truth[side], 0.9)[0] > 0.84


def test_noise_that_is_the_same_everywhere_leaves_intervals_of_one_width():
    X, y, domain = made(3)
    model = fitted(X, y, domain)
    assert np.ptp(np.diff(model.predict_interval(X, 0.9), axis=1)) < 1e-9


def test_a_level_that_so_few_domains_cannot_promise_is_refused_with_what_it_takes():
    X, y, domain = made(4, domains=6)
    model = fitted(X, y, domain)
    assert model.max_level_ == pytest.approx(6 / 7)
    assert np.isfinite(model.predict_interval(X[:3], 0.85)).all()
    with pytest.raises(
        InputError, match=r"level 0.9 needs at least 9 training domains, but there are 6: the highest level is 0.857"
    ):
        model.predict_interval(X[:3], 0.9)
    assert np.isfinite(model.predict_interval(X[:3], 0.99, method="model")).all()
    for level in (0, 1, 90, "high", np.nan, True):
        with pytest.raises(InputError, match="level must be a number between 0 and 1"):
            model.predict_interval(X[:3], level)
    with pytest.raises(InputError, match="method must be one of conformal, model"):
        model.predict_interval(X[:3], method="magic")


@pytest.mark.long
@pytest.mark.parametrize("classes", [False, True])
def test_domains_as_normal_draws_serve_who_has_few(classes):
    covered = []
    for seed in range(4):
        X, y, domain = made(10 + seed, domains=34, rows=15, classes=classes)
        train = domain < 4
        covered.append(
            coverage(fitted(X[train], y[train], domain[train]), X[~train], y[~train], 0.9, method="model")[0]
        )
    assert np.mean(covered) > 0.85


def test_weights_are_repeats_and_a_weight_of_zero_is_absence():
    X, y, domain = made(5, domains=12, rows=20)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weight[domain == 3] = 0  # a whole domain
    weighted = fitted(X, y, domain, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = fitted(X[rows], y[rows], domain[rows])
    np.testing.assert_allclose(weighted.predict_interval(X, 0.8), repeated.predict_interval(X, 0.8), rtol=1e-7)
    assert weighted.max_level_ == pytest.approx(11 / 12)


def test_weights_that_are_no_whole_numbers_count_rows_within_their_domain():
    X, y, domain = made(6, domains=12, rows=20)
    small = np.abs(y - X[:, 0] - X[:, 1]) < 0.5
    light = fitted(X, y, domain, sample_weight=np.where(small, 1.0, 0.01))
    even = fitted(X, y, domain, sample_weight=np.ones(len(y)))
    assert half_width(light.reference_, 0.8) < half_width(even.reference_, 0.8)


def test_the_order_of_rows_does_not_matter():
    X, y, domain = made(7, domains=12, noise=lambda x: np.where(x > 0, 2.0, 0.2))
    order = np.random.default_rng(0).permutation(len(y))
    one, other = fitted(X, y, domain), fitted(X[order], y[order], domain[order])
    np.testing.assert_array_equal(one.predict_interval(X, 0.9), other.predict_interval(X, 0.9))


def _noisy(seed, bad, wild=20.0):
    X, y, domain = made(seed, domains=30, rows=20, level=0.3)
    rng = np.random.default_rng(seed + 1)
    return X, y + np.isin(domain, bad) * wild * rng.normal(size=len(y)), domain


def test_a_few_bad_domains_widen_nobodys_interval_beyond_what_the_others_reach():
    """Each counts 1/(E + 1), however many rows it has and however wild they are."""
    clean = fitted(*_noisy(8, []))
    for wild in (20.0, 2000.0):
        spoiled = fitted(*_noisy(8, [3, 17], wild), estimator=_Known())
        # 28 of 30 domains are as they were, and 0.8 of 31 are fewer: the interval ends among their rows.
        q = half_width(spoiled.reference_, 0.8)
        good = ~np.isin(spoiled.reference_.domain, [3, 17])
        assert q <= np.abs(spoiled.reference_.residual[good]).max()
        assert q < 1.6 * half_width(clean.reference_, 0.8)


class _Known(RegressorMixin, BaseEstimator):
    """y = x₀ + x₁."""

    def fit(self, X, y, sample_weight=None):
        self.fitted_ = True
        return self

    def predict(self, X):
        return X[:, 0] + X[:, 1]


def test_trusted_intervals_count_noisy_domains_by_their_weight():
    """For a new domain that is recorded as well as the good ones: nearly as wide as if no domain were noisy."""
    bad = list(range(0, 30, 3))
    model = fitted(*_noisy(9, bad, 3.0), weights="auto")
    assert (model.reference_.trust[bad] < 0.5).all()
    any_domain, trusted = (half_width(model.reference_, 0.8, trusted=flag) for flag in (False, True))
    clean = half_width(fitted(*_noisy(9, [])).reference_, 0.8)
    assert trusted < 1.4 * clean < any_domain
    X, y, _ = made(99, domains=200, rows=10, level=0.3)
    assert coverage(model, X, y, 0.8, trusted=True)[0] > 0.77


@pytest.mark.long
def test_noisy_domains_do_not_tell_where_rows_are_noisy():
    """A noisy domain that lies apart must not widen intervals of all rows that lie there."""
    X, y, domain = made(12, level=0.3)
    X[:, 2] = np.where(domain == 5, 0.9, X[:, 2])
    y = y + (domain == 5) * 10 * np.random.default_rng(0).normal(size=len(y))
    model = fitted(X, y, domain, weights="auto")
    width = np.diff(model.predict_interval(np.array([[0, 0, 0.9], [0, 0, -0.9]]), 0.8), axis=1)[:, 0]
    assert width[0] < 1.3 * width[1]


def test_one_domain_gives_intervals_for_its_new_rows():
    X, y, domain = made(13, domains=1, rows=600)
    new, truth = X[300:], y[300:]
    X, y, domain = X[:300], y[:300], domain[:300]
    with pytest.warns(rpo.exceptions.OneDomainWarning):
        model = fitted(X, y, domain)
    assert model.max_level_ == pytest.approx(300 / 301)
    assert coverage(model, new, truth, 0.9)[0] == pytest.approx(0.9, abs=0.07)


def test_sets_are_never_empty_and_shrink_with_the_level():
    X, y, domain = made(14, classes=True, level=0.3, noise=lambda x: 0.2)
    model = fitted(X, y, domain)
    sizes = [model.predict_interval(X, level).sum(1) for level in (0.3, 0.8, 0.95)]
    assert sizes[0].min() == 1
    assert (sizes[0] <= sizes[1]).all()
    assert (sizes[1] <= sizes[2]).all()


def test_the_smallest_sets_reach_their_level(rng):
    p = rng.dirichlet(np.ones(5), size=200)
    inside = smallest_sets(p, 0.7)
    total = (p * inside).sum(1)
    assert (total >= 0.7 - 1e-9).all()
    least = np.where(inside, p, np.inf).min(1)
    assert ((total - least < 0.7) | (inside.sum(1) == 1)).all()


@pytest.mark.parametrize("estimator, classes", [("linear", False), ("trees", False), ("linear", True)])
def test_what_is_saved_gives_the_same_to_the_last_bit(estimator, classes, tmp_path):
    X, y, domain = made(15, domains=12, rows=25, noise=lambda x: np.where(x > 0, 2.0, 0.2), classes=classes)
    model = fitted(X, y, domain, estimator)
    for name, one in {"model": model, "adapted": model.adapt(X[:9], y[:9])}.items():
        one.save(tmp_path / name)
        loaded = rpo.load(tmp_path / name)
        for method in ("conformal", "model") if name == "model" else ("conformal",):
            np.testing.assert_array_equal(
                loaded.predict_interval(X, 0.9, method=method), one.predict_interval(X, 0.9, method=method)
            )
        np.testing.assert_array_equal(loaded.predict(X), one.predict(X))
        assert (loaded.max_level_, loaded.own_rows_) == (one.max_level_, one.own_rows_)
        loaded.save(tmp_path / "again")
        assert (tmp_path / "again" / "weights.safetensors").read_bytes() == (
            tmp_path / name / "weights.safetensors"
        ).read_bytes()


@pytest.mark.slow
def test_a_method_of_the_registry_has_intervals_through_a_quality_model():
    X, y, domain = made(16, domains=10, rows=15)
    network = rpo.DomainRegressor("erm-l2", steps=30, verbose=False)
    model = QualityRegressor(network, **QUICK).fit(X, y, domains=domain)
    assert coverage(model, X, y, 0.8)[0] > 0.7


def test_frames_with_text_have_intervals():
    X, y, domain = made(17, domains=10, rows=15)
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=np.where(X[:, 0] > 0, "u", "v"), site=domain)
    model = QualityRegressor("linear", **QUICK).fit(frame, y, domains="site")
    assert model.predict_interval(frame.drop(columns="site")[:5], 0.8).shape == (5, 2)
