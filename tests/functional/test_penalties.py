"""Proposition 1: its identities and monotonicities, and the mistakes others made with it."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rpo.exceptions import InputError
from rpo.functional.penalties import optimal_lambda, optimal_penalties

E, K = 3, 4


@st.composite
def problems(draw, empty=True):
    """σ, r̂ (with empty cells, never a whole domain) and N."""
    sigma = draw(arrays(float, (E, K), elements=st.floats(0.05, 20)))
    mass = draw(arrays(float, (E, K), elements=st.floats(0.05, 1)))
    if empty:
        gone = draw(arrays(bool, (E, K)))
        gone[np.arange(E), draw(arrays(int, E, elements=st.integers(0, K - 1)))] = False
        mass = np.where(gone, np.nan, mass)
        sigma = np.where(gone, np.nan, sigma)
    n = draw(arrays(float, E, elements=st.integers(1, 5000).map(float)))
    return sigma, mass / np.nansum(mass, axis=1, keepdims=True), n


@given(problems())
def test_the_formula_cell_by_cell(problem):
    sigma, r_hat, n = problem
    got = optimal_penalties(sigma, r_hat, n)
    for k in range(K):
        cells = [(sigma[e, k] / r_hat[e, k]) ** (4 / 5) for e in range(E) if not np.isnan(sigma[e, k])]
        assert got.rho[k] == pytest.approx(sum(cells) / 4 ** (2 / 5))
    for e in range(E):
        cells = [(sigma[e, k] / r_hat[e, k]) ** (4 / 5) for k in range(K) if not np.isnan(sigma[e, k])]
        assert got.eta[e] == pytest.approx(n[e] / 4 ** (7 / 5) / sum(cells))
    assert got.lam == pytest.approx((1 / n).sum() ** 0.4)


@given(problems(), st.floats(0.1, 10))
def test_eta_is_proportional_to_the_number_of_rows(problem, factor):
    sigma, r_hat, n = problem
    got, more = optimal_penalties(sigma, r_hat, n), optimal_penalties(sigma, r_hat, factor * n)
    np.testing.assert_allclose(more.eta, factor * got.eta)
    np.testing.assert_allclose(more.rho, got.rho)
    assert more.lam == pytest.approx(got.lam * factor**-0.4)


@given(problems(), st.floats(0.1, 10))
def test_rho_goes_with_sigma_to_four_fifths(problem, factor):
    sigma, r_hat, n = problem
    got, more = optimal_penalties(sigma, r_hat, n), optimal_penalties(factor * sigma, r_hat, n)
    np.testing.assert_allclose(more.rho, factor**0.8 * got.rho)
    np.testing.assert_allclose(more.eta, factor**-0.8 * got.eta)


@given(problems())
def test_groups_in_one_domain_each(problem):
    """4^(9/5) η_e Σ_k ρ_k = N_e when every group lies in one domain; `split` is that case."""
    sigma, r_hat, n = problem
    cell = optimal_penalties(sigma, r_hat, n, split=True)
    np.testing.assert_allclose(4 ** (9 / 5) * cell.eta * np.nansum(cell.rho, axis=1), n)
    wide_sigma, wide_r = np.full((E, E * K), np.nan), np.full((E, E * K), np.nan)
    for e in range(E):
        wide_sigma[e, e * K : (e + 1) * K], wide_r[e, e * K : (e + 1) * K] = sigma[e], r_hat[e]
    wide = optimal_penalties(wide_sigma, wide_r, n)
    np.testing.assert_allclose(wide.eta, cell.eta)
    np.testing.assert_allclose(wide.rho.reshape(E, K), np.nan_to_num(cell.rho))


@given(problems())
def test_splitting_every_group_in_two(problem):
    sigma, r_hat, n = problem
    got = optimal_penalties(sigma, r_hat, n)
    halves = optimal_penalties(np.repeat(sigma, 2, axis=1), np.repeat(r_hat / 2, 2, axis=1), n)
    np.testing.assert_allclose(halves.rho, 2**0.8 * np.repeat(got.rho, 2))
    np.testing.assert_allclose(halves.eta, 2**-1.8 * got.eta)


@given(problems(), st.permutations(range(K)), st.permutations(range(E)))
def test_permuting_permutes(problem, groups, domains):
    sigma, r_hat, n = problem
    got = optimal_penalties(sigma, r_hat, n)
    moved = optimal_penalties(sigma[domains][:, groups], r_hat[domains][:, groups], n[domains])
    np.testing.assert_allclose(moved.rho, got.rho[groups])
    np.testing.assert_allclose(moved.eta, got.eta[domains])
    assert moved.lam == pytest.approx(got.lam)


@given(problems(empty=False), st.floats(0, 1))
def test_more_density_variance_lowers_eta(problem, step):
    """Observation (i): at constant noise, moving the mass away from uniform lowers η_e."""
    _, r_hat, n = problem
    sigma = np.ones((E, K))
    nearer = 1 / K + step * (r_hat - 1 / K)
    assume(np.abs(nearer - r_hat).max() > 1e-6)
    near, far = optimal_penalties(sigma, nearer, n), optimal_penalties(sigma, r_hat, n)
    assert np.all(far.eta <= near.eta * (1 + 1e-12))


@given(problems(empty=False), arrays(float, (E, K), elements=st.floats(1, 5)))
def test_more_noise_lowers_eta(problem, factor):
    """Observation (ii)."""
    sigma, r_hat, n = problem
    assert np.all(
        optimal_penalties(factor * sigma, r_hat, n).eta <= optimal_penalties(sigma, r_hat, n).eta * (1 + 1e-12)
    )


@given(problems(empty=False), st.permutations(range(K)))
def test_noise_on_scarce_groups_gives_the_lowest_eta(problem, pairing):
    """Observation (iii): high noise paired with low density is the worst of all pairings."""
    sigma, r_hat, n = problem
    worst = optimal_penalties(-np.sort(-sigma, axis=1), np.sort(r_hat, axis=1), n)
    other = optimal_penalties(-np.sort(-sigma, axis=1)[:, pairing], np.sort(r_hat, axis=1), n)
    assert np.all(worst.eta <= other.eta * (1 + 1e-12))


# A worked case: σ = 2, r̂ = ¼, N = 100, one group that is the whole of what is asked. (σ/r̂)^(4/5) = 8^0.8.
ONE = (np.array([[2.0, 2.0]]), np.array([[0.25, 0.75]]), np.array([100.0]))


def test_it_is_sigma_and_not_its_square():
    four_fifths = 8**0.8 + (2 / 0.75) ** 0.8
    assert optimal_penalties(*ONE).eta[0] == pytest.approx(100 / 4**1.4 / four_fifths)
    with_square = 16**0.8 + (4 / 0.75) ** 0.8
    assert optimal_penalties(*ONE).eta[0] != pytest.approx(100 / 4**1.4 / with_square)


def test_it_is_sigma_over_density_and_not_the_reverse():
    eta = [optimal_penalties([[s, 1.0]], [[0.25, 0.75]], [100]).eta[0] for s in (1.0, 2.0, 4.0)]
    assert eta[0] > eta[1] > eta[2]
    rho = optimal_penalties([[1.0, 1.0]], [[0.25, 0.75]], [100]).rho
    assert rho[0] / rho[1] == pytest.approx(3**0.8)


def test_the_exponent_is_four_fifths_and_not_a_fourth_power_over_five():
    rho = optimal_penalties([[1.0, 3.0]], [[0.5, 0.5]], [100]).rho
    assert rho[1] / rho[0] == pytest.approx(3 ** (4 / 5))
    assert rho[1] / rho[0] != pytest.approx(3**4)
    assert rho[0] == pytest.approx(4**-0.4 * 2**0.8)
    assert rho[0] != pytest.approx(4**-0.4 * 2**4 / 5)


@given(problems())
def test_calibrated_keeps_ratios_and_has_mean_one(problem):
    sigma, r_hat, n = problem
    paper = optimal_penalties(sigma, r_hat, n)
    for split in (False, True):
        got = optimal_penalties(sigma, r_hat, n, scheme="calibrated", split=split)
        assert got.eta.mean() == pytest.approx(1)
        np.testing.assert_allclose(got.eta / got.eta[0], paper.eta / paper.eta[0])
        rows = np.nan_to_num(r_hat * n[:, None])
        assert np.nansum(rows * got.rho) / n.sum() == pytest.approx(1)


def test_density_exponent_is_a_knob():
    sigma, r_hat, n = np.ones((1, 2)), np.array([[0.2, 0.8]]), [50]
    for exponent in (-0.8, -0.4, 0.0, 0.6):
        rho = optimal_penalties(sigma, r_hat, n, density_exponent=exponent).rho
        assert rho[0] / rho[1] == pytest.approx(0.25**exponent)
    calibrated = optimal_penalties(sigma, r_hat, n, scheme="calibrated").rho
    assert calibrated[0] / calibrated[1] == pytest.approx(0.25**-0.4)


def test_domains_without_rows_or_without_noise():
    sigma = [[1.0, 2.0], [np.nan, np.nan], [0.0, 0.0]]
    r_hat = [[0.5, 0.5], [np.nan, np.nan], [0.5, 0.5]]
    got = optimal_penalties(sigma, r_hat, [10, 0, 10])
    assert got.eta[1] == 0
    assert got.eta[2] == got.eta[0] > 0
    assert got.lam == pytest.approx(optimal_lambda([10, 10]))
    assert np.isfinite(got.rho).all()


@pytest.mark.parametrize(
    "sigma, r_hat, n, message",
    [
        ([1.0], [1.0], [10], "must be of shape"),
        ([[1.0, 1.0]], [[1.0]], [10], "must be of shape"),
        ([[1.0]], [[1.0]], [10, 10], "must be of shape"),
        ([[np.nan, 1.0]], [[0.5, 0.5]], [10], "NaN in the same cells"),
        ([[-1.0]], [[1.0]], [10], "non-negative"),
        ([[np.inf]], [[1.0]], [10], "finite"),
        ([[1.0]], [[0.0]], [10], r"in \(0, 1\]"),
        ([[1.0]], [[1.5]], [10], r"in \(0, 1\]"),
        ([[1.0]], [[1.0]], [np.nan], "n must be finite"),
    ],
)
def test_bad_input_is_one_line(sigma, r_hat, n, message):
    with pytest.raises(InputError, match=message) as caught:
        optimal_penalties(sigma, r_hat, n)
    assert "\n" not in str(caught.value)


def test_unknown_scheme_names_the_known_ones():
    with pytest.raises(InputError, match="must be one of paper, calibrated"):
        optimal_penalties([[1.0]], [[1.0]], [10], scheme="magic")
