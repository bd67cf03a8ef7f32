"""Columns made ready for learners: curves asked of rows without making their columns, bins that trees share."""

import numpy as np

from rpo._learners.bases import Basis, Binned, Coarse, Columns
from rpo._learners.learners import Additive, boosted, fit_boosted


def columns(seed=0, n=300):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=n), rng.exponential(size=n), rng.integers(0, 3, n)])


def test_the_value_of_curves_is_that_of_their_columns_also_beyond_the_data():
    x = columns()
    basis = Basis().fit(x)
    coef = np.random.default_rng(1).normal(size=basis.transform(x).shape[1])
    beyond = np.vstack([x, 3 * x, -2 * x])
    z = basis.standard(beyond)
    np.testing.assert_allclose(basis.value(z, coef), basis.expand(z) @ coef, atol=1e-9)


def test_columns_made_a_block_at_a_time_are_the_same(monkeypatch):
    x = columns()
    basis = Basis().fit(x)
    pairs = np.array([[0, 1], [1, 2]])
    coef = np.random.default_rng(1).normal(size=basis.transform(x).shape[1] + 2)
    held = Columns(basis, basis.standard(x))
    monkeypatch.setattr("rpo._mapped.BLOCK", 64)
    monkeypatch.setattr("rpo._learners.bases.BLOCK", 64)
    made = Columns(basis, basis.standard(x))
    for one in (held, made):
        one.add(pairs)
    assert held.every is not None
    assert made.every is None
    np.testing.assert_array_equal(made(slice(10, 20)), held(slice(10, 20)))
    np.testing.assert_allclose(made.value(coef, 2.0), held.value(coef, 2.0), atol=1e-9)
    y = x[:, 0] * x[:, 1] + x[:, 2]
    blockwise = Additive(trees=False).fit(x, y, domains=np.arange(300) % 3).predict(x)
    monkeypatch.undo()
    np.testing.assert_allclose(
        blockwise, Additive(trees=False).fit(x, y, domains=np.arange(300) % 3).predict(x), atol=1e-6
    )


def test_shared_bins_change_nothing_if_they_are_of_the_same_rows():
    x = columns(2)
    y = x[:, 0] ** 2 + x[:, 2]
    bins = Coarse().fit(x)
    alone, shared = boosted(), fit_boosted(boosted(), x, y, None, Binned(bins, bins.transform(x)))
    np.testing.assert_array_equal(shared.predict(x), alone.fit(x, y).predict(x))


def test_an_additive_model_with_levels_finds_them():
    rng = np.random.default_rng(3)
    x, domain = columns(3, 800), np.arange(800) % 8
    level = np.linspace(-2, 2, 8)
    y = np.sin(2 * x[:, 0]) + level[domain] + 0.2 * rng.normal(size=800)
    model = Additive(trees=False).fit(x, y, None, domain)
    np.testing.assert_allclose(model.offset_ - model.offset_.mean(), level, atol=0.1)
