"""What Proposition 1 of RPO would ask of a judged table: η of every domain, ρ of every cell."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rpo._stats.ridge import Array
from rpo.functional.penalties import optimal_penalties
from rpo.functional.statistics import borrow, cell_weight, r_hat, shrink, sigma

if TYPE_CHECKING:
    from rpo._judging.judgement import Judgement


def penalties(found: "Judgement") -> pd.DataFrame:
    """One row per cell: η of its domain and its own ρ, in the calibrated scheme (mean one over domains, and over rows).

    σ is the root of the mean squared residual out of row, as in Algorithm 1; small cells borrow theirs, all are shrunk.
    """
    names, domain = np.unique(found.table.domains, return_inverse=True)
    stratum = found.assigned.labels
    shape = {"n_domains": len(names), "n_strata": len(found.assigned.names)}
    count = cell_weight(domain, stratum, **shape)
    plain = sigma(squared(found), domain, stratum, **shape)
    asked = optimal_penalties(
        shrink(borrow(plain, count), count),
        r_hat(domain, stratum, **shape),
        count.sum(1),
        scheme="calibrated",
        split=True,
    )
    e, k = np.nonzero(count)
    cell = {"domain": names[e], "stratum": np.asarray(found.assigned.names, dtype=object)[k]}
    table = pd.DataFrame(cell | {"eta": asked.eta[e], "rho": asked.rho[e, k]})
    return table.sort_values("eta", kind="stable", ignore_index=True)


def squared(found: "Judgement") -> Array:
    """Squared residuals over the target's variance; for classes half the squared distance of the probabilities."""
    y, value = found.table.y, found.expected.value
    if found.task == "regression":
        return np.asarray(((y - value) / np.std(y)) ** 2)
    truth = np.zeros_like(value)
    truth[np.arange(len(y)), np.unique(y, return_inverse=True)[1]] = 1.0
    return np.asarray(((truth - value) ** 2).sum(1) / 2)
