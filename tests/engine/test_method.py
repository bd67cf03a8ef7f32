"""The registry: every method says what a user must know, and refuses what it does not have."""

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo.methods import get_method, methods


@pytest.mark.parametrize("method", methods(), ids=lambda m: m.name)
def test_every_method_says_what_it_is(method):
    assert method.summary.endswith(".")
    assert method.formula
    assert method.cite
    assert "lr" in method.space
    generator = np.random.default_rng(0)
    for hyper in method.space.values():
        assert hyper.low <= hyper.draw(generator) <= hyper.high
        assert hyper.default is None or hyper.default >= 0


def test_numbers_and_options_are_checked():
    method = get_method("irm-lip")
    numbers, options = method.fill({"eta": 3, "reduction": "sum"})
    assert numbers["eta"] == 3.0
    assert numbers["lam"] == method.space["lam"].default
    assert options == {"reduction": "sum", "irm_estimator": "square", "rescale": "divide"}
    for bad in ({"eta": np.nan}, {"eta": True}, {"eta": "1"}, {"eta": -1}, {"rescale": "no"}, {"foo": 1}):
        with pytest.raises(InputError):
            method.fill(bad)


def test_a_scheme_is_a_set_of_defaults_that_values_given_replace():
    method = get_method("rpo")
    numbers, options = method.fill({})
    assert (options["scheme"], options["reduction"], options["folds"], options["rescale"]) == (
        "paper",
        "sum",
        0,
        "none",
    )
    assert (numbers["anneal"], numbers["strength"]) == (0.0, 1.0)
    numbers, options = method.fill({"scheme": "calibrated", "folds": 2})
    assert (options["reduction"], options["folds"], options["rescale"]) == ("mean", 2, "divide")
    assert numbers["anneal"] == 0.25
