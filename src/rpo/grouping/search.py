"""Search for strata: clusters in the one or two features in which noise and density differ most.

`separation` measures how well strata separate noise and density; the search maximises it.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpo.exceptions import InputError
from rpo.grouping.cluster import Clusters, balls, gmm, kmeans
from rpo.grouping.strata import Strata, codes, default_names, place

FEWEST, MOST = 8, 12  # number of strata, by default
ROWS_PER_STRATUM = 10  # on average at least, by default
BEST_SINGLES = 8  # only the best single features are combined, because pairs are expensive

ROUGH_POINTS, ROUGH_STEPS = 5_000, 10  # enough to compare subspaces
# Domains with fewer rows per stratum cannot show a noise pattern of their own; they are pooled.
ROWS_PER_CELL = 5
ROUNDING = 1e-24  # a mean square below this is zero

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Clusterer = Callable[[Array, Array, int], Clusters]
CLUSTERERS: dict[str, Clusterer] = {"kmeans": kmeans, "gmm": gmm}


def find_strata(
    X: ArrayLike,
    residual: ArrayLike,
    domain: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_strata: int | None = None,
    max_features: int = 2,
    cluster: Literal["kmeans", "gmm"] = "kmeans",
    max_rows: int = 20_000,
    random_state: int = 0,
    feature_names: Sequence[str] | None = None,
    among: Sequence[int] | None = None,
) -> Strata:
    """Find strata in the subspace of at most `max_features` features that separates noise and density best.

        argmax_A separation(cluster(X_A))

    Every subspace is clustered by k-means on standardised features and scored by how well it separates noise and
    density; the best one is clustered again into the number of strata that scores best. Fewer strata are returned if
    there are fewer distinct points or rows.

    Parameters
    ----------
    X : array of shape (n, p)
        The features, as numbers.
    residual : array of shape (n,)
        Squared residuals of a model.
    domain : array of shape (n,)
        The number of each row's domain.
    sample_weight : array, optional
        Weights count rows: two is the same as repeating the row. Rows with weight zero get a label, too.
    n_strata : int, optional
        The number of strata; by default the number from 8 to 12 that scores best.
    max_features : int
        The maximum number of features of a subspace.
    cluster : "kmeans" or "gmm"
        The clustering algorithm for the best subspace.
    max_rows : int
        With more rows, a sample is clustered and the other rows are assigned to its regions.
    random_state : int
        Seed of the sample and the clusters.
    feature_names : sequence of str, optional
        Names for the descriptions of strata.
    among : sequence of int, optional
        The features to consider; all by default.

    Returns
    -------
    Strata
        The strata: `labels` of the rows, and their description.

    Examples
    --------
    >>> import numpy as np
    >>> from rpo.grouping import find_strata
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 10, size=(600, 3))
    >>> residual = rng.normal(size=600) ** 2 * np.where(X[:, 1] > 7, 9.0, 1.0)
    >>> domain = np.arange(600) % 2
    >>> strata = find_strata(X, residual, domain, n_strata=3, feature_names=["age", "price", "size"])
    >>> strata.features
    (1,)
    >>> print(strata.describe())
    0: price 0–3
    1: price 4–6
    2: price 7–9
    """
    x, squared, domain_code, weight = _check_inputs(X, residual, domain, sample_weight)
    if cluster not in CLUSTERERS:
        raise InputError(f"cluster must be one of {', '.join(CLUSTERERS)}, got {cluster!r}")
    for name, value in (("n_strata", n_strata), ("max_features", max_features), ("max_rows", max_rows)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    names = default_names(x.shape[1], feature_names)

    rows = counted = np.flatnonzero(weight > 0)
    if len(rows) > max_rows:
        rows = np.sort(np.random.default_rng(random_state).choice(rows, max_rows, replace=False))
    sample = _Sample(x[rows], squared[rows], domain_code[rows], weight[rows])
    most = max(1, int(sample.weight.sum() // ROWS_PER_STRATUM))
    numbers = sorted({min(k, most) for k in range(FEWEST, MOST + 1)}) if n_strata is None else [n_strata]

    features = sample.best_subspace(numbers[-1], max_features, range(x.shape[1]) if among is None else among)
    score, clusters = sample.best_clusters(features, numbers, CLUSTERERS[cluster])
    columns = list(features)
    mean, scale = sample.mean[columns], sample.scale[columns]
    labels = place(x, features, mean, scale, clusters)
    inside, values = labels[counted], x[:, columns][counted]
    members = [values[inside == k] for k in range(len(clusters.centres))]
    return Strata(
        labels=labels,
        features=features,
        feature_names=tuple(names[j] for j in features),
        mean=mean,
        scale=scale,
        clusters=clusters,
        low=np.stack([member.min(axis=0) for member in members]),
        high=np.stack([member.max(axis=0) for member in members]),
        score=score,
    )


def rough(points: Array, weight: Array, n_clusters: int) -> Clusters:
    """Cluster at most 5,000 evenly spaced points by a few steps of k-means.

    >>> rough(np.arange(10_000.0)[:, None], np.ones(10_000), 2).centres.ravel().round(-2).tolist()
    [2500.0, 7500.0]
    """
    step = -(-len(points) // ROUGH_POINTS)
    return kmeans(points[::step], weight[::step], n_clusters, ROUGH_STEPS)


class _Sample:
    """The rows that are searched; points that coincide are merged, so order and repeats do not matter."""

    def __init__(self, x: Array, squared: Array, domain: Codes, weight: Array) -> None:
        # Weights with a mean below one are no counts: scale them to a mean of one.
        self.weight = weight * max(1.0, len(weight) / weight.sum())
        self.domain, _ = codes(domain)
        self.noise = relative_noise(squared, self.domain, self.weight)
        self.code, self.value, mean, scale = [], [], [], []
        for column in x.T:
            values, code = np.unique(column, return_inverse=True)
            mass = np.bincount(code, self.weight) / self.weight.sum()
            mean.append(mass @ values)
            gap = values - mean[-1]
            # In units of a power of two near the largest gap, so that no square overflows.
            unit = np.exp2(np.frexp(np.abs(gap).max())[1])
            scale.append(unit * np.sqrt(mass @ (gap / unit) ** 2) if len(values) > 1 else 1.0)
            # Beside a huge value others may coincide after scaling: these are merged here, too.
            distinct, merged = np.unique(gap / scale[-1], return_inverse=True)
            self.code.append(merged[code])
            self.value.append(distinct)
        self.mean, self.scale = np.array(mean), np.array(scale)

    def cluster(self, features: Sequence[int], number: int, clusterer: Clusterer) -> tuple[float, Clusters]:
        """Cluster one subspace; return its score and the non-empty regions, in the order of their centres."""
        first = key = np.zeros(len(self.weight), dtype=np.intp)
        for j in features:  # renumbered at every feature, so that the key cannot overflow
            _, first, key = np.unique(key * len(self.value[j]) + self.code[j], return_index=True, return_inverse=True)
        points = np.stack([self.value[j][self.code[j][first]] for j in features], axis=1)
        mass = np.bincount(key, self.weight).astype(np.float64)
        clusters = clusterer(points, mass, number)
        clusters = clusters.take(np.lexsort(clusters.centres.T[::-1]))
        used, label = np.unique(np.argmax(clusters.scores(points), axis=1), return_inverse=True)
        # Rounded, and the first of equals is chosen: rounding errors must not decide between two subspaces.
        return round(separation(label[key], self.noise, self.domain, self.weight), 9), clusters.take(used)

    def best_subspace(self, number: int, max_features: int, among: Sequence[int]) -> tuple[int, ...]:
        """Return the subspace with the highest score; the empty one if every feature is constant."""
        usable = [j for j in among if len(self.value[j]) > 1]
        score: dict[tuple[int, ...], float] = {(j,): self.cluster([j], number, rough)[0] for j in usable}
        best = sorted(sorted(usable, key=lambda j: -score[(j,)])[:BEST_SINGLES])
        for size in range(2, max_features + 1):
            score |= {subset: self.cluster(subset, number, rough)[0] for subset in combinations(best, size)}
        return max(score, key=lambda subset: score[subset], default=())

    def best_clusters(
        self, features: Sequence[int], numbers: Sequence[int], clusterer: Clusterer
    ) -> tuple[float, Clusters]:
        """Cluster one subspace into the number of regions that scores best."""
        if not features:
            return 0.0, balls(np.zeros((1, 0)))
        return max((self.cluster(features, k, clusterer) for k in numbers), key=lambda result: result[0])


def _check_inputs(
    X: ArrayLike, residual: ArrayLike, domain: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Codes, Array]:
    """Convert the inputs to arrays of one length; raise an error if they are invalid."""
    try:
        x, squared = np.asarray(X, dtype=np.float64), np.asarray(residual, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"X and residual must be numeric ({error}): encode categories first") from error
    code, _ = codes(domain, "domains")
    if x.ndim != 2 or len(x) == 0:
        raise InputError(f"X must be two-dimensional with at least one row, got shape {x.shape}")
    weight = np.ones(len(x)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    for name, column in (("residual", squared), ("domain", code), ("sample_weight", weight)):
        if column.shape != (len(x),):
            raise InputError(f"{name} must have one value per row ({len(x)}), got shape {column.shape}")
    for name, array in (("X", x), ("residual", squared), ("sample_weight", weight)):
        if not np.isfinite(array).all():
            raise InputError(f"{name} has missing or infinite values: fill or drop those rows")
    for name, column in (("residual", squared), ("sample_weight", weight)):
        if (column < 0).any():
            raise InputError(f"{name} must be non-negative")
    if not (weight > 0).any():
        raise InputError("sample_weight is zero in every row: at least one must be positive")
    return x, squared, code, weight


def separation(stratum: Codes, noise: Array, domain: Codes, weight: Array) -> float:
    """Score how well strata separate noise and density.

        noise_share · (1 + density_share)

    Both are shares, at most one, and zero on average for random strata. They are multiplied because a feature that
    separates the domains need not be related to quality: density counts only where the noise differs too.

    >>> stratum, domain = np.array([0, 0, 0, 1, 1, 1]), np.zeros(6, int)
    >>> separation(stratum, np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]), domain, np.ones(6))
    1.0
    """
    return noise_share(stratum, noise, domain, weight) * (1.0 + density_share(stratum, domain, weight))


def relative_noise(residual: Array, domain: Codes, weight: Array) -> Array:
    """Compute the noise of each row relative to its domain.

        u_i = log(1 + r_i / σ_e²) less its mean over domain e

    r_i are squared residuals, σ_e² their mean over the domain.

    The logarithm limits the influence of a few outliers; the one keeps residuals of zero finite.

    >>> relative_noise(np.array([2.0, 2.0, 0.0, 0.0]), np.array([0, 0, 1, 1]), np.ones(4)).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    mass = np.bincount(domain, weight)
    sigma2 = (np.bincount(domain, weight * residual) / mass)[domain]
    u = np.log1p(np.divide(residual, sigma2, out=np.zeros_like(residual), where=sigma2 > 0))
    return u - (np.bincount(domain, weight * u) / mass)[domain]


def noise_share(stratum: Codes, noise: Array, domain: Codes, weight: Array) -> float:
    """Compute the adjusted share of the noise's variance that lies between cells.

        1 − [SS_within / (W − E − f)] / [SS / (W − E)]

    SS is the sum of squares of `relative_noise` about its domain mean, SS_within about its cell mean, a cell being
    a stratum of one domain or of all the domains too small to split. W is the total weight, E the number of
    domains, f = #cells − Σ_ek N_ek² / (N_e N_cell) the degrees of freedom of the cell means. Strata unrelated to the
    noise thus score zero on average, whatever their number.

    >>> noise = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    >>> noise_share(np.array([0, 1, 0, 1, 0, 1]), noise, np.zeros(6, int), np.ones(6))
    1.0
    """
    mass = _masses(stratum, domain, weight)
    n_domains, n_strata = mass.shape
    per_domain = mass.sum(axis=1)
    owner = np.where(per_domain < ROWS_PER_CELL * n_strata, n_domains, np.arange(n_domains))
    cell = _masses(np.tile(np.arange(n_strata), n_domains), np.repeat(owner, n_strata), mass.ravel())
    total = _masses(stratum, owner[domain], weight * noise)
    filled = cell > 0
    square = float(weight @ noise**2)
    within = square - float(np.sum(total[filled] ** 2 / cell[filled]))
    used = mass > 0
    fixed = mass[used] ** 2 / (per_domain[:, None] * cell[owner])[used]
    free = float(per_domain.sum()) - n_domains
    cost = float(filled.sum() - fixed.sum())
    if square <= ROUNDING * free or free <= cost:
        return 0.0
    return float(1.0 - (within / (free - cost)) / (square / free))


def density_share(stratum: Codes, domain: Codes, weight: Array) -> float:
    """Compute how unevenly the domains fill the strata.

        max(0, [I(e; k) − (E − 1)(K − 1) / 2W] / H(e)),  I = Σ_ek (N_ek/N) log(r̂_ek / r̂_k)

    It is zero when r̂_ek = N_ek / N_e is the same for every domain, one when every stratum belongs to one domain. The
    term subtracted is its expectation by chance.

    >>> density_share(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), np.ones(4))
    0.0
    """
    mass = _masses(stratum, domain, weight)
    total = float(mass.sum())
    joint, of_domain, of_stratum = mass / total, mass.sum(axis=1) / total, mass.sum(axis=0) / total
    entropy = _entropy(of_domain)
    if entropy <= 0:
        return 0.0
    information = entropy + _entropy(of_stratum) - _entropy(joint)
    chance = (mass.shape[0] - 1) * (mass.shape[1] - 1) / (2 * total)
    return float(max(0.0, (information - chance) / entropy))


def _masses(stratum: Codes, domain: Codes, weight: Array) -> Array:
    """Sum the weights by domain and stratum."""
    shape = int(domain.max()) + 1, int(stratum.max()) + 1
    mass = np.bincount(domain * shape[1] + stratum, weight, minlength=shape[0] * shape[1])
    return mass.astype(np.float64).reshape(shape)


def _entropy(share: Array) -> float:
    return -float(np.sum(share * np.log(np.where(share > 0, share, 1.0))))
