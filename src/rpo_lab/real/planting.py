"""Problems planted in the training domains of a table, of known place and size; held-out domains are unchanged."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpo._table.table import Table
from rpo.exceptions import InputError
from rpo_lab.data.confounded import scattered_cells

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

DEVIATIONS = 3.0  # of the target: the deviation of the noise that is added
WRONG = 0.4  # the share of labels that are turned
STRATA = 4  # of one column, by its quarters
SCARCE, THINNED = 1 / 3, 0.1  # the share of the domains that are thinned, and what they keep
SLOPES, CONFOUNDER_NOISE = (1.0, 0.6, 0.3), 0.2  # as in Table 1
CONFOUNDER = "(confounder)"
CLEAN = "as-they-are"  # the setting in which nothing is planted


SETTINGS: Mapping[str, str] = {
    CLEAN: "as they are",
    **{f"domains-{percent}": f"{percent} % bad domains" for percent in (10, 30, 50)},
    **{f"cells-{percent}": f"{percent} % bad cells" for percent in (10, 30, 50)},
    "scarce": "scarce domains",
    "confounder": "a confounder",
}
"""What is planted, by name: the kind, and in which share of the domains or cells; and in plain words."""


def is_noisy(setting: str) -> bool:
    """Return whether a setting makes labels noisy, so that there is a true noise to know.

    >>> is_noisy("domains-30"), is_noisy("scarce")
    (True, False)
    """
    return setting.startswith(("domains-", "cells-"))


@dataclass(frozen=True, eq=False)
class Planted:
    """The training rows after planting.

    `kept` are places among the rows given; `y` their target; `noise` the variance of what was added to the target of
    each, or for classes the chance that its label was turned; `bad` the rows that differ from what they were; and
    `column` a further column of these rows and `elsewhere` the same of the held-out ones.
    """

    kept: NDArray[np.intp]
    y: NDArray[Any]
    noise: Array
    bad: Flags
    column: Array | None = None
    elsewhere: Array | None = None


def plant(setting: str, ready: Table, others: int, rng: np.random.Generator) -> Planted:
    """Plant a setting's trouble in training rows; `others` is the number of rows that are held out.

    >>> import pandas as pd
    >>> from rpo._table import prepare
    >>> table = pd.DataFrame({"x": range(90), "y": [i % 7 for i in range(90)], "d": list("abc") * 30})
    >>> ready = prepare(table, target="y", domain="d", task="regression")
    >>> made = plant("domains-30", ready, 10, np.random.default_rng(0))
    >>> int(made.bad.sum()), len(np.unique(ready.domains[made.bad]))
    (30, 1)
    """
    if setting not in SETTINGS:
        raise InputError(f"unknown setting {setting!r}: use one of {', '.join(SETTINGS)}")
    rows = np.arange(len(ready.y))
    names, domain = np.unique(ready.domains, return_inverse=True)
    quiet = np.zeros(len(rows))
    plain = Planted(rows, ready.y, quiet, quiet > 0)
    if setting == CLEAN:
        return plain
    kind, _, percent = setting.partition("-")
    if kind == "scarce":
        return _thinned(plain, domain, len(names), rng)
    if kind == "confounder":
        return _confounded(plain, ready, domain, others, rng)
    share = int(percent) / 100
    if kind == "domains":
        hit = np.isin(domain, rng.permutation(len(names))[: int(np.ceil(share * len(names)))])
    else:
        stratum = quarters(ready, rng)
        hit = scattered_cells(rng, len(names), int(stratum.max()) + 1, share)[domain, stratum]
    return _noisy(plain, ready, hit, rng)


def _noisy(plain: Planted, ready: Table, hit: Flags, rng: np.random.Generator) -> Planted:
    """Add noise to the targets of affected rows; of classes, change a share of the labels to the next class."""
    if ready.task == "regression":
        size = DEVIATIONS * float(ready.y.std())
        y = ready.y + np.where(hit, size * rng.normal(size=len(hit)), 0.0)
        return replace(plain, y=y, noise=np.where(hit, size**2, 0.0), bad=hit)
    classes, label = np.unique(ready.y, return_inverse=True)
    turned = hit & (rng.random(len(hit)) < WRONG)
    y = classes[np.where(turned, (label + 1) % len(classes), label)]
    return replace(plain, y=y, noise=np.where(hit, WRONG, 0.0), bad=turned)


def quarters(ready: Table, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a stratum for each row: the quarter of one column.

    It is drawn among those that have four quarters, else among those that part rows at all; all rows are one stratum
    where none does.

    >>> import pandas as pd
    >>> from rpo._table import prepare
    >>> ready = prepare(pd.DataFrame({"x": range(40), "y": range(40)}), target="y")
    >>> np.bincount(quarters(ready, np.random.default_rng(0))).tolist()
    [10, 10, 10, 10]
    """
    edges = [np.unique(np.quantile(column, np.arange(1, STRATA) / STRATA)) for column in ready.X.T]
    parts = [np.searchsorted(edge, column, side="left") for edge, column in zip(edges, ready.X.T, strict=True)]
    number = np.array([len(np.unique(part)) for part in parts])
    best = np.flatnonzero(number == number.max())
    chosen = parts[int(rng.choice(best))]
    return np.unique(chosen, return_inverse=True)[1].astype(np.intp)


def _thinned(plain: Planted, domain: NDArray[np.intp], number: int, rng: np.random.Generator) -> Planted:
    thin = rng.permutation(number)[: int(np.ceil(SCARCE * number))]
    parts = []
    for e in range(number):
        rows = np.flatnonzero(domain == e)
        if e in thin:
            rows = rng.permutation(rows)[: max(1, round(THINNED * len(rows)))]
        parts.append(rows)
    rows = np.sort(np.concatenate(parts))
    return Planted(rows, plain.y[rows], plain.noise[rows], plain.bad[rows])


def _confounded(
    plain: Planted, ready: Table, domain: NDArray[np.intp], others: int, rng: np.random.Generator
) -> Planted:
    """Add a column z = s_e y + .2 ε with slopes that differ between domains; in held-out domains it is noise."""
    number = ready.y if ready.task == "regression" else np.unique(ready.y, return_inverse=True)[1]
    standard = (number - number.mean()) / (number.std() or 1.0)
    slope = np.resize(SLOPES, domain.max() + 1)[rng.permutation(domain.max() + 1)]
    z = slope[domain] * standard + CONFOUNDER_NOISE * rng.normal(size=len(domain))
    return replace(plain, column=z, elsewhere=z.mean() + z.std() * rng.normal(size=others))
