"""Noise of groups of numbers: what models miss in a new domain is told from it."""

import numpy as np
import pytest

from rpo._judging.noise import NumberNoise
from rpo._quality import quality
from rpo_lab.data.confounded import make_confounded


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
    assert noise_of(residual, domain).estimate_misfit(missed) == pytest.approx(tau**2, abs=0.25)


def test_domains_of_one_row_say_nothing_of_the_misfit():
    """Nobody can tell whether such a row is noisy or missed: thirty wild ones do not count."""
    rng = np.random.default_rng(1)
    domain = np.concatenate([np.repeat(np.arange(30), 40), np.arange(30, 60)])
    residual = np.concatenate([rng.normal(size=1200), np.zeros(30)])
    missed = np.concatenate([residual[:1200], np.full(30, 20.0)])
    assert noise_of(residual, domain).estimate_misfit(missed) < 0.2


def test_a_stratum_bad_in_every_domain_hides_no_bad_cell_and_blames_no_good_one():
    """Half of the cells of Wage get noise of three deviations: of stratum 0 all, of the third domain all but one."""
    data = make_confounded("wage", quality="cells", bad_share=0.5, label_noise=3.0, keep=1.0, columns="causal", seed=0)
    train = data.train
    assert data.bad[:, 0].all()
    assert data.bad[2].sum() == 4
    found = quality(train.X, train.y, domains=train.domain, strata=train.stratum, task="regression", verbose=False)
    bad = data.bad[train.domain, train.stratum]
    assert found.weight[bad].max() < 0.3
    assert (found.weight[~bad] == 1).all()


def test_what_a_stratum_has_in_most_domains_costs_nothing_up_to_twice_the_usual_variance():
    rng = np.random.default_rng(2)
    domain, stratum = np.repeat(np.arange(6), 400), np.tile(np.repeat([0, 1], 200), 6)
    for factor, spared in ((1.4, True), (4.0, False)):
        residual = rng.normal(size=len(domain)) * np.where(stratum == 1, factor, 1.0)
        weight = noise_of(residual, domain).weights(stratum, 2)
        assert (weight[:, 0] == 1).all()
        assert (weight[:, 1] == 1).all() == spared


def test_of_four_domains_three_may_be_bad():
    rng = np.random.default_rng(3)
    domain = np.repeat(np.arange(4), 200)
    residual = rng.normal(size=800) * np.where(domain == 1, 1.0, 6.0)
    weight = noise_of(residual, domain).weights(np.zeros(800, np.intp), 1)[:, 0]
    assert weight[1] == 1
    assert weight[[0, 2, 3]].max() < 0.1
