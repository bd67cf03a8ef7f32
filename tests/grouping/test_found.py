import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpo.exceptions import InputError
from rpo.grouping import Strata, find_strata

CLUSTERS = ("kmeans", "gmm")


def planted(seed: int, n: int = 1500):
    """Eight features, three domains; noise is high and rows are scarce in two corners of features 2 and 5."""
    rng = np.random.default_rng(seed)
    X, domain = rng.normal(size=(n, 8)), rng.integers(3, size=n)
    bad = ((X[:, 2] > 0) & (X[:, 5] > 0)) | ((X[:, 2] < 0) & (X[:, 5] < 0))
    keep = ~bad | (rng.uniform(size=n) < 0.4)
    X, domain, bad = X[keep], domain[keep], bad[keep]
    return X, rng.normal(size=len(X)) ** 2 * np.where(bad, 9.0, 1.0), domain, bad


def test_finds_the_planted_subspace() -> None:
    found = [find_strata(*planted(seed)[:3]).features for seed in range(20)]
    assert sum(features == (2, 5) for features in found) >= 19


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_strata_are_numbered_without_gaps_between_eight_and_twelve(cluster) -> None:
    X, residual, domain, _ = planted(0)
    strata = find_strata(X, residual, domain, cluster=cluster)
    assert 8 <= len(strata) <= 12
    assert (np.bincount(strata.labels, minlength=len(strata)) > 0).all()
    assert len(set(strata.names)) == len(strata)
    assert len(find_strata(X, residual, domain, cluster=cluster, n_strata=5)) == 5


@st.composite
def tables(draw):
    """Small tables with ties on purpose: few distinct values, constant columns, repeated rows."""
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = rng.integers(0, draw(st.integers(1, 12)), size=(n, d)) / draw(st.sampled_from([1, 3]))
    weight = rng.integers(0, 4, size=n)
    weight[0] = 1
    return X, rng.normal(size=n) ** 2, rng.integers(draw(st.integers(1, 3)), size=n), weight, rng


@settings(deadline=None, max_examples=60)
@given(tables(), st.sampled_from(CLUSTERS), st.sampled_from([None, 3, 12]))
def test_a_weight_is_a_row_repeated_and_zero_is_no_row(table, cluster, n_strata) -> None:
    X, residual, domain, weight, rng = table
    weighted = find_strata(X, residual, domain, sample_weight=weight, cluster=cluster, n_strata=n_strata)
    rows = rng.permutation(np.repeat(np.arange(len(X)), weight))
    repeated = find_strata(X[rows], residual[rows], domain[rows], cluster=cluster, n_strata=n_strata)
    assert weighted.features == repeated.features
    assert weighted.labels[rows].tolist() == repeated.labels.tolist()
    assert weighted.assign(X).tolist() == repeated.assign(X).tolist() == weighted.labels.tolist()
    assert weighted.names == repeated.names


@settings(deadline=None, max_examples=30)
@given(tables(), st.sampled_from(CLUSTERS))
def test_json_and_back_assigns_the_same(table, cluster) -> None:
    X, residual, domain, _, _ = table
    strata = find_strata(X, residual, domain, cluster=cluster, n_strata=4)
    again = Strata.from_dict(json.loads(json.dumps(strata.to_dict())))
    assert again.assign(X).tolist() == strata.labels.tolist()
    assert again.to_dict() == strata.to_dict()
    assert again.describe() == strata.describe()


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("n_strata", [None, 1, 12])
@pytest.mark.parametrize(
    "X",
    [
        np.arange(12.0)[:, None],
        np.zeros((12, 2)),
        np.arange(12)[:, None] % 2 == 0,
        np.array([[k % 3, 5] for k in range(12)]),
        np.arange(24.0).reshape(12, 2) * 1e9,
    ],
    ids=["one feature", "constant", "boolean", "integer with a constant", "large"],
)
def test_twelve_rows_of_any_kind(X, n_strata, cluster) -> None:
    for domain in (np.zeros(12), np.arange(12) % 2, np.arange(12)):
        strata = find_strata(X, np.arange(12.0), domain, n_strata=n_strata, cluster=cluster)
        assert len(strata) <= min(n_strata or 12, len(np.unique(X, axis=0)))
        assert set(strata.labels.tolist()) == set(range(len(strata)))


def test_all_constant_is_one_stratum() -> None:
    strata = find_strata(np.ones((5, 2)), np.arange(5.0), np.zeros(5))
    assert strata.features == ()
    assert strata.describe() == "0: all rows"
    assert strata.assign(np.ones((3, 2))).tolist() == [0, 0, 0]


def test_a_perfect_fit_is_no_error() -> None:
    X, _, domain, _ = planted(0)
    assert len(find_strata(X, np.zeros(len(X)), domain)) >= 1


def test_more_rows_than_max_rows_are_sampled_by_the_seed() -> None:
    X, residual, domain, _ = planted(0, n=6000)
    first, again, other = (find_strata(X, residual, domain, max_rows=2000, random_state=s) for s in (1, 1, 2))
    assert first.features == (2, 5)
    assert first.labels.tolist() == again.labels.tolist()
    assert first.labels.tolist() != other.labels.tolist()
    assert len(first.labels) == len(X)


def test_many_features_are_searched_by_their_best() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 40))
    residual = rng.normal(size=800) ** 2 * np.where(X[:, 31] > 0.5, 9.0, 1.0)
    assert 31 in find_strata(X, residual, np.zeros(800)).features


def test_weights_that_are_no_counts_find_the_same() -> None:
    X, residual, domain, _ = planted(0)
    tiny = find_strata(X, residual, domain, sample_weight=np.full(len(X), 1e-6))
    assert tiny.labels.tolist() == find_strata(X, residual, domain).labels.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros(4)}, "two-dimensional"),
        ({"X": np.full((4, 1), np.nan)}, "X has missing"),
        ({"X": np.full((4, 1), "red")}, "encode categories"),
        ({"residual": np.zeros(3)}, "residual must have one value per row"),
        ({"residual": -np.ones(4)}, "residual must be non-negative"),
        ({"domain": np.zeros(5)}, "domain must have one value per row"),
        ({"sample_weight": np.zeros(4)}, "sample_weight is zero in every row"),
        ({"sample_weight": -np.ones(4)}, "sample_weight must be non-negative"),
        ({"cluster": "dbscan"}, "must be one of kmeans, gmm"),
        ({"n_strata": 0}, "n_strata must be at least 1, got 0"),
        ({"feature_names": ["a", "b"]}, "2 feature names for 1"),
    ],
)
def test_bad_input_is_one_clear_line(change, message) -> None:
    good = {"X": np.arange(4.0)[:, None], "residual": np.ones(4), "domain": np.zeros(4)}
    with pytest.raises(InputError, match=message) as error:
        find_strata(**(good | change))
    assert "\n" not in str(error.value)


def test_assign_refuses_a_table_without_the_features() -> None:
    X, residual, domain, _ = planted(0)
    with pytest.raises(InputError, match="feature 5"):
        find_strata(X, residual, domain).assign(X[:, :3])


def test_the_search_may_be_confined_to_some_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    residual = rng.normal(size=600) ** 2 * np.where(X[:, 1] > 0, 16.0, 1.0) * np.where(X[:, 2] > 1, 4.0, 1.0)
    domain = np.arange(600) % 3
    assert 1 in find_strata(X, residual, domain).features
    confined = find_strata(X, residual, domain, among=[0, 2])
    assert set(confined.features) <= {0, 2}
    assert 2 in confined.features
    alone = find_strata(X[:, [0, 2]], residual, domain)
    np.testing.assert_array_equal(confined.labels, alone.labels)
    assert set(find_strata(X, residual, domain, among=[]).labels) == {0}
