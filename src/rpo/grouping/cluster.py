"""Clustering of weighted points by k-means or a mixture of Gaussians, without random numbers.

scikit-learn's `GaussianMixture` takes no weights, and its `KMeans` sums in an order that depends on the threads. Here a
point of weight two is exactly the same as the point twice, and a point of weight zero is ignored.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LLOYD_STEPS = 100
EM_STEPS = 100
EM_TOLERANCE = 1e-6
# Variance added to each Gaussian (features have variance one), so that a stratum of a single point is proper.
RIDGE = 1e-3


@dataclass(frozen=True)
class Clusters:
    """K regions: a point x belongs to argmax_k offset_k − ½ (x − c_k)ᵀ P_k (x − c_k)."""

    centres: Array
    precisions: Array
    offsets: Array

    def scores(self, points: Array) -> Array:
        """Compute the score of every point for every region, shape (n, K).

            offset_k − ½ (x − c_k)ᵀ P_k (x − c_k)

        Summed feature by feature, not by matrix product: a point then gets the same bits in any company.
        """
        gaps = [points[:, j, None] - self.centres[:, j] for j in range(points.shape[1])]
        form = np.zeros((len(points), len(self.centres)))
        for i, left in enumerate(gaps):
            for j, right in enumerate(gaps):
                form += left * self.precisions[:, i, j] * right
        return self.offsets - 0.5 * form

    def take(self, which: NDArray[np.intp]) -> "Clusters":
        """Select regions, in the order given."""
        return Clusters(self.centres[which], self.precisions[which], self.offsets[which])


def balls(centres: Array) -> Clusters:
    """Return the regions of k-means: each point belongs to the nearest centre."""
    n, features = centres.shape
    return Clusters(centres, np.tile(np.eye(features), (n, 1, 1)), np.zeros(n))


def median_cut(points: Array, weight: Array, n_clusters: int) -> Array:
    """Compute centres to start from by repeated cuts.

    Each cut halves the heaviest box at the weighted median of its widest side.

    >>> median_cut(np.array([[0.0], [1.0], [5.0], [6.0]]), np.ones(4), 2).ravel().tolist()
    [0.5, 5.5]
    """
    boxes = [np.arange(len(points))]
    while len(boxes) < n_clusters:
        mass = [weight[box].sum() if len(box) > 1 else -1.0 for box in boxes]
        heaviest = int(np.argmax(mass))
        if mass[heaviest] < 0:  # every box is one point
            break
        box = boxes.pop(heaviest)
        side = points[box, np.argmax(np.ptp(points[box], axis=0))]
        _, place = np.unique(side, return_inverse=True)
        below = np.cumsum(np.bincount(place, weight[box]))
        cut = np.argmin(np.abs(below[:-1] - below[-1] / 2))
        boxes += [box[place <= cut], box[place > cut]]
    label = np.empty(len(points), dtype=np.intp)
    for k, box in enumerate(boxes):
        label[box] = k
    return _means(points, weight, label, len(boxes))


def kmeans(points: Array, weight: Array, n_clusters: int, steps: int = LLOYD_STEPS) -> Clusters:
    """Cluster distinct weighted points by k-means, with Lloyd's algorithm from the median cut.

        min_c Σ_i w_i min_k ‖x_i − c_k‖²

    >>> kmeans(np.array([[0.0], [1.0], [5.0], [6.0]]), np.ones(4), 2).centres.ravel().tolist()
    [0.5, 5.5]
    """
    centres = median_cut(points, weight, n_clusters)
    label = np.full(len(points), -1)
    for _ in range(steps):
        before, label = label, _nearest(points, centres)
        if np.array_equal(before, label):
            break
        _, label = np.unique(label, return_inverse=True)  # drops centres without points
        centres = _means(points, weight, label, int(label.max()) + 1)
    return balls(centres)


def gmm(points: Array, weight: Array, n_clusters: int) -> Clusters:
    """Fit a Gaussian mixture to weighted points, by expectation–maximisation from k-means.

        max Σ_i w_i log Σ_k π_k N(x_i; c_k, Σ_k)

    >>> clusters = gmm(np.array([[0.0], [0.1], [5.0], [6.0]]), np.ones(4), 2)
    >>> clusters.scores(np.array([[0.2], [4.0]])).argmax(axis=1).tolist()
    [0, 1]
    """
    start = kmeans(points, weight, n_clusters)
    share = np.eye(len(start.centres))[np.argmax(start.scores(points), axis=1)]
    features, previous = points.shape[1], -np.inf
    for _ in range(EM_STEPS):
        mass = share * weight[:, None]
        total = mass.sum(axis=0)
        centres = (mass.T @ points) / total[:, None]
        gap = points[None] - centres[:, None]
        covariance = np.einsum("nk,kni,knj->kij", mass, gap, gap) / total[:, None, None] + RIDGE * np.eye(features)
        offsets = np.log(total / total.sum()) - 0.5 * np.linalg.slogdet(covariance)[1]
        clusters = Clusters(centres, np.linalg.inv(covariance), offsets)
        score = clusters.scores(points)
        top = score.max(axis=1, keepdims=True)
        share = np.exp(score - top)
        norm = share.sum(axis=1, keepdims=True)
        # A floor avoids division by zero for an empty component, which is dropped later.
        share = np.maximum(share / norm, 1e-12)
        likelihood = float(weight @ (top + np.log(norm))[:, 0] / weight.sum())
        if likelihood - previous < EM_TOLERANCE:
            break
        previous = likelihood
    return clusters


def _nearest(points: Array, centres: Array) -> NDArray[np.intp]:
    square = np.zeros((len(points), len(centres)))
    for j in range(points.shape[1]):
        gap = points[:, j, None] - centres[:, j]
        square += gap * gap
    nearest: NDArray[np.intp] = np.argmin(square, axis=1)
    return nearest


def _means(points: Array, weight: Array, label: NDArray[np.intp], n: int) -> Array:
    mass = np.bincount(label, weight, minlength=n)
    return np.stack([np.bincount(label, weight * x, minlength=n) / mass for x in points.T], axis=1)
