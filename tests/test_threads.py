"""One thread for what must not depend on their number."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rpo import QualityRegressor
from rpo._io import one_thread


def numbers(api):
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == api}


@pytest.fixture(autouse=True)
def _two_threads():
    limits = threadpool_limits(2)
    yield
    limits.restore_original_limits()


def test_within_there_is_one_thread_and_then_as_many_as_before():
    np.ones((2, 2)) @ np.ones((2, 2))
    with one_thread():
        assert numbers("blas") | numbers("openmp") == {1}
        with one_thread():
            assert numbers("blas") == {1}
        assert numbers("blas") == {1}
    assert numbers("blas") == numbers("openmp") == {2}


def test_a_model_is_the_same_by_one_thread_and_by_two(rng):
    X, domain = rng.normal(size=(400, 4)), np.arange(400) % 8
    y = X[:, 0] ** 2 + X[:, 1] * X[:, 2] + np.where(domain == 0, 3.0, 0.3) * rng.normal(size=400)
    found = []
    for number in (1, 2):
        threadpool_limits(number)
        found.append(QualityRegressor(verbose=False).fit(X, y, domains=domain))
    one, two = found
    np.testing.assert_array_equal(one.weight_, two.weight_)
    assert one.shares_ == two.shares_
    np.testing.assert_array_equal(one.held_out_, two.held_out_)
