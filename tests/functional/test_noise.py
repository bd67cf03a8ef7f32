"""Intervals and tests of noise, against simulation."""

import numpy as np
import pytest

from rpo.functional.noise import differ, exceeds, interval, kurtosis

DRAWS = {
    "gauss": lambda rng, shape: rng.normal(size=shape),
    "t": lambda rng, shape: rng.standard_t(8, size=shape) / np.sqrt(8 / 6),
    "uniform": lambda rng, shape: rng.uniform(-np.sqrt(3), np.sqrt(3), size=shape),
}


@pytest.mark.parametrize("tail", DRAWS)
@pytest.mark.parametrize("n", [8, 40])
def test_intervals_cover_as_often_as_they_say(tail, n):
    rng = np.random.default_rng(n)
    squared = DRAWS[tail](rng, (4000, n)) ** 2
    cell = np.repeat(np.arange(4000), n)
    low, high = interval(np.sqrt(squared.mean(1)), np.full(4000, n), kurtosis(squared.ravel(), cell))
    assert np.mean((low < 1) & (high > 1)) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("tail", DRAWS)
def test_false_alarms_are_as_rare_as_they_say(tail):
    rng = np.random.default_rng(3)
    group = np.arange(600) % 12
    chances = []
    for _ in range(400):
        squared = DRAWS[tail](rng, 600) ** 2
        chances.append(differ(squared, group, kurtosis(squared, group)))
    assert np.mean(np.array(chances) < 0.05) < 0.1
    assert np.mean(chances) == pytest.approx(0.5, abs=0.1)


def test_one_group_against_the_rest():
    rng = np.random.default_rng(4)
    same = [
        exceeds(np.mean(rng.normal(size=20) ** 2), 20, np.mean(rng.normal(size=200) ** 2), 200, 3.0) for _ in range(500)
    ]
    assert np.mean(np.array(same) < 0.05) == pytest.approx(0.05, abs=0.03)
    assert exceeds(4.0, 40, 1.0, 400, 3.0) < 1e-8
    assert exceeds(0.0, 40, 0.0, 400, 3.0) > 0.05  # no noise at all is no reason to call anything noisy


def test_what_cannot_be_judged_is_not():
    assert kurtosis(np.ones(3), np.zeros(3, int)) == 3.0
    assert differ(np.ones(8), np.arange(8) // 4, 3.0) == 1.0
