"""The models of a fold combined for fast prediction of many rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from rpo._learners.bases import Coarse
from rpo._learners.learners import Additive, AdditiveClassifier, Line
from rpo._learners.pieces import Codes, Curves, Cuts, Trees, all_cuts
from rpo._learners.places import Places
from rpo._stats.ridge import Array

ROWS = 1 << 14  # at a time: what is known of so many stays near the processor


@dataclass(frozen=True, eq=False)
class Straight:
    """a + (x − m)b, for every output."""

    coef: Array
    """`(d, outputs)`."""
    intercept: Array
    mean: Array | float = 0.0

    def cuts(self) -> Cuts:
        """Return no cuts."""
        return []

    def over(self, places: Mapping[int, Places]) -> "Straight":  # noqa: ARG002 (as of any part)
        """Return itself."""
        return self

    def __call__(self, x: Array, codes: Codes) -> Array:  # noqa: ARG002 (as of any part)
        """Predict rows, `(n, outputs)`."""
        return np.asarray((x - self.mean) @ self.coef + self.intercept)


@dataclass(frozen=True, eq=False)
class Side:
    """Parts of several outputs, side by side."""

    parts: tuple[Any, ...]

    def cuts(self) -> Cuts:
        """Return the cuts of all parts."""
        return [pair for part in self.parts for pair in part.cuts()]

    def over(self, places: Mapping[int, Places]) -> "Side":
        """Return the same with pieces for every place."""
        return Side(tuple(part.over(places) for part in self.parts))

    def __call__(self, x: Array, codes: Codes) -> Array:
        """Predict rows, `(n, outputs)`."""
        return np.hstack([part(x, codes) for part in self.parts])


@dataclass(frozen=True, eq=False)
class Learner:
    """A learner's share of the stack, and the parts that add up to its prediction; of classes, to their log odds."""

    share: float
    parts: tuple[Any, ...]
    low: float = -np.inf
    high: float = np.inf
    classes: NDArray[np.intp] | None = None

    def __call__(self, x: Array, codes: Codes, n_classes: int) -> Array:
        """Predict its share of rows, `(n,)` or `(n, classes)`."""
        raw = self.parts[0](x, codes)
        for part in self.parts[1:]:
            raw = raw + part(x, codes)
        if self.classes is None:
            return np.asarray(self.share * np.clip(raw[:, 0], self.low, self.high))
        if raw.shape[1] == 1:
            p = expit(raw[:, 0])
            raw = np.column_stack([1 - p, p])
        else:
            raw = softmax(raw, axis=1)
        value = np.zeros((len(x), n_classes))
        value[:, self.classes] = self.share * raw
        return value


@dataclass(frozen=True, eq=False)
class Quick:
    """`FoldModels.plain` of one fold, equal to 1e-12, in a sixth of the time."""

    places: dict[int, Places]
    learners: tuple[Learner, ...]
    n_classes: int

    @classmethod
    def of(cls, fits: Sequence[Any], shares: Array, n_classes: int) -> "Quick | None":
        """Combine fitted learners; return None if one with a share is of another kind."""
        used = [(float(share), model) for share, model in zip(shares, fits, strict=True) if share > 0]
        learners = [_learner(share, model) for share, model in used]
        if any(learner is None for learner in learners):
            return None
        known = [learner for learner in learners if learner is not None]
        places = all_cuts([part for learner in known for part in learner.parts])
        combined = (replace(learner, parts=tuple(part.over(places) for part in learner.parts)) for learner in known)
        return cls(places, tuple(combined), n_classes)

    def __call__(self, x: Array) -> Array:
        """Predict rows, `(n,)` or `(n, classes)`; columns that lie together are faster."""
        value = np.empty((len(x), self.n_classes) if self.n_classes else len(x))
        for start in range(0, len(x), ROWS):
            rows = x[start : start + ROWS]
            codes = {column: place(rows[:, column]) for column, place in self.places.items()}
            value[start : start + ROWS] = sum(learner(rows, codes, self.n_classes) for learner in self.learners)
        return value


def _learner(share: float, model: Any) -> Learner | None:
    if type(model) is Line:
        return Learner(share, (Straight(model.line_.coef[:, None], np.array([model.line_.intercept])),))
    if type(model) is Additive:
        curves = Curves.of(model.basis_, model.pairs_, model.line_.coef, model.line_.intercept)
        trees = _trees(model.trees_) if model.trees else None
        if model.trees and trees is None:
            return None
        return Learner(share, (curves,) if trees is None else (curves, trees), float(model.low_), float(model.high_))
    if type(model) is AdditiveClassifier:
        coef = model.logistic_.coef_ / model.scale_.scale_
        intercept = model.logistic_.intercept_ - coef @ model.scale_.mean_
        parts = tuple(Curves.of(model.basis_, model.pairs_, c, a) for c, a in zip(coef, intercept, strict=True))
        return Learner(share, (Side(parts),), classes=np.asarray(model.classes_, dtype=np.intp))
    if type(model) is not Pipeline or len(model) != 2:
        return None
    if isinstance(model[0], StandardScaler) and isinstance(model[1], LogisticRegression):
        line = Straight((model[1].coef_ / model[0].scale_).T, model[1].intercept_, model[0].mean_)
        return Learner(share, (line,), classes=np.asarray(model.classes_, dtype=np.intp))
    if isinstance(model[0], Coarse) and (trees := _trees(model)) is not None:
        classes = getattr(model, "classes_", None)
        return Learner(share, (trees,), classes=None if classes is None else np.asarray(classes, dtype=np.intp))
    return None


def _trees(model: Pipeline) -> Trees | None:
    if not isinstance(model[-1], HistGradientBoostingRegressor | HistGradientBoostingClassifier):
        return None
    return Trees.of(model[-1], model[0])
