"""What intervals held of each training domain, made from all the others."""

import numpy as np
import pytest

import rpo
from rpo._models.intervals import coverage
from rpo._stats.conformal import conformal_quantile, row_mass


def made(seed, domains, rows, classes=False):
    """y = x₀ + the domain's own level + noise."""
    rng = np.random.default_rng(seed)
    domain = np.repeat(np.arange(domains), rows)
    X = rng.uniform(-1, 1, size=(len(domain), 3))
    y = X[:, 0] + 2 * rng.normal(size=domains)[domain] + rng.normal(size=len(domain))
    return X, (y > 0 if classes else y), domain


def fitted(X, y, domain):
    kind = rpo.QualityClassifier if y.dtype == bool else rpo.QualityRegressor
    return kind("linear", weights="off", screen="off", verbose=False).fit(X, y, domains=domain)


@pytest.mark.parametrize("classes", [False, True])
def test_coverage_is_that_of_each_domain_by_all_the_others(classes):
    X, y, domain = made(5, domains=9, rows=12, classes=classes)
    model = fitted(X, y, np.array(list("abcdefghi"))[domain])
    table = coverage(model)
    assert table["level"].tolist() == [0.5, 0.8]  # eight of nine domains promise no more
    assert (table["covered"] >= table["level"] - 1e-9).all()
    assert (table["lowest"] <= table["covered"]).all()
    assert set(table["lowest_domain"]) <= set("abcdefghi")
    assert table["size"].is_monotonic_increasing
    if not classes:  # in the worst domain, by hand
        held = model.held_out_
        own = held["domain"].to_numpy() == list(model.domains_).index(table["lowest_domain"][1])
        score = np.abs(held["target"] - held["expected"]).to_numpy()
        rest = np.unique(held["domain"][~own], return_inverse=True)[1]
        q = conformal_quantile(score[~own], row_mass(rest, np.ones(len(rest))), 0.8)
        assert table["lowest"][1] == pytest.approx((score[own] <= q).mean())


def test_coverage_of_one_domain_names_no_worst_and_of_two_only_what_one_can_promise():
    X, y, domain = made(6, domains=2, rows=40)
    with pytest.warns(rpo.exceptions.OneDomainWarning):
        alone = fitted(X, y, np.zeros(len(y), int))
    assert list(coverage(alone)) == ["level", "size", "covered"]
    assert coverage(fitted(X, y, domain))["level"].tolist() == [0.5]
