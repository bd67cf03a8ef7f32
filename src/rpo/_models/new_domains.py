"""Methods of a fitted Quality model for unseen domains: intervals, and adapting to a few of their labels."""

import warnings
from copy import copy
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from rpo._models.adapting import (
    Adaptation,
    adapt_reference,
    adapt_to_labels,
    centre_of,
    design_of,
    effects_of,
    log_odds,
)
from rpo._models.intervals import (
    How,
    check_level,
    coverage,
    half_width,
    max_level,
    mean_probabilities,
    model_widths,
    smallest_sets,
)
from rpo._models.reference import Reference
from rpo._stats.effects import Effects
from rpo._stats.ridge import Array
from rpo.exceptions import InputError


def outputs_of(model: Any, numbers: Array) -> Array:
    """Predict rows whose columns are numbers already, `(n,)` or `(n, C)`."""
    return np.asarray(model._raw(numbers[:, model.kept_]))


class NewDomains:
    """Mixin of both Quality models for unseen domains."""

    reference_: Reference
    adaptation_: Adaptation | None = None
    _known_effects: Effects | None = None
    _known_moved: Reference | None = None

    def _features(self, X: Any) -> Array:
        raise NotImplementedError

    def _raw(self, values: Array) -> Array:
        raise NotImplementedError

    def _places(self, y: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    @property
    def max_level_(self) -> float:
        """The highest level that `predict_interval` supports: E/(E + 1) for E training domains."""
        check_is_fitted(self, "reference_")
        return max_level(self._held_out())

    @property
    def coverage_(self) -> pd.DataFrame:
        """What intervals (for classes, sets) held of each training domain not counted in them, a row for each level."""
        check_is_fitted(self, "reference_")
        return coverage(self)

    @property
    def own_rows_(self) -> float:
        """The number of labelled rows from which a linear model of the domain alone does better than `adapt`.

        Estimated from the training domains, with up to half of the rows of the largest one (at most 500); inf if never.
        """
        check_is_fitted(self, "reference_")
        return float(self.reference_.own[0])

    def _interval(self, X: Any, level: float, method: How, trusted: bool) -> NDArray[Any]:
        check_is_fitted(self, "reference_")
        held_out = self._held_out()
        check_level(held_out, level, method, trusted=trusted)
        values = self._features(X)
        raw = self._raw(values)
        value = raw if self.adaptation_ is None else self.adaptation_(raw)
        if method == "model" and self.adaptation_ is not None:
            raise InputError('method="model" does not support an adapted model: use method="conformal"')
        if value.ndim == 2:
            if method == "model":
                return smallest_sets(mean_probabilities(log_odds(value), self._effects()), level)
            inside = 1 - value <= half_width(held_out, level, trusted=trusted) + 1e-12
            inside[np.arange(len(value)), value.argmax(1)] = True  # a set is never empty
            return np.asarray(inside)
        scale = self.reference_.noise(values, raw)
        if method == "model":
            design = design_of(value, *centre_of(self.reference_))
            reach = model_widths(self.reference_, self._effects(), design, scale, level)
        else:
            reach = half_width(held_out, level, trusted=trusted) * scale
        return np.column_stack([value - reach, value + reach])

    def _held_out(self) -> Reference:
        """Return the held-out domains; those of an adapted model are adapted by as many of their own rows."""
        if self.adaptation_ is None:
            return self.reference_
        if self._known_moved is None:
            self._known_moved = adapt_reference(self.reference_, self._effects(), self.adaptation_.rows)
        return self._known_moved

    def _effects(self) -> Effects:
        """Estimate how domains differ from the model, once."""
        if self._known_effects is None:
            self._known_effects = effects_of(self.reference_)
        return self._known_effects

    def adapt(self, X: ArrayLike | pd.DataFrame, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Adapt the model to one new domain with a few labelled rows.

        The copy has an offset and a slope for the domain (for classification, of the log odds), shrunk according to how
        much held-out domains differ: one row changes it slightly, a hundred rows a lot, and nothing changes if domains
        do not differ. Its intervals are based on held-out domains adapted with the same number of their own rows. A
        warning is issued for more rows than `own_rows_`.

        Parameters
        ----------
        X : array or DataFrame of shape (n, n_features)
            The features of the labelled rows, a random sample of the new domain.
        y : array of shape (n,)
            Their target.
        sample_weight : array of shape (n,), optional
            Counts rows.

        Returns
        -------
        estimator
            A copy of the model; the model itself is not changed.
        """
        check_is_fitted(self, "reference_")
        if self.adaptation_ is not None:
            raise InputError(
                "the model is already adapted: call adapt on the original model, with all labelled rows at once"
            )
        if len(self.reference_.rows) < 2:
            raise InputError("the model was fitted to one domain: adapt needs a model of at least two")
        values, labels = self._features(X), column_or_1d(y, warn=True)
        check_consistent_length(values, labels)
        weight = np.asarray(_check_sample_weight(sample_weight, values, dtype=np.float64, ensure_non_negative=True))
        if pd.isna(labels).any():
            raise InputError(
                f"y is missing in {int(pd.isna(labels).sum())} of {len(labels)} rows: pass labelled rows only"
            )
        used = weight > 0
        if not used.any():
            raise InputError("sample_weight is zero in every row: at least one must be positive")
        values, target, weight = values[used], self._places(labels[used]), weight[used]
        raw = self._raw(values)
        moved = copy(self)
        scale = self.reference_.noise(values, raw)
        moved.adaptation_ = adapt_to_labels(self.reference_, self._effects(), raw, target, scale, weight)
        if len(target) >= self.own_rows_:
            warnings.warn(
                f"a model fitted to this domain alone may do better with {len(target)} labelled rows (in training "
                f"domains it does from about {self.own_rows_:.0f} on): fit one and compare",
                UserWarning,
                stacklevel=2,
            )
        return moved
