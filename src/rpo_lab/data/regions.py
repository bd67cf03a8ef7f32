"""Cigar by region, one region held out: natural domains, whose features really relate to the target in other ways."""

import numpy as np

from rpo.datasets.tables import load_cigar
from rpo.exceptions import InputError
from rpo_lab.data.confounded import Part, scattered_cells, standard, strata_of

REGIONS = 4
STRATA = 5


def make_regions(
    *, validation_share: float = 0.2, bad_share: float = 0.0, label_noise: float = 1.5, seed: int = 0
) -> tuple[Part, Part, Part]:
    """Training, validation and test rows: states in four regions by the price of their cheapest neighbour.

    Region `seed` modulo four is the test domain. Strata are k-means clusters of year and price. With `bad_share`, noise
    of `label_noise` times the target's deviation is added to the labels of that share of the training cells.

    >>> train, validation, test = make_regions(seed=1)
    >>> len(train) + len(validation) + len(test), len(np.unique(train.domain))
    (1380, 3)
    """
    if not 0 < validation_share < 1:
        raise InputError(f"validation_share must be above 0 and below 1, got {validation_share}")
    cigar = load_cigar()
    rng = np.random.default_rng([seed, 0])
    cheapest = cigar.frame.groupby("state")["pimin"].transform("mean").to_numpy()
    region = np.searchsorted(np.quantile(cheapest, [0.25, 0.5, 0.75]), cheapest)
    inside = region != seed % REGIONS
    domain = region - (region > seed % REGIONS)
    X, y = standard(cigar.X.to_numpy(float), inside), standard(cigar.y.to_numpy(float), inside)
    stratum = strata_of(X[:, [cigar.features.index(name) for name in ("year", "price")]], inside, STRATA)
    if bad_share:
        hit = inside & scattered_cells(rng, REGIONS - 1, STRATA, bad_share)[np.minimum(domain, REGIONS - 2), stratum]
        y = y + np.where(hit, label_noise * rng.normal(size=len(y)), 0.0)
    validation = inside & (rng.uniform(size=len(y)) < validation_share)

    def part(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Part:
        return Part(X[chosen], y[chosen], np.where(inside, domain, 0)[chosen], stratum[chosen], np.ones(chosen.sum()))

    return part(inside & ~validation), part(validation), part(~inside)
