"""Density and noise by cell: counted by hand, borrowed, shrunk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpo.functional.statistics import borrow, cell_weight, r_hat, shrink, sigma

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.floats(0, 100), st.integers(0, 3)), min_size=1, max_size=60
).filter(lambda rows: any(r[3] for r in rows))


@given(ROWS)
def test_cells_equal_a_loop(rows):
    e, k, value, weight = (np.array(column) for column in zip(*rows, strict=True))
    shape = {"n_domains": 4, "n_strata": 5, "weight": weight}
    count, density, noise = cell_weight(e, k, **shape), r_hat(e, k, **shape), sigma(value, e, k, **shape)
    for i in range(4):
        for j in range(5):
            cell = (e == i) & (k == j)
            assert count[i, j] == weight[cell].sum()
            if count[i, j]:
                assert density[i, j] == pytest.approx(weight[cell].sum() / weight[e == i].sum())
                expected = (weight[cell] * value[cell]).sum() / weight[cell].sum()
                assert noise[i, j] ** 2 == pytest.approx(expected, abs=1e-12)
            else:
                assert np.isnan(density[i, j])
                assert np.isnan(noise[i, j])


@given(ROWS)
def test_weights_are_repeats(rows):
    e, k, value, weight = (np.array(column) for column in zip(*rows, strict=True))
    again = np.repeat(np.arange(len(e)), weight)
    shape = {"n_domains": 4, "n_strata": 5}
    np.testing.assert_allclose(r_hat(e, k, weight=weight, **shape), r_hat(e[again], k[again], **shape))
    np.testing.assert_allclose(
        sigma(value, e, k, weight=weight, **shape), sigma(value[again], e[again], k[again], **shape)
    )


def test_densities_of_a_domain_sum_to_one(rng):
    density = r_hat(rng.integers(0, 3, 500), rng.integers(0, 7, 500))
    np.testing.assert_allclose(np.nansum(density, axis=1), 1)


def test_small_cells_borrow_from_their_stratum_then_from_all():
    noise = np.array([[1.0, 9.0, 7.0], [1.0, 2.0, np.nan]])
    count = np.array([[50, 1, 2], [50, 50, 0]])
    got = borrow(noise, count)
    assert got[0, 1] == pytest.approx(np.sqrt((81 + 4 * 50) / 51))
    everything = (50 + 81 + 2 * 49 + 50 + 4 * 50) / 153
    assert got[0, 2] == pytest.approx(np.sqrt(everything))
    assert np.isnan(got[1, 2])
    np.testing.assert_array_equal(got[:, 0], noise[:, 0])


def test_shrinking_recovers_equal_noise_and_keeps_real_differences(rng):
    n = rng.integers(5, 60, size=(6, 10))
    equal = np.sqrt([[(rng.normal(size=m) ** 2).mean() for m in row] for row in n])
    assert np.log(shrink(equal, n)).std() < 0.35 * np.log(equal).std()
    truth = np.where(np.arange(10) < 3, 3.0, 1.0) * np.ones((6, 1))
    uneven = equal * truth
    error = lambda s: np.sqrt(np.mean((np.log(s) - np.log(truth)) ** 2))  # noqa: E731
    assert error(shrink(uneven, n)) < error(uneven)
    assert shrink(uneven, n)[:, :3].min() > shrink(uneven, n)[:, 3:].max()


def test_shrinking_leaves_empty_and_noiseless_cells():
    noise = np.array([[0.0, np.nan, 1.0, 2.0]])
    got = shrink(noise, np.array([[10, 0, 10, 10]]))
    assert got[0, 0] == 0
    assert np.isnan(got[0, 1])
