"""Noise of groups of rows, domains or strata or cells, each against the rest of its kind, worst first."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo.functional.noise import Array, exceeds, interval
from rpo.functional.significance import holm
from rpo.functional.statistics import MIN_ROWS

SURE = 0.05
# A difference smaller than this is nothing to act on, however sure it is.
WORTH_TELLING = 1.2


def judge(
    squared: Array, code: NDArray[np.intp], labels: Sequence[str], what: str, kurtosis: float, relative: Array
) -> pd.DataFrame:
    """A row for each group: n, noise with its interval, its ratio to the rest, p (Holm), and what that makes it.

    `relative` holds squared residuals that are comparable across groups; ratios and tests are made from them. A
    group of fewer than five rows is not judged.

    >>> squared = np.repeat([1.0, 1.0, 9.0], 50)
    >>> judge(squared, np.repeat([0, 1, 2], 50), ["a", "b", "c"], "site", 3.0, squared)[["site", "ratio", "noisy"]]
      site  ratio  noisy
    0    a   0.45  False
    1    b   0.45  False
    2    c   3.00   True
    """
    count = np.bincount(code, minlength=len(labels))
    total = np.bincount(code, relative, minlength=len(labels))
    n_rest = len(code) - count
    mean = total / np.maximum(count, 1)
    rest = (total.sum() - total) / np.maximum(n_rest, 1)
    noise = np.sqrt(np.bincount(code, squared, minlength=len(labels)) / np.maximum(count, 1))
    low, high = interval(noise, np.maximum(count, 1), kurtosis)
    judged = (count >= MIN_ROWS) & (n_rest > 0)
    p = np.where(judged, exceeds(mean, np.maximum(count, 1), rest, n_rest, kurtosis), np.nan)
    corrected = holm([None if np.isnan(value) else float(value) for value in p])
    ratio = np.sqrt(np.divide(mean, rest, out=np.ones_like(mean), where=rest > 0))
    sure = np.array([value is not None and value < SURE for value in corrected])
    table = pd.DataFrame(
        {
            what: list(labels),
            "n": count,
            "noise": noise,
            "low": low,
            "high": high,
            "ratio": np.round(ratio, 2),
            "p": [np.nan if value is None else value for value in corrected],
            "judged": judged,
            "noisy": sure & (ratio >= WORTH_TELLING),
        }
    )
    table.loc[count < MIN_ROWS, ["noise", "low", "high"]] = np.nan
    table.loc[~judged, "ratio"] = np.nan
    return table
