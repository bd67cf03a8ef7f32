"""Radon by county, some counties held out whole: real domains, from one home to a hundred, of really uneven quality."""

import numpy as np

from rpo.datasets.tables import load_radon
from rpo.exceptions import InputError
from rpo_lab.data.confounded import Part, linear_noise, scattered_cells, standard


def make_counties(
    *,
    test_share: float = 0.25,
    validation_share: float = 0.2,
    bad_share: float = 0.0,
    label_noise: float = 1.5,
    known_noise: bool = False,
    seed: int = 0,
) -> tuple[Part, Part, Part]:
    """Training, validation and test rows: a quarter of the counties is the test domain, every other county one domain.

    Strata are homes with or without a basement in counties above or below the median of uranium. With `bad_share`,
    noise of `label_noise` times the target's deviation is added to the labels of that share of the (county, stratum)
    cells that have rows; with `known_noise` training rows weigh by it, as in `make_confounded`. A fifth of the rows
    of counties that have five or more is for validation.

    >>> train, validation, test = make_counties(seed=1)
    >>> len(train) + len(validation) + len(test), len(np.unique(train.domain))
    (919, 64)
    """
    for name, share in {"test_share": test_share, "validation_share": validation_share}.items():
        if not 0 < share < 1:
            raise InputError(f"{name} must be above 0 and below 1, got {share}")
    table = load_radon()
    rng = np.random.default_rng([seed, 0])
    assert table.domains is not None
    names, county = np.unique(table.domains.to_numpy(), return_inverse=True)
    order = rng.permutation(len(names))
    n_test = round(test_share * len(names))
    place = np.empty(len(names), dtype=np.intp)
    place[order] = np.arange(len(names)) - n_test
    domain = place[county]  # held-out counties have numbers below zero
    inside = domain >= 0
    X, y = standard(table.X.to_numpy(float), inside), standard(table.y.to_numpy(float), inside)
    uranium = X[:, table.features.index("uranium")]
    stratum = (2 * (X[:, table.features.index("basement")] > 0) + (uranium > np.median(uranium[inside]))).astype(
        np.intp
    )
    weight = np.ones(len(y))
    if bad_share:
        base = linear_noise(X[inside], y[inside])
        cell = np.where(inside, 4 * domain + stratum, -1)
        here = np.unique(cell[inside])
        hit = np.isin(cell, here[scattered_cells(rng, 1, len(here), bad_share)[0]])
        y = y + np.where(hit, label_noise * rng.normal(size=len(y)), 0.0)
        if known_noise:
            weight = 1 / (base + label_noise**2 * hit)
    validation = np.zeros(len(y), dtype=bool)
    for e in range(len(names) - n_test):
        rows = rng.permutation(np.flatnonzero(domain == e))
        if len(rows) >= 5:
            validation[rows[: round(validation_share * len(rows))]] = True

    def part(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Part:
        return Part(X[chosen], y[chosen], np.maximum(domain, 0)[chosen], stratum[chosen], weight[chosen])

    return part(inside & ~validation), part(validation), part(~inside)
