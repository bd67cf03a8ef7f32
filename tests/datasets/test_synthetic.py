import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict

from rpo.datasets import make_uneven
from rpo.exceptions import InputError
from rpo.grouping import find_strata

TASKS = ("regression", "classification")


@pytest.mark.parametrize("task", TASKS)
def test_the_truth_is_true(task) -> None:
    data = make_uneven(rows_per_domain=60_000, task=task)
    sure = data.signal if task == "regression" else data.signal > 0
    error, cell = (data.y - sure) ** 2, data.domains * 6 + data.strata
    n = np.bincount(cell)
    measured = np.bincount(cell, error) / n
    if task == "regression":
        expected = data.sigma.ravel() ** 2
        standard_error = expected * np.sqrt(2 / n)
    else:  # the squared error of a sure guess is the flip rate p < ½, and σ² = p(1 − p)
        expected = (1 - np.sqrt(1 - 4 * data.sigma.ravel() ** 2)) / 2
        standard_error = data.sigma.ravel() / np.sqrt(n)
    assert np.abs((measured - expected) / standard_error).max() < 4
    assert data.sigma[data.bad].min() > 2 * data.sigma[~data.bad].max()
    assert np.var(data.signal) == pytest.approx(1.0, abs=0.2)


def test_bad_strata_are_scarce_everywhere_and_the_bad_domain_is_thinned() -> None:
    data = make_uneven()
    count = np.bincount(data.domains * 6 + data.strata).reshape(4, 6)
    good = [0, 2, 3, 5]
    assert (count[:, [1, 4]].max(axis=1) < 0.3 * count[:, good].min(axis=1)).all()
    assert count[1].sum() < 0.6 * np.delete(count, 1, axis=0).sum(axis=1).min()
    assert data.bad.tolist() == [[e == 1 or k in (1, 4) for k in range(6)] for e in range(4)]


def test_the_stratum_can_be_read_off_feature_0() -> None:
    data = make_uneven(seed=5)
    assert (np.floor(data.X[:, 0]) == data.strata).all()


def test_the_seed_decides_everything() -> None:
    first, again, other = make_uneven(seed=1), make_uneven(seed=1), make_uneven(seed=2)
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert not np.array_equal(first.y, other.y)


def test_the_spurious_slope_falls_from_domain_to_domain() -> None:
    data = make_uneven(rows_per_domain=4000)
    slope = [np.polyfit(data.signal[data.domains == e], data.X[data.domains == e, 4], 1)[0] for e in range(4)]
    np.testing.assert_allclose(slope, np.linspace(1, 0.3, 4), atol=0.06)
    assert make_uneven(spurious=False).X.shape[1] == 4


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 6, 3), (5, 2, 10)])
def test_every_cell_has_a_row(shape) -> None:
    data = make_uneven(*shape, bad_domain=None, bad_strata=())
    assert not data.bad.any()
    assert (np.bincount(data.domains * shape[1] + data.strata, minlength=shape[0] * shape[1]) > 0).all()


def test_the_search_finds_feature_0_from_the_residuals_of_a_model() -> None:
    found = []
    for seed in range(20):
        data = make_uneven(seed=seed)
        model = HistGradientBoostingRegressor(max_iter=30, random_state=0)
        residual = (data.y - cross_val_predict(model, data.X, data.y, cv=3)) ** 2
        found.append(0 in find_strata(data.X, residual, data.domains).features)
    assert sum(found) >= 19


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_domains": 0}, "at least 1"),
        ({"bad_domain": 4}, "bad_domain must .* got 4"),
        ({"bad_strata": (6,)}, "bad_strata"),
        ({"task": "ranking"}, "must be one of regression, classification"),
    ],
)
def test_bad_input_is_one_clear_line(bad, message) -> None:
    with pytest.raises(InputError, match=message):
        make_uneven(**bad)
