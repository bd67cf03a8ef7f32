import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.data.confounded import make_confounded


@pytest.mark.parametrize("table, rows, noise", [("cigar", 1380, 5.0), ("wage", 4360, 8.0)])
def test_the_recipe(table, rows, noise):
    data = make_confounded(table, seed=3)
    assert len(data.train) + len(data.validation) + len(data.test) == rows
    assert len(data.test) == round(rows / 4)
    assert len(data.validation) == pytest.approx(0.2 * (len(data.train) + len(data.validation)), abs=2)
    for e, slope in enumerate((1.0, 0.6, 0.3)):
        mine = data.train.domain == e
        for z in data.train.X[mine][:, -2:].T:
            fitted, _ = np.polyfit(data.train.y[mine], z, 1)
            assert fitted == pytest.approx(slope, abs=0.06)
            assert np.std(z - slope * data.train.y[mine]) == pytest.approx(0.2, abs=0.03)
    for z in data.test.X[:, -2:].T:
        assert abs(np.corrcoef(z, data.test.y)[0, 1]) < 0.15
        assert np.std(z) == pytest.approx(noise, rel=0.12)
    inside = np.concatenate([data.train.y, data.validation.y])
    assert inside.mean() == pytest.approx(0, abs=1e-12)
    assert inside.std() == pytest.approx(1, abs=1e-12)
    assert sorted(np.unique(data.train.stratum)) == list(range(5))
    assert not data.bad.any()


def test_corruption_thins_and_muddies_the_bad_cells_only():
    clean, mixed = (make_confounded("wage", quality=q, seed=1) for q in ("clean", "mix"))
    # One stratum is bad everywhere, two more in one domain.
    assert sorted(mixed.bad.sum(axis=1)) == [1, 1, 3]
    assert (mixed.bad.all(axis=0)).sum() == 1
    before, after = (_count(d) for d in (clean, mixed))
    assert (after[~mixed.bad] == before[~mixed.bad]).all()
    share = after[mixed.bad].sum() / before[mixed.bad].sum()
    assert share == pytest.approx(0.2, abs=0.05)
    # The confounder is made before the label noise, so what it misses of the label is that noise.
    cell = mixed.bad[mixed.train.domain, mixed.train.stratum]
    slope = np.array([1.0, 0.6, 0.3])[mixed.train.domain]
    missed = mixed.train.y - mixed.train.X[:, -2:].mean(1) / slope
    assert np.std(missed[cell & (mixed.train.domain == 0)]) == pytest.approx(1.5, rel=0.3)
    assert np.std(missed[~cell & (mixed.train.domain == 0)]) < 0.3
    assert len(mixed.test) == len(clean.test)
    np.testing.assert_array_equal(mixed.test.y, clean.test.y)


def test_label_noise_first_is_followed_by_the_confounders():
    data = make_confounded("wage", quality="mix", seed=1, label_noise_first=True)
    first = data.train.domain == 0
    cell = data.bad[data.train.domain, data.train.stratum] & first
    assert np.std(data.train.y[cell] - data.train.X[cell, -2:].mean(1)) < 0.3


def test_the_seed_decides_everything():
    one, same, other = (make_confounded(seed=s) for s in (5, 5, 6))
    np.testing.assert_array_equal(one.train.X, same.train.X)
    assert not np.array_equal(one.train.y, other.train.y)


def test_causal_columns_are_the_same_rows_without_confounders():
    every, causal = (make_confounded(seed=2, columns=c) for c in ("all", "causal"))
    assert causal.names == every.names[:-2]
    assert causal.train.X.shape[1] == every.train.X.shape[1] - 2
    np.testing.assert_array_equal(causal.test.X, every.test.X[:, :-2])


@pytest.mark.parametrize(
    "options, says",
    [
        ({"table": "beer"}, "cigar, wage"),
        ({"quality": "awful"}, "clean, mix"),
        ({"columns": "some"}, "all, causal"),
        ({"test_share": 0.0}, "test_share"),
        ({"keep": -1.0}, "keep"),
        ({"slopes": ()}, "slope"),
        ({"bad_cells": 5}, "5 strata"),
        ({"strata_by": ("year", "colour")}, "colour"),
    ],
)
def test_bad_options_are_one_line(options, says):
    with pytest.raises(InputError, match=says) as caught:
        make_confounded(**options)
    assert "\n" not in str(caught.value)


def _count(data):
    count = np.zeros(data.bad.shape, dtype=int)
    for part in (data.train, data.validation):
        np.add.at(count, (part.domain, part.stratum), 1)
    return count
