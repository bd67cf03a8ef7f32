"""The stratum of each row: given, the class, one for all, or found by the residuals of a first stage."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpo.engine import Data
from rpo.engine.method import State
from rpo.grouping import find_strata
from rpo.grouping.strata import codes

Strata = tuple[NDArray[np.intp], NDArray[Any]]


def label_rows(strata: ArrayLike | None, target: NDArray[Any], grouping: str) -> Strata:
    """Return the stratum of each row and the names of all strata, without using the inputs.

    >>> label_rows(None, np.array(["b", "a"]), "class")
    (array([1, 0]), array(['a', 'b'], dtype='<U1'))
    """
    if strata is not None:
        return codes(strata, "strata", len(target))
    if grouping == "class":
        return codes(target, "classes", len(target))
    return np.zeros(len(target), np.intp), np.array(["all"], dtype=object)


def search_strata(
    data: Data, rows: NDArray[Any], first: State, n_strata: int | None, seed: int, names: list[str]
) -> Strata:
    """Search for strata among the inputs, by the residuals of a first stage."""
    strata = find_strata(
        rows,
        first["residual"][0].cpu().numpy(),
        data.domain.numpy(),
        sample_weight=data.weight.numpy().astype(float),
        n_strata=n_strata,
        random_state=seed,
        feature_names=names,
    )
    return strata.labels, np.asarray(strata.names, dtype=object)
