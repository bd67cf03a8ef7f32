"""The penalties of a fitted model, and its cells from worst to best."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo.engine import Data
from rpo.functional.statistics import MIN_ROWS, cell_weight


@dataclass(frozen=True)
class FittedPenalties:
    """The penalties a model was trained with: `eta` by domain, `rho` by (domain, stratum), and `lam`."""

    eta: "pd.Series[float]"
    rho: "pd.Series[float]"
    lam: float
    scheme: str


def quality_table(
    data: Data, state: Mapping[str, NDArray[Any]], domains: NDArray[Any], strata: NDArray[Any], unit: float
) -> pd.DataFrame:
    """Return a row for each (domain, stratum) cell that has rows, worst first; noise in the unit of the target."""
    shape = {"n_domains": data.n_domains, "n_strata": data.n_strata}
    count = cell_weight(data.domain.numpy(), data.stratum.numpy(), weight=data.weight.numpy(), **shape)
    e, k = np.nonzero(count)
    table = pd.DataFrame(
        {
            "domain": domains[e],
            "stratum": strata[k],
            "n": count[e, k],
            "density": (count / np.maximum(count.sum(1, keepdims=True), 1e-300))[e, k],
            "noise": state["sigma"][e, k].astype(float) * unit,
            "rho": state["rho"][e, k].astype(float),
            # With too few rows to judge, the noise is that of the pool, or (scheme "paper") says next to nothing.
            "judged": count[e, k] >= MIN_ROWS,
        }
    )
    if np.all(table["n"] % 1 == 0):
        table["n"] = table["n"].astype(int)
    return table.sort_values("rho", ascending=False, kind="stable", ignore_index=True)


def fitted_penalties(
    quality: pd.DataFrame, state: Mapping[str, NDArray[Any]], domains: NDArray[Any], scheme: str
) -> FittedPenalties:
    """Return the penalties by name, from the table and the state of the model."""
    eta = pd.Series(state["eta"].astype(float), index=pd.Index(domains, name="domain"), name="eta")
    rho = quality.set_index(["domain", "stratum"])["rho"]
    return FittedPenalties(eta, rho, float(state["lam"]), scheme)
