"""Datasets in place of arrays as inputs of `fit` and `predict`."""

from typing import Any

from numpy.typing import ArrayLike, NDArray
from torch.utils.data import Dataset

from rpo._io import Show
from rpo.engine.source import Source
from rpo.exceptions import InputError

Inputs = ArrayLike | Dataset[Any] | Source
Rows = NDArray[Any] | Source
FETCHED = 32  # rows per domain in a step, if there are so few that all would be used in memory


def as_source(X: Any) -> Source | None:
    """Wrap a dataset as a source of rows; return None for anything else.

    >>> as_source([[1.0], [2.0]]) is None
    True
    """
    if isinstance(X, Source):
        return X
    return Source(X) if isinstance(X, Dataset) else None


def get_labels(
    source: Source, y: ArrayLike | None, domains: ArrayLike | None, strata: ArrayLike | None, show: Show
) -> tuple[ArrayLike, ArrayLike | None, ArrayLike | None]:
    """Return target, domain and stratum of every item: those given to `fit`, else those of the dataset."""
    target = source.labels("y", show) if y is None else y
    if target is None:
        raise InputError("the dataset has no target: return items (x, y, domain), add an attribute targets, or pass y")
    domains = source.labels("domains", show) if domains is None else domains
    return target, domains, source.labels("strata", show) if strata is None else strata
