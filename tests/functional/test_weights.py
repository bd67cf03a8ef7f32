"""Weights by quality: what they must keep, and the estimates that they make better."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rpo.functional.weights import beyond_ordinary, clip_ratio, informativeness, mean_one, precision, spread

CELLS = (3, 4)
noise = arrays(float, CELLS, elements=st.floats(0.05, 20.0))
counts = arrays(float, CELLS, elements=st.integers(0, 50).map(float))


@given(noise, counts)
def test_a_domain_counts_as_before(sigma, count):
    weight = mean_one(clip_ratio(precision(sigma)), count)
    np.testing.assert_allclose((count * weight).sum(1), count.sum(1), rtol=1e-9)
    assert (weight[count == 0] == 1).all()


@given(noise, counts, st.floats(0.1, 10.0))
def test_the_scale_of_the_noise_does_not_matter(sigma, count, scale):
    one, other = (mean_one(clip_ratio(precision(s)), count) for s in (sigma, scale * sigma))
    np.testing.assert_allclose(one, other, rtol=1e-9)


@given(noise)
def test_no_row_counts_more_than_the_ratio_times_another(sigma):
    weight = clip_ratio(precision(sigma), 20.0)
    assert (weight.max(1) / weight.min(1) <= 20 * (1 + 1e-12)).all()
    np.testing.assert_array_equal(clip_ratio(precision(sigma), 0), precision(sigma))


@given(noise)
def test_the_noisier_of_two_cells_never_counts_more(sigma):
    weight = clip_ratio(precision(sigma))
    order = np.argsort(sigma, axis=1)
    assert (np.diff(np.take_along_axis(weight, order, 1), axis=1) <= 1e-12).all()


def test_inverse_variances_are_the_best_weights_of_a_mean():
    """The variance of a weighted mean of two cells, by Monte-Carlo, at the weights and beside them."""
    rng = np.random.default_rng(0)
    sigma = np.array([[1.0, 3.0]])
    draws = rng.normal(size=(200_000, 2)) * sigma
    best = precision(sigma)[0]

    def variance(weight):
        return (draws @ (weight / weight.sum())).var()

    assert variance(best) == pytest.approx(1 / (1 / sigma**2).sum(), rel=0.02)
    assert variance(best) < min(variance(best * [1, 2]), variance(best * [2, 1]), variance(np.ones(2)))


@pytest.mark.parametrize("flipped", [0.0, 0.1, 0.3, 0.5])
def test_informativeness_of_flipped_classes(flipped):
    """A probability that knows the truth but for the flips has squared error ε(1 − ε): the weight is (1 − 2ε)²."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 400_000)
    label = np.where(rng.uniform(size=truth.size) < flipped, 1 - truth, truth)
    probability = np.where(truth == 1, 1 - flipped, flipped)
    sigma = np.sqrt(np.mean((label - probability) ** 2))
    assert informativeness([[sigma]], 0.25)[0, 0] == pytest.approx((1 - 2 * flipped) ** 2, abs=0.01)


def test_empty_cells_and_worthless_domains_change_nothing():
    weight = mean_one([[np.nan, 2.0], [0.0, 0.0]], [[0, 5], [3, 4]])
    np.testing.assert_array_equal(weight, np.ones((2, 2)))
    np.testing.assert_array_equal(clip_ratio([[np.nan, 2.0]], 20.0), [[np.nan, 2.0]])
    assert np.isnan(precision([[0.0]])).all()  # a cell that is fitted without any error says nothing of its noise


def test_the_spread_is_a_standard_error_of_the_logarithm():
    """log s² of 200 normal residuals, by Monte-Carlo."""
    squares = np.random.default_rng(2).normal(size=(20_000, 200)) ** 2
    low, high = spread([[1.0]], [[200]])
    assert np.log(squares.mean(1)).std() == pytest.approx(np.log(high / low)[0, 0], rel=0.03)


@given(noise, counts, st.floats(0.1, 10.0))
def test_only_noise_beyond_the_ordinary_is_weighed_down(sigma, count, scale):
    low, high = spread(sigma, count)
    weight = beyond_ordinary(precision(low), precision(high))
    assert ((weight == 1) | (weight < 0.5)).all()
    assert (weight > 0).all()
    quietest = sigma == sigma.min(0)
    assert (weight[quietest & (sigma <= np.median(sigma.min(0)))] == 1).all()
    low, high = spread(scale * sigma, count)
    other = beyond_ordinary(precision(low), precision(high))
    near = np.isclose(weight, 0.5, rtol=1e-6) | np.isclose(other, 0.5, rtol=1e-6)
    np.testing.assert_allclose(np.where(near, 1, other), np.where(near, 1, weight), rtol=1e-6)


def test_a_stratum_noisy_everywhere_is_its_nature_up_to_twice_the_others():
    sigma = np.ones((3, 5))
    sigma[:, 1] = np.sqrt(1.9)  # in every domain
    assert (beyond_ordinary(precision(sigma), precision(sigma)) == 1).all()
    sigma[:, 1] = np.sqrt(8)
    expected = np.ones((3, 5))
    expected[:, 1] = 2 / 8
    np.testing.assert_allclose(beyond_ordinary(precision(sigma), precision(sigma)), expected)


def test_equal_noise_is_left_alone_and_ninefold_noise_is_not():
    """Variances of 60 rows a cell, 1,000 times: chance weighs hardly anything down, and no bad cell is missed."""
    rng = np.random.default_rng(3)
    count, touched, missed = np.full((3, 5), 60), 0, 0
    for _ in range(1_000):
        scale = np.ones((3, 5))
        for bad in (False, True):
            scale[1, 2] = 3.0 if bad else 1.0
            sigma = scale * np.sqrt((rng.normal(size=(3, 5, 60)) ** 2).mean(2))
            low, high = spread(sigma, count)
            weight = beyond_ordinary(precision(low), precision(high))
            touched += not bad and bool((weight < 1).any())
            missed += bad and bool(weight[1, 2] == 1)
    assert touched <= 10
    assert missed == 0


def test_empty_cells_stay_empty_and_a_stratum_of_one_domain_has_no_other_to_be_measured_by():
    sigma = np.array([[1.0, np.nan, 1.2], [1.1, 1.0, np.nan]])
    np.testing.assert_array_equal(beyond_ordinary(precision(sigma), precision(sigma)), [[1, np.nan, 1], [1, 1, np.nan]])
