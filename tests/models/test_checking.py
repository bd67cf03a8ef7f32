"""What the Quality models are given, checked: one line says what is wrong."""

import numpy as np
import pandas as pd
import pytest

from rpo import QualityClassifier, QualityRegressor, RPOClassifier, RPORegressor
from rpo.exceptions import InputError, OneDomainWarning


def test_bad_arguments_are_one_line():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    for options, words in (
        ({"weights": "maybe"}, "weights must be one of auto, on, off"),
        ({"estimator": "tree"}, "unknown estimator 'tree'"),
        ({"estimator": 3}, "estimator must be a name or a scikit-learn estimator"),
        ({"random_state": -1}, "random_state must be a non-negative integer"),
    ):
        with pytest.raises(InputError, match=words):
            QualityRegressor(**options).fit(X, y, domains=np.arange(20) % 2)
    with pytest.raises(InputError, match="X has no column 'site'"):
        QualityRegressor().fit(pd.DataFrame(X), y, domains="site")
    with pytest.warns(OneDomainWarning):
        QualityRegressor("linear").fit(X, y)


def test_the_same_mistake_is_told_in_the_same_words_by_networks_and_quality_models():
    """Whoever changes from one to the other does not read another sentence."""
    X, y, domain = np.arange(20.0)[:, None], np.arange(20.0), np.arange(20) % 2

    def words(model, X, y):
        with pytest.raises(InputError) as error:
            model.fit(X, y, domains=domain[: len(X)])
        return str(error.value)

    for ours, theirs, X_given, y_given in (
        (QualityRegressor(), RPORegressor(), X, None),
        (QualityRegressor(), RPORegressor(), X[:1], y[:1]),
        (QualityRegressor(), RPORegressor(), X, np.ones(20)),
        (QualityRegressor(), RPORegressor(), X, np.repeat(["a", "b"], 10)),
        (QualityClassifier(), RPOClassifier(), X, np.repeat("a", 20)),
    ):
        assert words(ours, X_given, y_given) == words(theirs, X_given, y_given)
    with pytest.warns(OneDomainWarning) as one:
        QualityRegressor("linear").fit(X, y)
    with pytest.warns(OneDomainWarning) as other:
        RPORegressor(steps=2).fit(X, y)
    assert str(one[0].message) == str(other[0].message)
