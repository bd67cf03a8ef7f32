"""Tables at the edge: a row per domain or cell, a thousand domains, copies, weights of zero, learners by name."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from rpo._learners.crossfit import Problem, sample_by_domain
from rpo._quality import quality
from rpo.exceptions import InputError


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, x[:, 0] + 0.3 * rng.normal(size=n), rng.integers(0, 4, n)


def judged(x, y, domain, **options):
    return quality(x, y, domains=domain, verbose=False, **options)


def test_a_thousand_domains_of_five_rows_differ_in_nothing():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 2))
    found = judged(x, x[:, 0] + 0.3 * rng.normal(size=5000), np.arange(5000) % 1000)
    assert not found.domains["noisy"].any()
    assert found.domains["shifted"].sum() <= 1  # by the spread of five rows alone it was 85
    assert (found.weight == 1).all()


def test_single_rows_are_listed_but_nothing_is_said_of_them():
    x, y, domain = table()
    y = y + 50 * (np.arange(300) == 7)
    found = judged(x, y, np.where(np.arange(300) < 10, 10 + np.arange(300), domain))
    small = found.domains[found.domains["n"] == 1]
    assert len(small) == 10
    assert not small[["noisy", "shifted", "differs"]].any(axis=None)
    assert found.rows["row"][0] == 8


def test_strata_given_as_numbers_are_names():
    x, y, domain = table()
    stratum = np.arange(300) % 7
    found = judged(x, y, domain, strata=stratum)
    assert len(found.strata) == 7
    assert (found.strata["n"].sum(), len(found.cells)) == (300, 28)
    cells = judged(x, y, domain, strata=np.arange(300)).cells
    assert not cells["judged"].any()


def test_rows_of_weight_zero_are_not_there():
    x, y, domain = table()
    weight = (np.random.default_rng(1).uniform(size=300) < 0.6).astype(float)
    there = weight > 0
    for target in (y, y > 0):
        found, alone = judged(x, target, domain, sample_weight=weight), judged(x[there], target[there], domain[there])
        for column in ("n", "offset", "noise", "novelty", "held_out", "weight"):
            np.testing.assert_allclose(
                found.domains.set_index("domain")[column].sort_index(),
                alone.domains.set_index("domain")[column].sort_index(),
                rtol=1e-6,
                atol=1e-9,
            )
        assert (found.weight[~there] == 0).all()
    with pytest.raises(InputError, match="only 2 rows have a target and a positive weight: at least 10 are needed"):
        judged(x, y, domain, sample_weight=np.arange(300) < 2)


def test_a_domain_without_weight_is_listed():
    x, y, domain = table()
    for target in (y, y > 0):
        found = judged(x, target, domain, sample_weight=(domain != 2).astype(float))
        assert found.domains.set_index("domain")["n"]["2"] == 0
        assert not found.domains["noisy"].any()


def test_copies_are_told_and_equal_rows_of_few_categories_are_not():
    x, y, domain = table(60)
    again = np.arange(600) % 60
    found = judged(x[again], y[again], domain[again])
    assert found.copies == 540
    assert found.summary[0].startswith("540 of 600 rows are duplicates of another row: drop them if they are copies")
    rng = np.random.default_rng(0)
    few = rng.integers(0, 3, size=(600, 2)).astype(float)
    assert judged(few, few[:, 0] + rng.normal(size=600), np.arange(600) % 3).copies == 0
    assert judged(few, few[:, 0] > 0, np.arange(600) % 3).copies == 0


def test_learners_by_name_and_what_is_none():
    x, y, domain = table(120)
    assert judged(x, y, domain, estimator="linear").expected.value == pytest.approx(x[:, 0], abs=0.5)
    for wrong in ("forest-of-things", KNeighborsRegressor, 3):
        with pytest.raises(InputError, match="estimator"):
            judged(x, y, domain, estimator=wrong)
    with pytest.raises(InputError, match="too few units"):
        judged(x, y, domain, unit=np.zeros(120, int))


@pytest.mark.slow
def test_a_method_of_ours_judges_too():
    x, y, domain = table(120)
    found = judged(x, y, domain, estimator="erm-l2", grouping="none")
    assert np.corrcoef(found.expected.value, y)[0, 1] > 0.7


def test_a_sample_takes_no_rows_of_weight_zero_and_statistics_see_all_rows(monkeypatch):
    monkeypatch.setattr("rpo._learners.crossfit.MOST_ROWS", 200)
    x, y, domain = table(2000)
    y = y + 1.0 * np.random.default_rng(5).normal(size=2000) * (domain == 1)
    weight = np.ones(2000)
    weight[::2] = 0
    problem = Problem(x, y, domain, 4, 0, weight)
    kept = sample_by_domain(problem)
    assert kept.sum() == 200
    assert not kept[::2].any()
    found = judged(x, y, domain)
    assert found.domains["domain"][0] == "1"
    assert found.domains["noisy"].tolist() == [True, False, False, False]
    assert found.domains["n"].sum() == 2000
    assert np.abs(found.expected.value - x[:, 0]).mean() < 0.3
    classes = judged(x, y > 0, domain)
    np.testing.assert_allclose(classes.expected.value.sum(1), 1)
