"""Conformal quantiles and p-values keep their promise for whichever domain is the new one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpo._stats.conformal import conformal_p, conformal_quantile, domains_needed, joint_p, quantiles_of_others, row_mass

SETS = st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=6), min_size=2, max_size=12)


@given(SETS, st.sampled_from([0.3, 0.5, 0.8, 0.9]))
def test_of_any_domains_the_mean_coverage_of_the_one_left_out_is_the_level_at_least(domains, level):
    """Not on average over draws, but for every set of domains: that is what the guarantee rests on."""
    covered = []
    for e, new in enumerate(domains):
        others = [scores for k, scores in enumerate(domains) if k != e]
        score = np.concatenate(others).astype(float)
        code = np.repeat(np.arange(len(others)), [len(one) for one in others])
        q = conformal_quantile(score, row_mass(code, np.ones(len(score))), level)
        covered.append(np.mean(np.array(new) <= q))
    assert np.mean(covered) >= level - 1e-9


@given(SETS, st.floats(0.05, 0.95))
def test_the_quantile_is_the_smallest_that_holds_the_level(domains, level):
    score = np.concatenate(domains).astype(float)
    mass = row_mass(np.repeat(np.arange(len(domains)), [len(one) for one in domains]), np.ones(len(score)))
    q = conformal_quantile(score, mass, level)
    below = [mass[score <= s].sum() for s in np.unique(score)]
    expected = [s for s, m in zip(np.unique(score), below, strict=True) if m >= level - 1e-9]
    assert q == (expected[0] if expected else np.inf)


@given(SETS, st.sampled_from([0.3, 0.5, 0.8, 0.9]))
def test_quantiles_of_all_others_are_the_quantile_of_each(domains, level):
    score = np.concatenate(domains).astype(float)
    code = np.repeat(np.arange(len(domains)), [len(one) for one in domains])
    count = 1.0 + (np.arange(len(score)) % 3)
    found = quantiles_of_others(score, code, count, level)
    for e in range(len(domains)):
        others = code != e
        rest = np.unique(code[others], return_inverse=True)[1]
        assert found[e] == conformal_quantile(score[others], row_mass(rest, count[others]), level)


def test_weights_count_as_rows_and_domains_count_alike():
    once = row_mass(np.array([0, 1, 1]), np.array([3.0, 2.0, 1.0]))
    np.testing.assert_allclose(once, [1 / 3, 2 / 9, 1 / 9])
    many = row_mass(np.repeat([0, 1], [1000, 1]), np.ones(1001))
    assert many[:1000].sum() == pytest.approx(many[1000])
    np.testing.assert_allclose(row_mass(np.array([0, 1]), np.ones(2), np.array([1.0, 0.5])).tolist(), [0.4, 0.2])


@given(st.integers(1, 400))
def test_as_many_domains_are_needed_as_a_level_takes(number):
    assert domains_needed(number / (number + 1)) == number


@given(st.lists(st.integers(0, 9), min_size=2, max_size=30))
def test_p_values_are_never_small_too_often(scores):
    every = np.array(scores, dtype=float)
    p = np.array([conformal_p(every[k], np.delete(every, k)) for k in range(len(every))])
    for count in range(1, len(every) + 1):
        assert (p <= count / len(every) + 1e-12).sum() <= count


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=25))
def test_a_joint_p_is_never_small_too_often(scores):
    every = np.array(scores, dtype=float)
    p = np.array([joint_p(every[k], np.delete(every, k, 0)) for k in range(len(every))])
    for count in range(1, len(every) + 1):
        assert (p <= count / len(every) + 1e-12).sum() <= count


def test_a_joint_p_finds_what_stands_out_in_one_score(rng):
    others = rng.normal(size=(99, 2))
    assert joint_p(np.array([0.0, 9.0]), others) <= 0.02
    assert joint_p(np.array([0.0, 0.0]), others) > 0.1
