"""Slopes by domain: what differs is found, what one row alone says is not."""

import numpy as np
from scipy.stats import chi2

from rpo._stats.heterogeneity import FEWEST, heterogeneity

SURE = 0.001  # for all features together


def different(x, y, domain, weight=None, importance=None, *, min_rows=FEWEST):
    """The p of every feature, whatever carries its slopes."""
    return heterogeneity(y, x, domain, int(max(domain)) + 1, weight, importance, fewest=min_rows, carrying=0.0).p


def surely(x, y, domain, importance=None):
    """Which features have slopes that differ for sure."""
    return different(x, y, domain, importance=importance) < SURE / x.shape[1]


def confounded(seed, n=600, features=10):
    """Feature 0 follows y with slopes 1, .6, .3; the nine others have the same relation in every domain."""
    rng = np.random.default_rng(seed)
    domain = np.arange(n) % 3
    X = rng.normal(size=(n, features))
    y = X[:, 1:4].sum(1) + rng.normal(size=n)
    X[:, 0] = np.array([1.0, 0.6, 0.3])[domain] * y + 0.2 * rng.normal(size=n)
    return X, y, domain


def test_finds_the_confounder_and_at_most_one_other_in_95_of_100_seeds():
    good = 0
    for seed in range(100):
        found = surely(*confounded(seed))
        good += bool(found[0] and found[1:].sum() <= 1)
    assert good >= 95


def test_equal_slopes_give_uniform_probabilities():
    """Under the hypothesis the p-values must not pile up near zero: 200 draws of 5 features, at 5 %."""
    p = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 5))
        p.append(different(X, X.sum(1) + rng.normal(size=300), np.arange(300) % 3, np.ones(300)))
    assert 0.03 < np.mean(np.concatenate(p) < 0.05) < 0.085


def test_q_by_hand():
    """One feature, two domains of four rows: slopes, HC0 variances and Q written out."""
    x = np.array([0.0, 1, 2, 3, 0, 1, 2, 3])
    y = np.array([0.0, 1, 3, 3, 0, 3, 3, 7])
    domain = np.repeat([0, 1], 4)
    slopes, variances = [], []
    for rows in (slice(0, 4), slice(4, 8)):
        c, t = x[rows] - 1.5, y[rows] - y[rows].mean()
        b = (c @ t) / (c @ c)
        slopes.append(b)
        variances.append(((c * (t - b * c)) ** 2).sum() / (c @ c) ** 2)
    w = 1 / np.array(variances)
    mean = (w @ slopes) / w.sum()
    q = w @ (np.array(slopes) - mean) ** 2
    np.testing.assert_allclose(different(x[:, None], y, domain, np.ones(8), min_rows=3), chi2.sf(q, 1))


def test_lives_with_little():
    X, y, domain = confounded(0)
    assert surely(np.column_stack([X[:, 0], np.ones(len(y))]), y, domain).tolist() == [True, False]
    assert different(X, y, np.zeros(len(y), dtype=int)).tolist() == [1] * 10
    assert different(X[:4], y[:4], np.arange(4)).tolist() == [1] * 10
    assert not surely(X, X[:, 1], domain)[1]  # a perfect fit has no residual to judge by


def test_weights_are_repeats():
    X, y, domain = confounded(1, n=120)
    weight = np.arange(120) % 3
    again = np.repeat(np.arange(120), weight)
    np.testing.assert_allclose(
        different(X, y, domain, weight.astype(float), min_rows=3),
        different(X[again], y[again], domain[again], np.ones(len(again)), min_rows=3),
        rtol=1e-9,
    )


def test_importance_makes_uneven_noise_no_obstacle():
    """Half the rows carry noise of deviation 6: known to be worth less, they no longer hide the slopes' difference."""
    found = {"plain": 0, "important": 0}
    for seed in range(40):
        X, y, domain = confounded(seed)
        noisy = np.random.default_rng([seed, 1]).uniform(size=len(y)) < 0.5
        y = y + np.where(noisy, 6 * np.random.default_rng([seed, 2]).normal(size=len(y)), 0)
        found["plain"] += bool(surely(X, y, domain)[0])
        found["important"] += bool(surely(X, y, domain, np.where(noisy, 1 / 40, 1.0))[0])
    assert found["important"] >= 38 > found["plain"] + 5


def test_importance_keeps_its_level_and_its_scale():
    p, other = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X, trust = rng.normal(size=(900, 5)), np.where(rng.uniform(size=900) < 0.5, 0.1, 1.0)
        y = X.sum(1) + rng.normal(size=900) / np.sqrt(trust)
        p.append(different(X, y, np.arange(900) % 3, np.ones(900), trust))
        other.append(different(X, y, np.arange(900) % 3, np.ones(900), 7 * trust))
    assert 0.03 < np.mean(np.concatenate(p) < 0.05) < 0.085
    np.testing.assert_allclose(p, other, rtol=1e-8)


def test_domains_of_few_rows_are_not_asked():
    """With homes by the dozen, chance alone makes slopes look surer than they are."""
    rng = np.random.default_rng(0)
    domain = np.repeat(np.arange(100), 6)
    x = (rng.uniform(size=(600, 2)) < 0.8).astype(float)
    y = x[:, 0] + rng.normal(size=600)
    assert different(x, y, domain, np.ones(600), min_rows=3).max() < 1e-6
    assert different(x, y, domain, np.ones(600)).tolist() == [1, 1]


def test_domains_in_which_few_rows_are_trusted_are_not_asked():
    """Four rows that say a thousand times as much as the others are four rows, whatever the domain has."""
    rng = np.random.default_rng(0)
    x, domain = rng.normal(size=(600, 1)), np.repeat([0, 1, 2], 200)
    trust = np.where((domain == 0) & (np.arange(600) % 50 > 0), 1e-4, 1.0)
    found = heterogeneity(rng.normal(size=600), x, domain, 3, np.ones(600), trust)
    assert np.isnan(found.slope[0, 0])
    assert np.isfinite(found.slope[1:, 0]).all()


def test_a_block_at_a_time_gives_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    x, domain = rng.normal(size=(300, 3)), rng.integers(0, 4, 300)
    y, trust = x.sum(1) + rng.normal(size=300), rng.uniform(0.1, 1, 300)
    whole = different(x, y, domain, np.ones(300), trust)
    monkeypatch.setattr("rpo._mapped.BLOCK", 64)
    np.testing.assert_allclose(different(x, y, domain, np.ones(300), trust), whole, rtol=1e-10)


def test_a_category_of_one_row_per_domain_is_no_difference_of_slopes():
    """Its slope would be that row's residual, and its variance nothing."""
    rng = np.random.default_rng(0)
    domain = np.repeat(np.arange(6), 100)
    rare = (np.arange(600) % 100 == 0).astype(float)
    common = (np.arange(600) % 2 == 0).astype(float)
    u = rng.normal(size=600) + 6 * rare * np.where(domain % 2, 1, -1)
    found = heterogeneity(u, np.column_stack([rare, common]), domain, 6)
    assert found.share[0] == 0
    assert found.p[0] == 1
    assert np.isnan(found.slope[:, 0]).all()
    assert np.isfinite(found.slope[:, 1]).all()


def test_slopes_of_few_but_enough_rows_are_compared():
    rng = np.random.default_rng(1)
    domain = np.repeat(np.arange(4), 60)
    some = (np.arange(240) % 6 == 0).astype(float)
    u = 0.3 * rng.normal(size=240) + 2 * some * np.array([1, -1, 1, -1])[domain]
    found = heterogeneity(u, some[:, None], domain, 4)
    assert found.share[0] > 0.5
    assert found.p[0] < 1e-6


def test_a_row_of_weight_two_is_two_rows_also_in_the_share():
    X, y, domain = confounded(2, n=240)
    weight = np.arange(240) % 3
    again = np.repeat(np.arange(240), weight)
    one = heterogeneity(y, X, domain, 3, weight.astype(float))
    other = heterogeneity(y[again], X[again], domain[again], 3)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
