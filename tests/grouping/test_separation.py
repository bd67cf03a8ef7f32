import numpy as np
import pytest

from rpo.grouping.search import density_share, noise_share, relative_noise, separation


def draw(seed: int, n: int = 600, n_strata: int = 10, n_domains: int = 3):
    rng = np.random.default_rng(seed)
    return rng, rng.integers(n_strata, size=n), rng.integers(n_domains, size=n), np.ones(n)


@pytest.mark.parametrize(("n_strata", "n_domains"), [(2, 3), (12, 3), (12, 60)])
def test_random_strata_score_zero_on_average(n_strata: int, n_domains: int) -> None:
    scores = []
    for seed in range(200):
        rng, stratum, domain, weight = draw(seed, n_strata=n_strata, n_domains=n_domains)
        domain = np.unique(domain, return_inverse=True)[1]
        noise = relative_noise(rng.standard_t(4, size=600) ** 2, domain, weight)
        scores.append(separation(stratum, noise, domain, weight))
    assert abs(np.mean(scores)) < 3.5 * np.std(scores) / np.sqrt(200)


def test_noise_share_is_anovas_adjusted_r_squared() -> None:
    rng, stratum, domain, weight = draw(0)
    noise = relative_noise(rng.normal(size=600) ** 2 * (1 + stratum), domain, weight)
    cells = np.eye(30)[domain * 10 + stratum]
    residual = noise - cells @ np.linalg.lstsq(cells, noise, rcond=None)[0]
    expected = 1 - (residual @ residual / (600 - 30)) / (noise @ noise / (600 - 3))
    assert noise_share(stratum, noise, domain, weight) == pytest.approx(expected, abs=1e-12)


def test_a_noisy_domain_alone_is_not_a_matter_of_strata() -> None:
    _, stratum, domain, weight = draw(0)
    noise = relative_noise(np.where(domain == 0, 100.0, 1.0), domain, weight)
    assert noise_share(stratum, noise, domain, weight) == 0.0


def test_density_share_is_one_when_strata_are_domains_and_zero_for_one_domain() -> None:
    domain = np.arange(30_000) % 3
    assert density_share(domain, domain, np.ones(30_000)) == pytest.approx(1.0, abs=1e-3)
    assert density_share(domain, np.zeros(30_000, int), np.ones(30_000)) == 0.0


def test_thinning_a_stratum_of_one_domain_raises_the_score() -> None:
    rng, stratum, domain, weight = draw(0, n=6000)
    noise = relative_noise(rng.normal(size=6000) ** 2 * (1 + 3 * (stratum == 0)), domain, weight)
    thin = np.where((domain == 0) & (stratum < 5), 0.2, 1.0)
    assert density_share(stratum, domain, thin) > 0.01 > density_share(stratum, domain, weight)
    share = noise_share(stratum, noise, domain, thin)
    assert separation(stratum, noise, domain, thin) > share > 0
