"""Slopes of residuals by domain: what differs is found, what one row alone says is not."""

import numpy as np

from rpo.functional.heterogeneity import heterogeneity


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
