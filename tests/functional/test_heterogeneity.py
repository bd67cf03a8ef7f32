"""Slopes by domain: what differs is found, what one row alone says is not; screening never drops everything."""

import numpy as np
from scipy.stats import chi2

from rpo.functional.heterogeneity import FEWEST, heterogeneity, screen


def different(x, y, domain, weight=None, importance=None, cell=None, *, min_rows=FEWEST):
    """The p of every feature, whatever carries its slopes."""
    return heterogeneity(y, x, domain, int(max(domain)) + 1, weight, importance, cell, fewest=min_rows, carrying=0.0).p


def confounded(seed, n=600, features=10):
    """Feature 0 follows y with slopes 1, .6, .3; the nine others have the same relation in every domain."""
    rng = np.random.default_rng(seed)
    domain = np.arange(n) % 3
    X = rng.normal(size=(n, features))
    y = X[:, 1:4].sum(1) + rng.normal(size=n)
    X[:, 0] = np.array([1.0, 0.6, 0.3])[domain] * y + 0.2 * rng.normal(size=n)
    return X, y, domain


def test_drops_the_confounder_and_at_most_one_other_in_95_of_100_seeds():
    good = 0
    for seed in range(100):
        kept = screen(*confounded(seed))
        good += not kept[0] and kept[1:].sum() >= 8
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


def test_never_drops_everything_and_lives_with_little():
    X, y, domain = confounded(0)
    assert screen(X[:, :1], y, domain).tolist() == [True]
    assert screen(np.column_stack([X[:, 0], np.ones(len(y))]), y, domain).tolist() == [False, True]
    assert screen(X, y, np.zeros(len(y))).all()
    assert screen(X[:4], y[:4], np.arange(4)).all()
    assert screen(X, X[:, 1], domain)[1]  # a perfect fit has no residual to judge by


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
        found["plain"] += not screen(X, y, domain)[0]
        found["important"] += not screen(X, y, domain, importance=np.where(noisy, 1 / 40, 1.0))[0]
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


def test_within_cells_steps_between_strata_are_not_taken_for_slopes_that_differ():
    """Weights that spare one end in one domain and the other in the next tilt a line that no cell tilts."""
    dropped = {"whole": 0, "within": 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, domain = rng.uniform(-2, 2, size=(900, 1)), np.arange(900) % 3
        stratum = np.digitize(x[:, 0], [-1, 0, 1])
        y = np.abs(stratum - 1.5) + 0.3 * rng.normal(size=900)
        trust = np.where(stratum == np.array([0, 3, 4])[domain], 0.05, 1.0)
        both = np.column_stack([x[:, 0], rng.normal(size=900)])  # one of two may go
        dropped["whole"] += not screen(both, y, domain, importance=trust)[0]
        dropped["within"] += not screen(both, y, domain, importance=trust, cell=4 * domain + stratum)[0]
    assert dropped["whole"] >= 18
    assert dropped["within"] <= 1


def test_domains_of_few_rows_are_not_asked():
    """With homes by the dozen, chance alone makes slopes look surer than they are."""
    rng = np.random.default_rng(0)
    domain = np.repeat(np.arange(100), 6)
    x = (rng.uniform(size=(600, 2)) < 0.8).astype(float)
    y = x[:, 0] + rng.normal(size=600)
    assert different(x, y, domain, np.ones(600), min_rows=3).max() < 1e-6
    assert different(x, y, domain, np.ones(600)).tolist() == [1, 1]
    assert screen(x, y, domain).all()


def test_a_block_at_a_time_gives_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    x, domain, cell = rng.normal(size=(300, 3)), rng.integers(0, 4, 300), rng.integers(0, 9, 300)
    y, trust = x.sum(1) + rng.normal(size=300), rng.uniform(0.1, 1, 300)
    whole = different(x, y, domain, np.ones(300), trust, cell)
    monkeypatch.setattr("rpo.mapped.BLOCK", 64)
    np.testing.assert_allclose(different(x, y, domain, np.ones(300), trust, cell), whole, rtol=1e-10)


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
