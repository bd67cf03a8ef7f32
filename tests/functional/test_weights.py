"""Weights by quality: what they must keep, and the estimates that they make better."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rpo.functional.weights import clip_ratio, informativeness, mean_one, precision

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

    def spread(weight):
        return (draws @ (weight / weight.sum())).var()

    assert spread(best) == pytest.approx(1 / (1 / sigma**2).sum(), rel=0.02)
    assert spread(best) < min(spread(best * [1, 2]), spread(best * [2, 1]), spread(np.ones(2)))


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
