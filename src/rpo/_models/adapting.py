"""Adapting a model to a new domain by a few labels: offset and slope, shrunk by their variance between domains."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rpo._models.reference import Reference
from rpo._stats.effects import Effects, class_effect, class_effects, moved, number_effect, number_effects
from rpo._stats.ridge import Array

KNOWN = 10  # rows that the noise of training domains counts for, beside that of the new one
LEAST = 1e-6  # probability: below, log odds say how sure a model is of itself, not of a class


@dataclass(frozen=True, eq=False)
class Adaptation:
    """A model adapted to a domain by labelled rows: f + u₀ + u₁(f − centre)/spread, or log odds with u."""

    effect: Array
    centre: float
    spread: float
    rows: int

    def __call__(self, value: Array) -> Array:
        """Move the model's predictions to the domain."""
        if value.ndim == 2:
            return moved(log_odds(value), self.effect)
        return np.asarray(value + design_of(value, self.centre, self.spread) @ self.effect)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        return {"effect": self.effect, "place": np.array([self.centre, self.spread]), "rows": np.array([self.rows])}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], classes: int) -> Self:
        """Restore an adaptation from saved arrays; raise ValueError or KeyError if they are not valid."""
        effect, place, rows = (np.asarray(arrays[name]) for name in ("effect", "place", "rows"))
        if effect.shape != (classes + 1 if classes else 2,) or place.shape != (2,) or rows.shape != (1,):
            raise ValueError("the adaptation has the wrong shape")
        if effect.dtype.kind != "f" or place.dtype.kind != "f" or rows.dtype.kind != "i":
            raise ValueError("the adaptation is not numeric")
        if not (np.isfinite(effect).all() and np.isfinite(place).all()) or place[1] <= 0 or rows[0] < 1:
            raise ValueError("the adaptation is not finite")
        return cls(effect.astype(np.float64), float(place[0]), float(place[1]), int(rows[0]))


def effects_of(reference: Reference) -> Effects:
    """Estimate how domains differ from the model, from those that were held out."""
    if reference.classes:
        label = reference.target.astype(np.intp)
        return class_effects(log_odds(reference.value), label, reference.count, reference.domain)
    centre, spread = centre_of(reference)
    design = design_of(reference.value, centre, spread)
    return number_effects(design, reference.residual, reference.count / reference.scale**2, reference.domain)


def adapt_to_labels(
    reference: Reference, effects: Effects, value: Array, target: NDArray[Any], scale: Array, weight: Array
) -> Adaptation:
    """Estimate offset and slope of a domain from labelled rows; `scale` is the local noise of each."""
    if reference.classes:
        effect, _ = class_effect(effects, log_odds(value), target, weight)
        return Adaptation(effect, 0.0, 1.0, len(target))
    centre, spread = centre_of(reference)
    z, r, w = design_of(value, centre, spread), target - value, weight / scale**2
    own = float(w @ (r - np.average(r, weights=w)) ** 2)
    noise = (KNOWN * effects.noise + own) / (KNOWN + max(float(weight.sum()) - 1, 0))
    return Adaptation(number_effect(Effects(effects.variance, noise), z, r, w), centre, spread, len(target))


def adapt_reference(reference: Reference, effects: Effects, rows: int) -> Reference:
    """Adapt each held-out domain by as many rows as the new one; return the other rows, which show the remaining error.

    Domains that have no more rows than that are left out.
    """
    rng = np.random.default_rng(0)
    value, left = reference.value.copy(), np.zeros(len(reference.target), dtype=bool)
    kind = np.intp if reference.classes else np.float64
    for e in np.unique(reference.domain):
        every = np.flatnonzero(reference.domain == e)
        if len(every) <= rows:
            continue
        order = rng.permutation(every)
        own, others = order[:rows], np.sort(order[rows:])
        labelled = reference.value[own], reference.target[own].astype(kind), reference.scale[own]
        move = adapt_to_labels(reference, effects, *labelled, reference.count[own])
        value[others], left[others] = move(reference.value[others]), True
    cut = {name: getattr(reference, name)[left] for name in ("domain", "target", "scale", "count")}
    return replace(reference, value=value[left], **cut)


def centre_of(reference: Reference) -> tuple[float, float]:
    """Return mean and standard deviation of the predictions, the latter one if zero."""
    spread = float(reference.value.std())
    return float(reference.value.mean()), spread if spread > 0 else 1.0


def log_odds(probability: Array) -> Array:
    """Compute log p minus its mean over classes; probabilities are at least one in a million.

    >>> log_odds(np.array([[0.5, 0.5]])).tolist()
    [[0.0, 0.0]]
    """
    log = np.log(np.maximum(probability, LEAST))
    return np.asarray(log - log.mean(1, keepdims=True))


def design_of(value: Array, centre: float, spread: float) -> Array:
    """Return the columns of offset and slope, `(n, 2)`.

    >>> design_of(np.array([3.0]), 1.0, 2.0).tolist()
    [[1.0, 1.0]]
    """
    return np.column_stack([np.ones(len(value)), (value - centre) / spread])
