"""Domains that stand out: every known one is compared with the others, as the new one is with all."""

import numpy as np
import pytest

from rpo._stats.novelty import Served, shift, trouble


def test_known_domains_are_compared_with_the_others_alone(rng):
    known, rows, unit = rng.normal(size=(9, 4)), rng.uniform(3, 30, 9), rng.uniform(0.5, 2, 4)
    found = shift(known, rows, known[0], rows[0], unit)
    for e in range(9):
        others = np.delete(known, e, 0)
        alone = shift(others, np.delete(rows, e), known[e], rows[e], unit)
        np.testing.assert_allclose(found.known[e], alone.z, rtol=1e-9)


def test_units_and_places_do_not_matter(rng):
    known, rows, unit = rng.normal(size=(9, 3)), rng.uniform(3, 30, 9), rng.uniform(0.5, 2, 3)
    scale, level = np.array([1e-6, 1.0, 1e6]), np.array([1e3, -5.0, 0.0]) * np.array([1e-6, 1.0, 1e6])
    one = shift(known, rows, rng.normal(size=3), 5.0, unit)
    rng = np.random.default_rng(0)
    rng.normal(size=(9, 3)), rng.uniform(3, 30, 9), rng.uniform(0.5, 2, 3)
    other = shift(known * scale + level, rows, rng.normal(size=3) * scale + level, 5.0, unit * scale**2)
    np.testing.assert_allclose(one.z, other.z, rtol=1e-6)


def test_of_two_domains_nothing_can_be_told():
    found = shift(np.zeros((2, 1)), np.ones(2), np.array([9.0]), 1.0, np.ones(1))
    assert found.score == 0


def _served(rng, n, slope=0.0, factor=1.0, domains=40):
    """Domains whose residuals have a slope on the prediction."""
    f = rng.normal(size=(domains, n))
    r = slope * (f - f.mean(1, keepdims=True)) + factor * rng.normal(size=(domains, n))
    reach = ((f - f.mean(1, keepdims=True)) ** 2).sum(1)
    along = ((f - f.mean(1, keepdims=True)) * r).sum(1)
    return Served(np.full(domains, float(n)), (r**2).mean(1), (r**4).mean(1), reach, along)


def test_small_domains_are_allowed_larger_errors(rng):
    known = _served(rng, 50)
    small, large = _served(rng, 5, domains=1), _served(rng, 500, domains=1)
    same = np.array([1.5])
    score = [trouble(known, one._replace(error=same)).error[0] for one in (small, large)]
    assert score[0] < score[1] / 3


@pytest.mark.parametrize("slope, factor, which", [(-1.0, 1.0, "relation"), (0.0, 2.0, "error")])
def test_what_is_wrong_shows_where_it_belongs(rng, slope, factor, which):
    known = _served(rng, 60)
    ordinary, bad = trouble(known, known), trouble(known, _served(rng, 60, slope, factor, domains=20))
    beyond = getattr(bad, which) > getattr(ordinary, which).max()
    assert beyond.mean() > 0.9
    assert bad.certainty.mean() > 3


def test_predictions_that_do_not_differ_say_nothing_of_a_relation(rng):
    known = _served(rng, 20)
    flat = known._replace(reach=np.zeros(40), along=np.zeros(40))
    assert (trouble(flat, flat).relation == 0).all()
    assert np.isfinite(trouble(known, flat).relation).all()
