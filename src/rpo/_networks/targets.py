"""Encoding of the target, and decoding of the network's output, for regression and classification."""

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from rpo._networks.array_inputs import Array, weighted_moments
from rpo._networks.fetched import Inputs
from rpo._table.checks import check_classes, check_count, check_varies, numeric_target
from rpo.exceptions import InputError
from rpo.functional.losses import Task, probability


def class_codes(y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any], Task]:
    """Return the sorted classes, the code of each row's class, and the task: two classes are coded as floats.

    >>> class_codes(["b", "a", "b"])[1:]
    (array([1., 0., 1.]), 'binary')
    """
    classes, code = np.unique(y, return_inverse=True)
    if len(classes) == 2:
        return classes, code.astype(np.float64), "binary"
    return classes, code.astype(np.int64), "multiclass"


class RegressorTarget:
    """The target of a regression, standardised by default, so that penalties mean the same on any scale."""

    standardize: bool

    def _encode(self, y: NDArray[Any], weight: Array) -> tuple[Array, Task]:
        values = numeric_target(y)
        check_count(int((weight > 0).sum()))
        check_varies(values[weight > 0])
        mean, scale = weighted_moments(values[:, None], weight) if self.standardize else (np.zeros(1), np.ones(1))
        self.y_mean_, self.y_scale_ = float(mean[0]), float(scale[0])
        return (values - self.y_mean_) / self.y_scale_, "regression"

    def _encode_more(self, y: NDArray[Any]) -> Array:
        encoded: Array = (np.asarray(y, dtype=np.float64) - self.y_mean_) / self.y_scale_
        return encoded

    def predict(self, X: Inputs) -> Array:
        """Predict the target.

        Parameters
        ----------
        X : array of shape (n, …), DataFrame, Dataset or rpo.Source
            The inputs.

        Returns
        -------
        array of shape (n,)
            The predicted target of each row.
        """
        output = self._outputs(X)[:, 0].double().numpy()  # type: ignore[attr-defined]
        value: Array = output * self.y_scale_ + self.y_mean_
        return value


class ClassifierTarget:
    """The target of a classification: two classes share one logit, more have one each."""

    def _encode(self, y: NDArray[Any], weight: Array) -> tuple[NDArray[Any], Task]:
        check_classification_targets(y)
        used = y[weight > 0]
        self.classes_, code, task = class_codes(y)
        check_classes(used)
        return code, task

    def _encode_more(self, y: NDArray[Any]) -> NDArray[Any]:
        place = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if (unknown := y[self.classes_[place] != y]).size:
            raise InputError(f"the validation data have class {str(unknown[0])!r}, which is not in the training data")
        return place.astype(np.float64 if len(self.classes_) == 2 else np.int64)

    def predict_proba(self, X: Inputs) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array of shape (n, …), DataFrame, Dataset or rpo.Source
            The inputs.

        Returns
        -------
        array of shape (n, n_classes)
            The probabilities, in the order of `classes_`.
        """
        output: torch.Tensor = self._outputs(X)  # type: ignore[attr-defined]
        value: Array = probability(output.double(), self.task_).numpy()  # type: ignore[attr-defined]
        return value

    def predict(self, X: Inputs) -> NDArray[Any]:
        """Predict the class.

        Parameters
        ----------
        X : array of shape (n, …), DataFrame, Dataset or rpo.Source
            The inputs.

        Returns
        -------
        array of shape (n,)
            The most probable class of each row.
        """
        likeliest = self.predict_proba(X).argmax(1)
        labels: NDArray[Any] = self.classes_[likeliest]
        return labels
