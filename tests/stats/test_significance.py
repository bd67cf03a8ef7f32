import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rpo._stats.significance import compare, hedges, holm, paired, stars, welch

# Eight decimals: SciPy overflows, with a warning, where a mean is below 1e-300.
VALUE = st.floats(-100, 100).map(lambda value: round(value, 8))
VALUES = st.lists(VALUE, min_size=2, max_size=12)


def _varies(values):
    return np.ptp(values) > 1e-6


@given(VALUES.filter(_varies), VALUES.filter(_varies))
def test_welch_is_scipys(a, b):
    a, b = np.array(a), np.array(b)
    assert welch(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, nan_ok=True)


@given(VALUES, st.data())
def test_paired_is_scipys(a, data):
    b = np.array(data.draw(st.lists(VALUE, min_size=len(a), max_size=len(a))))
    a = np.array(a)
    if _varies(a - b):
        assert paired(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue)


def test_welch_by_hand():
    # Means 2 and 5, variances 1 and 4 over 3 values each: t = −3/√(5/3), and Satterthwaite's ν = 50/17.
    a, b = np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 7.0])
    t, freedom = -3 / np.sqrt(5 / 3), (5 / 3) ** 2 / ((1 / 9 + 16 / 9) / 2)
    assert freedom == pytest.approx(50 / 17)
    assert welch(a, b) == pytest.approx(2 * stats.t.sf(abs(t), freedom))


EQUAL, OTHER = np.array([2.0, 2.0, 2.0]), np.array([3.0, 3.0])


def test_equal_values_are_no_difference():
    assert (welch(EQUAL, EQUAL), paired(EQUAL, EQUAL), hedges(EQUAL, EQUAL)) == (1.0, 1.0, 0.0)


def test_no_variance_and_different_means_is_certain():
    assert welch(EQUAL, OTHER) == 0.0
    assert hedges(OTHER, EQUAL) == np.inf
    assert hedges(EQUAL, OTHER) == -np.inf
    assert paired(np.array([1.1, 2.3]) - 1.7, np.array([1.1, 2.3])) == 0.0


def test_no_variance_on_one_side_is_a_plain_t_test():
    varied = np.array([1.0, 2.0, 4.0])
    assert welch(varied, EQUAL) == pytest.approx(stats.ttest_1samp(varied, 2.0).pvalue)
    assert welch(varied, EQUAL) == welch(EQUAL, varied)


def test_two_seeds_are_enough_and_one_is_not():
    result = compare({0: 1.0, 1: 2.0}, {0: 5.0, 1: 7.0})
    assert result.p == pytest.approx(stats.ttest_ind([1, 2], [5, 7], equal_var=False).pvalue)
    assert result.p_paired == pytest.approx(stats.ttest_rel([1, 2], [5, 7]).pvalue)
    alone = compare({0: 1.0}, {0: 5.0, 1: 7.0})
    assert (alone.p, alone.p_paired, alone.effect, alone.difference) == (None, None, None, -5.0)
    assert np.isnan(compare({}, {0: 1.0}).difference)


def test_pairs_are_the_seeds_both_have():
    result = compare({0: 1.0, 1: 2.0, 2: 4.0, 7: 100.0}, {2: 1.0, 1: 1.5, 0: 0.5, 9: -50.0})
    assert result.p_paired == pytest.approx(stats.ttest_rel([1.0, 2.0, 4.0], [0.5, 1.5, 1.0]).pvalue)
    assert compare({0: 1.0, 1: 2.0}, {2: 1.0, 3: 2.0}).p_paired is None


def test_hedges_by_hand():
    # Difference 3, pooled deviation √2.5, correction 1 − 3/15.
    assert hedges(np.array([3.0, 5.0, 7.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(0.8 * 3 / np.sqrt(2.5))


def test_holm_by_hand():
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([None, 0.02]) == [None, 0.02]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.sampled_from([0.01, 0.05, 0.1]))
def test_holm_rejects_what_the_step_down_procedure_rejects(p, level):
    order, rejected = np.argsort(p, kind="stable"), set()
    for rank, place in enumerate(order):
        if (len(p) - rank) * p[place] > level:
            break
        rejected.add(place)
    assert {i for i, value in enumerate(holm(p)) if value <= level} == rejected


def test_stars_are_the_papers():
    assert [stars(p) for p in (0.0, 0.0099, 0.01, 0.0499, 0.05, 0.0999, 0.1, 1.0)] == [
        *["***"] * 2, *["**"] * 2, *["*"] * 2, "", "",
    ]  # fmt: skip
