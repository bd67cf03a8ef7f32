"""Natural domains of tables that ship, some held out whole: Radon by county, Cigar by region."""

import numpy as np
from numpy.typing import NDArray

from rpo.datasets.tables import Table, load_cigar, load_radon
from rpo.exceptions import InputError
from rpo.grouping.cluster import Array
from rpo_lab.data.confounded import Part, draw_validation, linear_noise, scattered_cells, standard, strata_of

REGIONS = 4
STRATA = 5


def make_counties(
    *,
    test_share: float = 0.25,
    validation_share: float = 0.2,
    bad_share: float = 0.0,
    label_noise: float = 1.5,
    known_noise: bool = False,
    seed: int = 0,
) -> tuple[Part, Part, Part]:
    """Make training, validation and test rows of Radon, a quarter of its counties held out.

    Every other county is a domain, of one home to a hundred. Strata are homes with or without a basement in counties
    above or below the median of uranium. With `bad_share`, noise of `label_noise` times the target's deviation is added
    to the labels of that share of the (county, stratum) cells that have rows; with `known_noise` training rows weigh by
    it, as in `make_confounded`. A fifth of the rows of counties that have five or more is for validation.

    >>> train, validation, test = make_counties(seed=1)
    >>> len(train) + len(validation) + len(test), len(np.unique(train.domain))
    (919, 64)
    """
    _check_shares(test_share=test_share, validation_share=validation_share)
    table = load_radon()
    rng = np.random.default_rng([seed, 0])
    assert table.domains is not None
    names, county = np.unique(table.domains.to_numpy(), return_inverse=True)
    n_test = round(test_share * len(names))
    place = np.empty(len(names), dtype=np.intp)
    place[rng.permutation(len(names))] = np.arange(len(names)) - n_test
    domain = place[county]  # held-out counties have numbers below zero
    inside = domain >= 0
    X, y = _standard(table, inside)
    uranium = X[:, table.features.index("uranium")]
    stratum = 2 * (X[:, table.features.index("basement")] > 0) + (uranium > np.median(uranium[inside]))
    weight = np.ones(len(y))
    if bad_share:
        base = linear_noise(X[inside], y[inside])
        cell = np.where(inside, 4 * domain + stratum, -1)
        known = np.unique(cell[inside])
        bad = np.isin(cell, known[scattered_cells(rng, 1, len(known), bad_share)[0]])
        y = y + np.where(bad, label_noise * rng.normal(size=len(y)), 0.0)
        if known_noise:
            weight = 1 / (base + label_noise**2 * bad)
    validation = draw_validation(rng, domain, len(names) - n_test, validation_share, least=5)
    return _parts(Part(X, y, np.maximum(domain, 0), stratum.astype(np.intp), weight), inside, validation)


def make_regions(
    *, validation_share: float = 0.2, bad_share: float = 0.0, label_noise: float = 1.5, seed: int = 0
) -> tuple[Part, Part, Part]:
    """Make training, validation and test rows of Cigar, one of four regions held out.

    Regions are states by the price of their cheapest neighbour. Features really relate to the target in other ways from
    region to region. Region `seed` modulo four is the test domain. Strata are k-means clusters of year and price. With
    `bad_share`, noise of `label_noise` times the target's deviation is added to the labels of that share of the
    training cells.

    >>> train, validation, test = make_regions(seed=1)
    >>> len(train) + len(validation) + len(test), len(np.unique(train.domain))
    (1380, 3)
    """
    _check_shares(validation_share=validation_share)
    table = load_cigar()
    rng = np.random.default_rng([seed, 0])
    cheapest = table.frame.groupby("state")["pimin"].transform("mean").to_numpy()
    region = np.searchsorted(np.quantile(cheapest, [0.25, 0.5, 0.75]), cheapest)
    inside = region != seed % REGIONS
    domain = region - (region > seed % REGIONS)
    X, y = _standard(table, inside)
    stratum = strata_of(X[:, [table.features.index(name) for name in ("year", "price")]], inside, STRATA)
    if bad_share:
        bad = inside & scattered_cells(rng, REGIONS - 1, STRATA, bad_share)[np.minimum(domain, REGIONS - 2), stratum]
        y = y + np.where(bad, label_noise * rng.normal(size=len(y)), 0.0)
    validation = inside & (rng.uniform(size=len(y)) < validation_share)
    return _parts(Part(X, y, np.where(inside, domain, 0), stratum, np.ones(len(y))), inside, validation)


def _check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0 < share < 1:
            raise InputError(f"{name} must be above 0 and below 1, got {share}")


def _standard(table: Table, inside: NDArray[np.bool_]) -> tuple[Array, Array]:
    return standard(table.X.to_numpy(float), inside), standard(table.y.to_numpy(float), inside)


def _parts(rows: Part, inside: NDArray[np.bool_], validation: NDArray[np.bool_]) -> tuple[Part, Part, Part]:
    return rows.take(inside & ~validation), rows.take(validation), rows.take(~inside)
