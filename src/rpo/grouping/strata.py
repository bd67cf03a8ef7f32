"""Strata, their names, and where they come from by default."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rpo._io import Grouping
from rpo._mapped import blocks
from rpo.exceptions import InputError
from rpo.grouping.cluster import Array, Clusters

GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)


@dataclass(frozen=True)
class NamedStrata:
    """The stratum of every row, with the names of the strata.

    Parameters
    ----------
    labels : array of int
        The stratum of every row, from 0.
    names : tuple of str
        The name of every stratum.
    searched : bool
        Whether they were searched for, and not given.
    found : Strata, optional
        Where they lie, if they were searched for.

    Examples
    --------
    >>> import numpy as np
    >>> from rpo.grouping import NamedStrata
    >>> NamedStrata(np.array([0, 1, 0]), ("young", "old")).names
    ('young', 'old')
    """

    labels: NDArray[np.intp]
    names: tuple[str, ...]
    searched: bool = False
    found: "Strata | None" = None


@dataclass(frozen=True)
class Strata:
    """Strata found by search: regions of the subspace of a few features.

    `labels` are the strata of the rows that were searched; `assign` places any other row. `features` are the columns of
    the subspace, `score` how well it separates noise and density: 0 on average for random strata (`separation`).
    """

    labels: NDArray[np.intp]
    features: tuple[int, ...]
    feature_names: tuple[str, ...]
    mean: Array
    scale: Array
    clusters: Clusters
    low: Array
    high: Array
    score: float

    def __len__(self) -> int:
        return len(self.clusters.centres)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the strata: the range of every feature of the subspace over the stratum's rows."""
        names = [
            ", ".join(f"{name} {value_range(*ends)}" for name, *ends in zip(self.feature_names, low, high, strict=True))
            or "all rows"
            for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)
        ]
        seen = Counter[str]()
        for k, name in enumerate(names):  # clusters of two features may share both ranges
            seen[name] += 1
            names[k] = name if seen[name] == 1 else f"{name} ({seen[name]})"
        return tuple(names)

    def describe(self) -> str:
        """Return a text with one line per stratum: its number and its name."""
        return "\n".join(f"{k}: {name}" for k, name in enumerate(self.names))

    def assign(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return the stratum of every row of X, computed in blocks."""
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] <= max(self.features, default=-1):
            last = max(self.features, default=0)
            raise InputError(f"the strata use feature {last} (from 0), but the table has shape {array.shape}")
        return place(array, self.features, self.mean, self.scale, self.clusters)

    def to_dict(self) -> dict[str, Any]:
        """Return what `assign` and `names` need as plain lists for JSON, without the rows' labels."""
        return {
            "features": list(self.features),
            "feature_names": list(self.feature_names),
            "mean": self.mean.tolist(),
            "scale": self.scale.tolist(),
            "centres": self.clusters.centres.tolist(),
            "precisions": self.clusters.precisions.tolist(),
            "offsets": self.clusters.offsets.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "score": self.score,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Strata":
        """Restore strata from `to_dict`, without labels."""
        k, f = len(saved["offsets"]), len(saved["features"])
        array = {
            key: np.asarray(saved[key], dtype=np.float64)
            for key in ("mean", "scale", "centres", "precisions", "offsets", "low", "high")
        }
        return cls(
            labels=np.empty(0, dtype=np.intp),
            features=tuple(saved["features"]),
            feature_names=tuple(saved["feature_names"]),
            mean=array["mean"],
            scale=array["scale"],
            clusters=Clusters(array["centres"].reshape(k, f), array["precisions"].reshape(k, f, f), array["offsets"]),
            low=array["low"].reshape(k, f),
            high=array["high"].reshape(k, f),
            score=float(saved["score"]),
        )


def place(x: NDArray[Any], features: Sequence[int], mean: Array, scale: Array, clusters: Clusters) -> NDArray[np.intp]:
    """Return the region of every row of x by its standardised features, computed in blocks.

    >>> from rpo.grouping.cluster import balls
    >>> clusters = balls(np.array([[-1.0], [1.0]]))
    >>> place(np.array([[9.0, 5.0], [9.0, 7.5]]), [1], np.array([6.0]), np.array([1.0]), clusters).tolist()
    [0, 1]
    """
    labels = np.empty(len(x), dtype=np.intp)
    for rows in blocks(len(x)):
        points = (x[rows, list(features)].astype(np.float64) - mean) / scale
        labels[rows] = np.argmax(clusters.scores(points), axis=1)
    return labels


def default_names(n_features: int, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the feature names given, or x0, x1, ….

    >>> default_names(2, None)
    ('x0', 'x1')
    """
    names = tuple(f"x{j}" for j in range(n_features)) if feature_names is None else tuple(map(str, feature_names))
    if len(names) != n_features:
        raise InputError(f"got {len(names)} feature names for {n_features} features")
    return names


def value_range(low: float, high: float) -> str:
    """Format a range of numbers.

    >>> value_range(61.0, 75.25), value_range(-1.0, 2.0), value_range(3.0, 3.0)
    ('61–75.25', '-1 to 2', '3')
    """
    first, last = f"{low:.4g}", f"{high:.4g}"
    if first == last:
        return first
    return f"{first}–{last}" if low >= 0 else f"{first} to {last}"


def choose_grouping(grouping: Any, *, classes: bool, given: bool = False) -> Grouping:
    """Resolve "auto": search for strata in a regression, use one stratum of all rows for `classes`.

    Classes are used as strata only on request: the rarer one has larger residuals on clean data, too, and would count
    as noisy. Nor are strata searched for: residuals are largest between the classes, which is no noise either.

    >>> choose_grouping("auto", classes=False), choose_grouping("auto", classes=True)
    ('search', 'none')
    """
    checked = check_grouping(grouping, classes=classes, given=given)
    if checked == "auto":
        return "none" if classes else "search"
    return checked


def check_grouping(grouping: Any, *, classes: bool, given: bool = False) -> Grouping:
    """Check that the grouping exists, suits the target, and does not compete with strata that were `given`.

    >>> check_grouping("class", classes=True)
    'class'
    """
    if grouping not in GROUPINGS:
        raise InputError(f"grouping must be one of {', '.join(GROUPINGS)}, got {grouping!r}")
    if grouping == "class" and not classes:
        raise InputError("grouping='class' needs classes: use 'search' or 'none' for a regression")
    if given and grouping != "auto":
        raise InputError(f"grouping={grouping!r} has no effect when strata are given: remove one of them")
    checked: Grouping = grouping
    return checked


def codes(labels: ArrayLike, what: str = "labels", n: int | None = None) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Encode labels of any kind as integers 0, 1, …; also return the sorted labels.

    Raise an error unless there is one label per row, `n` of them if given.

    >>> code, label = codes(["b", "a", "b"])
    >>> code.tolist(), label.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    array = np.asarray(labels)
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float64)  # other widths fit neither into an index nor into JSON
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or n not in (None, len(array)):
        rows = "" if n is None else f" ({n})"
        raise InputError(f"{what} must have one label per row{rows}, got shape {array.shape}")
    if missing := int(pd.isna(array).sum()):
        raise InputError(f"{what} is missing in {missing} of {len(array)} rows: every row needs a label")
    try:
        code, known = pd.factorize(array, sort=True)
    except TypeError:  # labels of mixed types are ordered by their text
        code, known = pd.factorize(np.array([str(value) for value in array], dtype=object), sort=True)
    return code.astype(np.intp), np.asarray(known)
