"""The registry: every method says what a user must know, and refuses what it does not have."""

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo.methods import REGISTRY, get_method, methods


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


@pytest.mark.parametrize("name", ["rpo-weights", "erm-screened"])
def test_a_method_that_was_removed_is_one_line_that_says_what_to_use(name):
    with pytest.raises(InputError, match=rf"^method '{name}' was removed in 0.2: QualityRegressor\(.*\)$") as caught:
        get_method(name)
    assert "\n" not in str(caught.value)


def test_a_name_that_was_removed_is_free_for_a_method_of_your_own(monkeypatch):
    monkeypatch.setitem(REGISTRY, "rpo-weights", get_method("erm-l2"))
    assert get_method("rpo-weights").name == "erm-l2"


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
