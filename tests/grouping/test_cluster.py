import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from rpo.grouping.cluster import RIDGE, gmm, kmeans, median_cut


def test_kmeans_is_scikit_learns_from_the_same_start() -> None:
    rng = np.random.default_rng(0)
    points, weight = rng.normal(size=(500, 2)), rng.uniform(0.1, 3, size=500)
    reference = KMeans(7, init=median_cut(points, weight, 7), n_init=1, tol=0.0).fit(points, sample_weight=weight)
    np.testing.assert_allclose(kmeans(points, weight, 7).centres, reference.cluster_centers_, atol=1e-10)


def test_gmm_is_scikit_learns_from_the_same_start() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(m, s, size=(200, 2)) for m, s in ((0, 1), (6, 0.5), (-5, 2))])
    ours = gmm(points, np.ones(600), 3)
    reference = GaussianMixture(
        3, random_state=0, means_init=ours.centres, reg_covar=RIDGE, tol=1e-9, max_iter=500
    ).fit(points)
    np.testing.assert_allclose(ours.centres, reference.means_, atol=1e-2)
    np.testing.assert_allclose(ours.precisions, reference.precisions_, atol=2e-2)


def test_median_cut_balances_the_weight() -> None:
    rng = np.random.default_rng(1)
    points, weight = rng.normal(size=(4096, 1)), rng.integers(1, 4, size=4096).astype(float)
    edges = np.sort(median_cut(points, weight, 8).ravel())
    share = np.histogram(points, [-np.inf, *(edges[:-1] + edges[1:]) / 2, np.inf], weights=weight[:, None])[0]
    assert len(edges) == 8
    assert share.max() / share.min() < 2


@pytest.mark.parametrize("cluster", [kmeans, gmm])
def test_fewer_points_than_clusters(cluster) -> None:
    points = np.array([[0.0, 1.0], [2.0, 3.0], [2.0, 4.0]])
    assert len(cluster(points, np.ones(3), 12).centres) == 3
