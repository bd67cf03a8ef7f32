"""Domains made from a table by confounders that follow the target differently in each (the paper's Table 1)."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rpo.datasets.tables import Table, load_cigar, load_wage
from rpo.exceptions import InputError
from rpo.grouping.cluster import Array, kmeans

Labels = NDArray[np.intp]

TABLES = {"cigar": load_cigar, "wage": load_wage}
# The deviation of the confounders in the test domain, and the two features the strata are made of.
TEST_NOISE = {"cigar": 5.0, "wage": 8.0}
STRATA_BY = {"cigar": ("year", "price"), "wage": ("educ", "exper")}


@dataclass(frozen=True, eq=False)
class Part:
    """Rows for one purpose: standardised features, standardised target, domain, stratum, and what each row counts."""

    X: Array
    y: Array
    domain: Labels
    stratum: Labels
    weight: Array

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: NDArray[np.bool_]) -> "Part":
        """Return the rows of a mask."""
        return Part(self.X[rows], self.y[rows], self.domain[rows], self.stratum[rows], self.weight[rows])


@dataclass(frozen=True, eq=False)
class Confounded:
    """Training and validation rows of the training domains, and the test domain; `names` are the columns of X.

    `bad` says which (domain, stratum) cells were corrupted, shape (E, K).
    """

    train: Part
    validation: Part
    test: Part
    names: tuple[str, ...]
    bad: NDArray[np.bool_]


def make_confounded(
    table: Literal["cigar", "wage"] = "cigar",
    *,
    quality: Literal["clean", "mix", "cells"] = "clean",
    columns: Literal["all", "causal"] = "all",
    test_share: float = 0.25,
    validation_share: float = 0.2,
    confounders: int = 2,
    slopes: tuple[float, ...] = (1.0, 0.6, 0.3),
    noise: float = 0.2,
    test_slope: float = 0.0,
    test_noise: float | None = None,
    n_strata: int = 5,
    strata_by: tuple[str, str] | None = None,
    bad_cells: int = 2,
    bad_strata: int = 1,
    bad_share: float = 0.3,
    keep: float = 0.2,
    label_noise: float = 1.5,
    label_noise_first: bool = False,
    known_noise: bool = False,
    seed: int = 0,
) -> Confounded:
    """Make domains from a table by adding confounders z = s_e·y + τ ε, of slope s_e in training domain e.

    In the test domain they have slope 0 and noise that drowns.

    Rows are dealt at random: a quarter to the test domain, the rest to one training domain for each slope. Strata are
    k-means clusters of two features. Scales and strata are taken from the rows outside the test domain.

    Parameters
    ----------
    table : "cigar" or "wage"
        The table that the confounders are added to.
    quality : "clean", "mix" or "cells"
        "mix" makes `bad_cells` strata of one domain and `bad_strata` strata of every training domain bad, "cells" a
        share `bad_share` of all cells, wherever they fall.
    columns : "all" or "causal"
        "causal" leaves the confounders out.
    test_share, validation_share : float
        Shares of the rows.
    confounders : int
        How many.
    slopes : tuple of float
        s_e, one for each training domain.
    noise : float
        τ in the training domains.
    test_slope, test_noise : float
        Slope and noise in the test domain.
    n_strata : int
        How many strata.
    strata_by : tuple of two str, optional
        The features that strata are made of.
    bad_cells, bad_strata : int
        For "mix".
    bad_share : float
        For "cells".
    keep : float
        The share of their rows that bad cells keep.
    label_noise : float
        The deviation of what is added to labels of bad cells.
    label_noise_first : bool
        Add it before the confounders are made, not after.
    known_noise : bool
        Let training rows weigh 1/(σ₀² + σ_ek²), which nobody knows of real data: σ_ek is the deviation of what was
        added, σ₀ that of the clean target around a linear fit.
    seed : int
        Decides all draws.

    Examples
    --------
    >>> from rpo_lab.data.confounded import make_confounded
    >>> data = make_confounded("cigar", seed=1)
    >>> len(data.train), len(data.validation), len(data.test), data.names[-2:]
    (828, 207, 345, ('confounder_0', 'confounder_1'))
    >>> make_confounded("cigar", quality="mix", seed=1).bad.sum(axis=1).tolist()
    [1, 3, 1]
    """
    _check(table, quality, columns, slopes, n_strata, bad_cells, bad_strata)
    shares = {"test_share": test_share, "validation_share": validation_share, "keep": keep}
    for name, share in shares.items():
        if not 0 < share <= (1 if name == "keep" else 0.9):
            raise InputError(f"{name} must be a share of the rows, above 0 and below 1, got {share}")
    source, n_domains = TABLES[table](), len(slopes)
    by = STRATA_BY[table] if strata_by is None else strata_by
    rng = np.random.default_rng([seed, 0])

    domain = _deal(rng, len(source.frame), test_share, n_domains)
    inside = domain < n_domains
    X = standard(source.X.to_numpy(float), inside)
    y = standard(source.y.to_numpy(float), inside)
    stratum = strata_of(X[:, [_place(source, name) for name in by]], inside, n_strata)
    bad = np.zeros((n_domains + 1, n_strata), dtype=bool)
    present, error = np.ones(len(y), dtype=bool), np.zeros(len(y))
    weight = np.ones(len(y))
    if quality != "clean":
        if quality == "mix":
            bad[:n_domains] = _bad_cells(rng, n_domains, n_strata, bad_cells, bad_strata)
        else:
            bad[:n_domains] = scattered_cells(rng, n_domains, n_strata, bad_share)
        hit = bad[domain, stratum]
        present = ~hit | (rng.uniform(size=len(y)) < keep)
        error = np.where(hit, label_noise * rng.normal(size=len(y)), 0.0)
        if known_noise:
            weight = 1 / (linear_noise(X[inside], y[inside]) + label_noise**2 * hit)
    if columns == "all":
        slope = np.append(slopes, test_slope)[domain, None]
        spread = np.where(inside, noise, TEST_NOISE[table] if test_noise is None else test_noise)[:, None]
        followed = y + error if label_noise_first else y
        X = np.hstack([X, slope * followed[:, None] + spread * rng.normal(size=(len(y), confounders))])
    y = y + error

    validation = draw_validation(rng, np.where(present, domain, -1), n_domains, validation_share)
    names = (*source.features, *(f"confounder_{j}" for j in range(confounders if columns == "all" else 0)))
    whole = Part(X, y, np.where(inside, domain, 0), stratum, weight)
    train, held, test = (whole.take(rows) for rows in (present & inside & ~validation, validation, ~inside))
    return Confounded(train, held, test, names, bad[:n_domains])


def _deal(rng: np.random.Generator, rows: int, test_share: float, n_domains: int) -> Labels:
    """Draw a domain for each row; the last number is the test domain."""
    order = rng.permutation(rows)
    n_test = round(test_share * rows)
    domain = np.empty(rows, dtype=np.intp)
    domain[order[:n_test]] = n_domains
    domain[order[n_test:]] = np.arange(rows - n_test) % n_domains
    return domain


def draw_validation(
    rng: np.random.Generator, domain: NDArray[np.integer[Any]], n_domains: int, share: float, least: int = 1
) -> NDArray[np.bool_]:
    """Draw a share of the rows of every domain that has at least so many; numbers below 0 are of no domain."""
    validation = np.zeros(len(domain), dtype=bool)
    for e in range(n_domains):
        rows = rng.permutation(np.flatnonzero(domain == e))
        if len(rows) >= least:
            validation[rows[: round(share * len(rows))]] = True
    return validation


def standard(values: Array, inside: NDArray[np.bool_]) -> Array:
    """Scale values to mean 0 and deviation 1 over the rows inside."""
    known = values[inside]
    standard: Array = (values - known.mean(0)) / known.std(0)
    return standard


def strata_of(points: Array, inside: NDArray[np.bool_], n_strata: int) -> Labels:
    """Cluster points by k-means, fitted to those inside."""
    distinct, count = np.unique(points[inside], axis=0, return_counts=True)
    clusters = kmeans(distinct, count.astype(float), n_strata)
    labels: Labels = np.argmax(clusters.scores(points), axis=1)
    return labels


def _bad_cells(
    rng: np.random.Generator, n_domains: int, n_strata: int, bad_cells: int, bad_strata: int
) -> NDArray[np.bool_]:
    bad = np.zeros((n_domains, n_strata), dtype=bool)
    order = rng.permutation(n_strata)
    bad[:, order[:bad_strata]] = True
    bad[rng.integers(n_domains), order[bad_strata : bad_strata + bad_cells]] = True
    return bad


def scattered_cells(rng: np.random.Generator, n_domains: int, n_strata: int, share: float) -> NDArray[np.bool_]:
    """Draw a share of all cells; every domain keeps a good one.

    >>> cells = scattered_cells(np.random.default_rng(0), 200, 4, 0.5)
    >>> int(cells.sum()), bool(cells.all(1).any())
    (400, False)
    """
    wanted = round(share * n_domains * n_strata)
    if wanted > n_domains * (n_strata - 1):
        raise InputError(f"bad_share is too large, got {share}: every domain needs at least one good cell")
    for _ in range(1000):
        bad = np.zeros(n_domains * n_strata, dtype=bool)
        bad[rng.permutation(len(bad))[:wanted]] = True
        cells = bad.reshape(n_domains, n_strata)
        if not cells.all(1).any():
            return cells
    # Of very many domains one is always bad throughout: a good cell is drawn for each first, then bad ones elsewhere.
    good = np.zeros((n_domains, n_strata), dtype=bool)
    good[np.arange(n_domains), rng.integers(n_strata, size=n_domains)] = True
    cells = np.zeros_like(good)
    cells.flat[rng.permutation(np.flatnonzero(~good))[:wanted]] = True
    return cells


def linear_noise(X: Array, y: Array) -> float:
    """Compute the variance of the target around its linear fit."""
    design = np.column_stack([np.ones(len(X)), X])
    return float((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]).var())


def _place(table: Table, name: str) -> int:
    if name not in table.features:
        raise InputError(f"strata_by names {name!r}, which is not a feature; features: {', '.join(table.features)}")
    return table.features.index(name)


def _check(
    table: str,
    quality: str,
    columns: str,
    slopes: tuple[float, ...],
    n_strata: int,
    bad_cells: int,
    bad_strata: int,
) -> None:
    for name, value, known in (
        ("table", table, TABLES),
        ("quality", quality, ("clean", "mix", "cells")),
        ("columns", columns, ("all", "causal")),
    ):
        if value not in known:
            raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    if not slopes or n_strata < 1:
        raise InputError("at least one slope (one training domain each) and one stratum are needed")
    if bad_cells < 0 or bad_strata < 0 or bad_cells + bad_strata > n_strata:
        raise InputError(f"bad_cells={bad_cells} and bad_strata={bad_strata} must fit into the {n_strata} strata")
