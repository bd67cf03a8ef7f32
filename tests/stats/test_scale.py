"""Scales of groups: each formula against draws of which the truth is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from rpo._stats.scale import Scales, between, exceeds, expected_variances, interval, log_variances, scales, shrunk


def drawn(sigma, freedom, seed=0):
    """Scales as normal rows would give them: ν s²/σ² ~ χ²_ν."""
    sigma, freedom = np.broadcast_arrays(np.asarray(sigma, float), np.asarray(freedom, float))
    s2 = sigma**2 * np.random.default_rng(seed).chisquare(freedom) / freedom
    return Scales(np.sqrt(s2), freedom.copy())


def test_scales_are_right_on_average_and_wild_rows_do_not_decide():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(200), 50)
    residual = rng.normal(size=len(group)) * np.repeat([1.0, 3.0], 100)[group]
    clean = scales(residual, group, 200).noise
    assert clean[:100].mean() == pytest.approx(1.0, abs=0.03)
    assert clean[100:].mean() == pytest.approx(3.0, abs=0.09)
    residual[::50] = 1e9
    assert scales(residual, group, 200).noise.max() < 6.0


def test_log_variances_have_no_bias_and_the_variance_they_state():
    found = log_variances(drawn(np.full(20_000, 2.0), 5.0))
    assert found.noise.mean() == pytest.approx(np.log(4.0), abs=0.02)
    assert found.noise.var() == pytest.approx(found.freedom[0], rel=0.05)


def test_the_interval_holds_the_noise_as_often_as_it_says():
    low, high = interval(drawn(np.ones(5_000), 12.0))
    assert np.mean((low < 1) & (high > 1)) == pytest.approx(0.95, abs=0.01)


def test_equal_noise_exceeds_the_rest_by_chance_alone():
    p = np.array([exceeds(drawn(np.ones(8), 30.0, seed))[0] for seed in range(800)])
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.025)


def test_between_finds_the_variance_that_was_drawn():
    rng = np.random.default_rng(1)
    variance = rng.uniform(0.1, 2.0, 4_000)
    value = 3 + rng.normal(size=4_000) * np.sqrt(0.5 + variance)
    mean, tau2 = between(value, variance)
    assert mean == pytest.approx(3.0, abs=0.06)
    assert tau2 == pytest.approx(0.5, abs=0.08)


def test_expected_variances_come_close_to_bayes_who_knows_the_prior():
    sigma = np.repeat([1.0, 5.0], [700, 300])
    found = drawn(sigma, 3.0)
    support, prior = np.array([1.0, 25.0]), np.array([0.7, 0.3])
    s2 = found.noise[:, None] ** 2
    posterior = prior * chi2.pdf(3 * s2 / support, 3) / support
    best = (posterior * support).sum(1) / posterior.sum(1)
    error = np.log(expected_variances(found) / best)
    assert np.sqrt(np.mean(error**2)) < 0.3
    # A normal prior of the logarithm draws noisy groups of few rows to the others, and quiet ones up.
    assert np.sqrt(np.mean(np.log(shrunk(found) ** 2 / best) ** 2)) > 0.5


def test_groups_of_equal_noise_are_drawn_together():
    found = expected_variances(drawn(np.ones(30), 20.0))
    assert found.max() / found.min() < 1.3


def test_a_group_without_rows_has_the_mean_of_all():
    sigma = np.repeat([1.0, 5.0], [70, 30])
    some = drawn(sigma, 200.0)
    found = expected_variances(Scales(np.append(some.noise, np.nan), np.append(some.freedom, 0.0)))
    assert found[-1] == pytest.approx(0.7 * 1 + 0.3 * 25, rel=0.1)


@given(st.lists(st.floats(0.1, 10.0), min_size=1, max_size=8), st.floats(0.01, 100.0), st.randoms())
def test_expected_variances_follow_the_unit_and_the_order(noise, unit, random):
    freedom = np.linspace(2.0, 30.0, len(noise))
    found = expected_variances(Scales(np.array(noise), freedom))
    assert (found > 0).all()
    scaled = expected_variances(Scales(unit * np.array(noise), freedom))
    np.testing.assert_allclose(scaled, unit**2 * found, rtol=1e-6)
    order = list(range(len(noise)))
    random.shuffle(order)
    moved = expected_variances(Scales(np.array(noise)[order], freedom[order]))
    np.testing.assert_allclose(moved, found[order], rtol=1e-6)
