"""Ridge regression by generalised cross-validation, against a plain solution of the same problem."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from rpo._stats.ridge import PENALTIES, gcv_ridge, moments, ridge_of


def table(seed=0, n=120, d=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * np.array([1.0, 10.0, 0.1, 1.0, 3.0])[:d] + 5
    return x, x[:, 0] - 0.2 * x[:, 1] + rng.normal(size=n), rng.uniform(0.2, 3, n), rng.integers(0, 4, n)


def plain(x, y, w, penalty):
    """scikit-learn's, on columns of deviation one, and the degrees of freedom."""
    w = w * len(y) / w.sum()
    middle = w @ x / len(y)
    scale = np.sqrt(w @ (x - middle) ** 2 / len(y))
    z = (x - middle) / scale
    model = Ridge(alpha=penalty * len(y)).fit(z, y, sample_weight=w)
    root = np.sqrt(w)[:, None] * (z - w @ z / len(y))
    values = np.linalg.svd(root, compute_uv=False) ** 2
    freedom = 1 + (values / (values + penalty * len(y))).sum()
    return model.predict(z), freedom, float(w @ (y - model.predict(z)) ** 2) / (len(y) - freedom) ** 2


@pytest.mark.parametrize("seed", range(3))
def test_the_penalty_with_the_least_gcv_and_its_line(seed):
    x, y, w, _ = table(seed)
    found = gcv_ridge(x, y, w)
    every = [plain(x, y, w, penalty) for penalty in PENALTIES]
    value, freedom, _ = every[int(np.argmin([gcv for _, _, gcv in every]))]
    np.testing.assert_allclose(found(x), value, atol=1e-8)
    assert found.freedom == pytest.approx(freedom)


@pytest.mark.parametrize("part", [0.0, 0.4, 1.0])
def test_taking_off_a_part_of_the_groups_means_is_the_same_as_doing_it_to_the_rows(part):
    x, y, w, group = table(4)
    x, y = x - np.average(x, axis=0, weights=w), y - np.average(y, weights=w)
    theta = np.array([part, part, part / 2, part])
    mass = np.bincount(group, w)
    mean = np.stack([np.bincount(group, w * column) for column in x.T], 1) / mass[:, None]
    rows = x - (theta[:, None] * mean)[group]
    target = y - (theta * np.bincount(group, w * y) / mass)[group]
    found = ridge_of(moments(x, y, w, group, 4), theta)
    asked = gcv_ridge(rows, target, w)
    np.testing.assert_allclose(found.coef, asked.coef, rtol=1e-6)
    assert found.freedom == pytest.approx(asked.freedom)


def test_what_is_the_same_throughout_every_group_has_no_part_once_means_are_gone():
    x, y, _, group = table(5)
    x = np.column_stack([x, group * 1e6])
    assert ridge_of(moments(x, y, None, group, 4), 1.0).coef[-1] == 0


def test_a_column_that_hardly_varies_within_groups_has_no_part_either():
    """One group of four has it vary, by a thousandth of what lies between groups: its slope there says nothing."""
    x, y, _, group = table(6)
    jitter = np.random.default_rng(6).normal(size=len(y))
    x = np.column_stack([x, group + np.where(group == 0, 1e-3 * jitter, 0.0)])
    of = moments(x, y + np.where(group == 0, 3 * jitter, 0.0), None, group, 4)
    assert ridge_of(of, 1.0).coef[-1] == 0
    assert ridge_of(of, 0.0).coef[-1] != 0


def test_a_block_of_columns_at_a_time_gives_the_same(monkeypatch):
    x, y, w, group = table(6)
    whole = moments(x, y, w, group, 4)
    monkeypatch.setattr("rpo._mapped.BLOCK", 32)
    for found in (moments(x, y, w, group, 4), moments(lambda rows: x[rows], y, w, group, 4)):
        for one, other in zip(found, whole, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
