"""Models as tables against the models themselves: the same to the last bits of a sum, at cuts, beyond the data, …"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from rpo._learners.crossfit import FoldModels, Problem, out_of_row
from rpo._learners.learners import boosted, get_learner
from rpo._learners.places import Places, Ranks
from rpo._learners.quick import Quick


def _rows(n, seed=0):
    """Normal, heavy-tailed, of large numbers, whole, binary, rare and constant columns."""
    rng = np.random.default_rng(seed)
    rare = np.zeros(n)
    rare[:3] = 1.0
    columns = [
        rng.normal(size=n),
        rng.standard_t(1.5, size=n),
        1.7e9 + rng.normal(size=n),
        rng.integers(0, 12, n),
        rng.integers(0, 2, n),
        rare,
        np.where(rng.uniform(size=n) < 0.6, 0.0, rng.exponential(size=n)),
        1e-6 * rng.normal(size=n),
    ]
    return np.column_stack([np.asarray(one, dtype=np.float64) for one in columns])


def _models(task, n=900):
    x = _rows(n)
    rng = np.random.default_rng(1)
    raw = x[:, 0] ** 2 + np.sin(3 * x[:, 0]) + x[:, 3] / 4 + x[:, 4] * x[:, 0] + (x[:, 2] - 1.7e9)
    domain = np.arange(n) % 3
    if task == 0:
        y = raw + rng.normal(size=n)
    else:
        noisy = raw + rng.logistic(size=n)
        y = np.searchsorted(np.quantile(noisy, np.arange(1, task) / task), noisy)
    found = out_of_row(Problem(x, y, domain, 3, task, np.ones(n)))
    return x, found.models


def _asked(x, models):
    """Rows never seen, far beyond, and exactly at and beside the cuts of the tables."""
    new = np.vstack([_rows(2_000, seed=5), x[:200], 1e3 * _rows(200, seed=6), -1e9 * _rows(50, seed=7)])
    quick = Quick.of(models.fits[0], models.shares, models.n_classes)
    for j, places in quick.places.items():
        at = places.cuts[:-1]
        some = new[np.arange(3 * len(at)) % len(new)]
        some[:, j] = np.concatenate([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)])
        new = np.vstack([new, some])
    return new


@pytest.mark.parametrize("task", [0, 2, 4])
def test_tables_say_what_the_models_say(task):
    x, models = _models(task)
    every = FoldModels(models.numbers, models.fits, models.offset, np.full(3, 1 / 3), models.n_classes)
    new = _asked(x, every)
    for place in range(2):
        quick = Quick.of(every.fits[place], every.shares, every.n_classes)
        assert quick is not None
        said, expected = quick(np.asfortranarray(new)), every.plain(place, new)
        np.testing.assert_allclose(said, expected, rtol=1e-11, atol=1e-11 * np.abs(expected[:2_000]).max())
        np.testing.assert_allclose(said[:7], quick(new[:7]), rtol=1e-13)  # whatever rows are beside them


@pytest.mark.parametrize("leaves", [5, 13, 31, 60])
def test_trees_of_any_size_that_bits_hold(leaves):
    x = _rows(1_500)
    y = np.sin(3 * x[:, 0]) * x[:, 4] + x[:, 3]
    model = boosted(max_iter=9, max_leaf_nodes=leaves).fit(x, y)
    quick = Quick.of([model], np.ones(1), 0)
    np.testing.assert_allclose(quick(x), model.predict(x), rtol=1e-12)


def test_learners_of_another_kind_are_asked_themselves():
    x = np.random.default_rng(0).normal(size=(4_000, 1))
    large = boosted(max_iter=1, max_leaf_nodes=90).fit(x, np.sin(9 * x[:, 0]))
    assert Quick.of([large], np.ones(1), 0) is None
    x = _rows(100)
    other = Ridge().fit(x, x[:, 0])
    assert Quick.of([other], np.ones(1), 0) is None
    line = get_learner("linear", classes=False).fit(x, x[:, 0])
    assert Quick.of([line, other], np.array([1.0, 0.0]), 0) is not None  # one without a part does not matter


numbers = st.floats(-1e38, 1e38)  # all that tables hold


@settings(max_examples=100, deadline=None)
@given(st.lists(numbers, max_size=20), st.lists(numbers, min_size=1, max_size=20))
def test_places_are_those_that_a_search_finds(cuts, x):
    places = Places.of(np.array(cuts, dtype=np.float64))
    given_ = np.array([*x, *cuts])
    np.testing.assert_array_equal(places(given_), np.searchsorted(np.unique(cuts), given_))


hashes = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30)


@settings(max_examples=100, deadline=None)
@given(hashes, hashes)
def test_ranks_are_those_that_a_search_finds(known, asked):
    every = np.unique(np.array(known, dtype=np.uint64))
    some = np.array([*asked, *known], dtype=np.uint64)
    np.testing.assert_array_equal(Ranks.of(every)(some), np.searchsorted(every, some))
