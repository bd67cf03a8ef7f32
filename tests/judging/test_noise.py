"""Noise of groups of numbers: what models miss in a new domain is told from it."""

import numpy as np
import pytest

from rpo.judging.noise import NumberNoise


def noise_of(residual, domain):
    n = int(domain.max()) + 1
    spent = 1 / np.bincount(domain)[domain]
    return NumberNoise(residual, residual, spent, np.ones(len(domain)), domain, n)


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_the_misfit_is_what_is_missed_beyond_the_noise(tau):
    rng = np.random.default_rng(0)
    domain = np.repeat(np.arange(60), 40)
    residual = rng.normal(size=len(domain))
    missed = residual + tau * rng.normal(size=60)[domain]
    assert noise_of(residual, domain).misfit(missed) == pytest.approx(tau**2, abs=0.25)


def test_domains_of_one_row_say_nothing_of_the_misfit():
    """Nobody can tell whether such a row is noisy or missed: thirty wild ones do not count."""
    rng = np.random.default_rng(1)
    domain = np.concatenate([np.repeat(np.arange(30), 40), np.arange(30, 60)])
    residual = np.concatenate([rng.normal(size=1200), np.zeros(30)])
    missed = np.concatenate([residual[:1200], np.full(30, 20.0)])
    assert noise_of(residual, domain).misfit(missed) < 0.2
