"""Effects of domains against maximum likelihood and posterior modes found by a general optimiser."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from rpo._stats.effects import Effects, class_effect, class_effects, moved, number_effect, number_effects


@pytest.fixture
def numbers(rng):
    domain = np.repeat(np.arange(12), rng.integers(3, 15, 12))
    z = np.column_stack([np.ones(len(domain)), rng.normal(size=len(domain))])
    u = rng.normal(size=(12, 2)) * [1.5, 0.5]
    weight = rng.uniform(0.5, 2.0, len(domain))
    return z, (z * u[domain]).sum(1) + rng.normal(size=len(domain)) / np.sqrt(weight), weight, domain


def test_variances_are_those_of_the_greatest_likelihood(numbers):
    z, r, w, domain = numbers

    def loss(log):
        t, noise = np.exp(log[:2]), np.exp(log[2])
        total = 0.0
        for e in range(12):
            rows = domain == e
            cov = z[rows] * t @ z[rows].T + np.diag(noise / w[rows])
            total -= multivariate_normal(np.zeros(rows.sum()), cov).logpdf(r[rows])
        return total

    best = np.exp(minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9}).x)
    found = number_effects(z, r, w, domain)
    np.testing.assert_allclose(found.variance, best[:2], rtol=0.02)
    assert found.noise == pytest.approx(best[2], rel=0.01)


def test_without_differences_between_domains_there_are_none(rng):
    domain = np.repeat(np.arange(40), 25)
    found = number_effects(np.ones((1000, 1)), rng.normal(size=1000), np.ones(1000), domain)
    assert found.variance[0] < 0.01
    assert abs(number_effect(found, np.ones((10, 1)), np.full(10, 1.0), np.ones(10))[0]) < 0.1


def test_one_row_moves_a_little_and_a_hundred_a_lot(numbers):
    z, r, w, domain = numbers
    found = number_effects(z, r, w, domain)
    design = np.column_stack([np.ones(100), np.zeros(100)])
    moves = [number_effect(found, design[:n], np.full(n, 2.0), np.ones(n))[0] for n in (1, 10, 100)]
    assert 0 < moves[0] < moves[1] < moves[2] < 2
    assert moves[2] > 1.9


def test_the_effect_of_classes_is_the_posterior_mode(rng):
    log_odds = rng.normal(size=(80, 3))
    label = rng.integers(0, 3, 80)
    weight = rng.uniform(0.5, 2.0, 80)
    prior = Effects(np.array([0.7, 0.7, 0.7, 0.3]), 0.0)

    def loss(u):
        p = moved(log_odds, u)[np.arange(80), label]
        return -(weight @ np.log(p)) + (u**2 / prior.variance).sum() / 2

    best = minimize(loss, np.zeros(4), tol=1e-12)
    found, variance = class_effect(prior, log_odds, label, weight)
    np.testing.assert_allclose(found, best.x, atol=1e-4)

    def smooth(u):
        log = torch.log_softmax((1 + u[-1]) * torch.tensor(log_odds) + u[:-1], 1)[torch.arange(80), torch.tensor(label)]
        return -(torch.tensor(weight) @ log) + (u**2 / torch.tensor(prior.variance)).sum() / 2

    curvature = torch.autograd.functional.hessian(smooth, torch.tensor(found))
    np.testing.assert_allclose(variance, np.linalg.inv(curvature.numpy()), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("spread", [0.0, 1.5])
def test_the_spread_of_classes_is_found(rng, spread):
    domain = np.repeat(np.arange(80), 60)
    offset = spread * rng.normal(size=80)
    base = rng.normal(size=4800)
    log_odds = np.column_stack([-base / 2, base / 2])
    label = (rng.random(4800) < 1 / (1 + np.exp(-base - offset[domain]))).astype(int)
    found = class_effects(log_odds, label, np.ones(4800), domain)
    assert np.sqrt(2 * found.variance[0]) == pytest.approx(spread, abs=0.3)
