"""Everything that can be wrong with what `fit` is given: one line, a ValueError, what to do."""

import numpy as np
import pandas as pd
import pytest
import torch

from rpo import DomainClassifier, DomainRegressor, RPOClassifier, RPORegressor
from rpo.exceptions import InputError, OneDomainWarning, TrainingError

N = 30
X = np.random.default_rng(0).normal(size=(N, 3))
Y = X[:, 0].copy()
DOMAINS = np.arange(N) % 3


def with_value(value, rows=slice(0, 1), column=1):
    changed = X.copy()
    changed[rows, column] = value
    return changed


def frame(**columns):
    return pd.DataFrame({"age": X[:, 0], "dose": X[:, 1]} | columns)


CASES = {
    "domains of another length": (
        RPORegressor(),
        X,
        Y,
        {"domains": DOMAINS[1:]},
        "domains must have one label per row .30., got shape .29,.",
    ),
    "strata of another length": (
        RPORegressor(),
        X,
        Y,
        {"domains": DOMAINS, "strata": [1, 2]},
        "strata must have one label per row .30., got shape .2,.",
    ),
    "two columns of domains": (
        RPORegressor(),
        X,
        Y,
        {"domains": np.ones((N, 2))},
        "domains must have one label per row .30., got shape .30, 2.",
    ),
    "a missing domain": (RPORegressor(), X, Y, {"domains": [None, *DOMAINS[1:]]}, "domains is missing in 1 of 30 rows"),
    "all-NaN column": (
        RPORegressor(),
        frame(height=np.full(N, np.nan)),
        Y,
        {"domains": DOMAINS},
        "column 'height' of X contains only NaN: drop it",
    ),
    "some NaN": (
        RPORegressor(),
        with_value(np.nan),
        Y,
        {"domains": DOMAINS},
        "column 'x1' of X contains NaN in 1 of 30",
    ),
    "infinity": (RPORegressor(), with_value(np.inf), Y, {"domains": DOMAINS}, "column 'x1' of X contains infinity"),
    "infinite target": (
        RPORegressor(),
        X,
        np.where(X[:, 0] > 1, np.inf, Y),
        {"domains": DOMAINS},
        "y contains infinity",
    ),
    "constant target": (RPORegressor(), X, np.ones(N), {"domains": DOMAINS}, "the target is constant"),
    "text as a target": (RPORegressor(), X, ["a"] * N, {"domains": DOMAINS}, "must be numeric"),
    "text where a number should be": (
        RPORegressor(),
        frame(name=["x"] * N),
        Y,
        {"domains": DOMAINS},
        "holds .* not numbers",
    ),
    "dates": (
        RPORegressor(),
        frame(day=pd.date_range("2020-01-01", periods=N)),
        Y,
        {"domains": DOMAINS},
        "column 'day' of X holds datetime64.* not numbers",
    ),
    "categories": (
        RPORegressor(),
        frame(city=pd.Categorical(["a", "b", "c"] * 10)),
        Y,
        {"domains": DOMAINS},
        "column 'city' of X holds category values, not numbers",
    ),
    "an array of dates": (
        RPORegressor(),
        X.astype("M8[s]"),
        Y,
        {"domains": DOMAINS},
        "X must be numeric, got datetime64.s.",
    ),
    "one width": (RPORegressor(hidden=64), X, Y, {"domains": DOMAINS}, "hidden must be the widths .* got 64"),
    "steps that are no number of steps": (
        RPORegressor(steps=1.5),
        X,
        Y,
        {"domains": DOMAINS},
        "steps must be a positive integer, got 1.5",
    ),
    "a device that is not here": (
        RPORegressor(device="mps" if torch.cuda.is_available() else "cuda"),
        X,
        Y,
        {"domains": DOMAINS},
        "is not available on this machine; use 'auto' or 'cpu'",
    ),
    "weights that no sum can hold": (
        RPORegressor(),
        X,
        Y,
        {"domains": DOMAINS, "sample_weight": [1e30] + [1.0] * (N - 1)},
        "sample_weight ranges from 1 to 1e.30: rescale it",
    ),
    "a switch that is none": (
        RPORegressor(standardize="no"),
        X,
        Y,
        {"domains": DOMAINS},
        "standardize must be True or False, got 'no'",
    ),
    "half a stratum": (
        RPORegressor(n_strata=1.5, grouping="search"),
        X,
        Y,
        {"domains": DOMAINS},
        "n_strata must be a positive integer or None, got 1.5",
    ),
    "one class": (RPOClassifier(), X, ["yes"] * N, {"domains": DOMAINS}, "only one class .'yes'"),
    "one class of any weight": (
        RPOClassifier(),
        X,
        Y > 0,
        {"domains": DOMAINS, "sample_weight": (Y > 0).astype(float)},
        "only one class",
    ),
    "no rows": (RPORegressor(), X[:0], Y[:0], {}, "0 sample"),
    "all weights zero": (RPORegressor(), X, Y, {"sample_weight": np.zeros(N)}, "at least one non-zero"),
    "unknown method": (
        DomainRegressor("magic"),
        X,
        Y,
        {"domains": DOMAINS},
        "unknown method 'magic': use one of anchor, andmask",
    ),
    "unknown hyper-parameter": (
        DomainRegressor("erm-l2", hyperparameters={"gamma": 1}),
        X,
        Y,
        {"domains": DOMAINS},
        "no hyper-parameter 'gamma'; it has c, lr",
    ),
    "negative hyper-parameter": (
        DomainRegressor("erm-l2", hyperparameters={"c": -1}),
        X,
        Y,
        {"domains": DOMAINS},
        "'c' must be finite and non-negative, got -1",
    ),
    "text as hyper-parameter": (
        DomainRegressor("erm-l2", hyperparameters={"c": "big"}),
        X,
        Y,
        {"domains": DOMAINS},
        "'c' must be a number, got 'big'",
    ),
    "unknown scheme": (
        RPORegressor(scheme="magic"),
        X,
        Y,
        {"domains": DOMAINS},
        "must be one of calibrated, paper",
    ),
    "unknown grouping": (RPORegressor(grouping="magic"), X, Y, {"domains": DOMAINS}, "got 'magic'"),
    "classes of a regression": (RPORegressor(grouping="class"), X, Y, {"domains": DOMAINS}, "needs classes"),
    "a scheme that has left": (
        RPORegressor(scheme="weights"),
        X,
        Y,
        {"domains": DOMAINS},
        "must be one of calibrated, paper",
    ),
    "one fold": (RPORegressor(folds=1), X, Y, {"domains": DOMAINS}, "folds must be 0 .* or at least 2, got 1"),
    "strata given and searched for": (
        RPORegressor(grouping="search"),
        X,
        Y,
        {"domains": DOMAINS, "strata": DOMAINS},
        "grouping='search' has no effect when strata are given",
    ),
    "a number of strata given": (
        RPORegressor(n_strata=3),
        X,
        Y,
        {"domains": DOMAINS, "strata": DOMAINS},
        "n_strata=3 has no effect unless",
    ),
    "a number of strata not searched for": (
        RPOClassifier(n_strata=3),
        X,
        Y > 0,
        {"domains": DOMAINS},
        "n_strata=3 has no effect unless",
    ),
    "strata of a method without": (
        DomainRegressor("erm-l2", grouping="search"),
        X,
        Y,
        {"domains": DOMAINS},
        "method 'erm-l2' does not use strata: remove grouping",
    ),
    "no steps": (RPORegressor(steps=0), X, Y, {"domains": DOMAINS}, "steps must .* got 0"),
    "batch size as text": (RPORegressor(batch_size="big"), X, Y, {"domains": DOMAINS}, "batch_size must .* got 'big'"),
    "negative width": (RPORegressor(hidden=(-3,)), X, Y, {"domains": DOMAINS}, "hidden must be"),
    "unknown dtype": (RPORegressor(dtype="float16"), X, Y, {"domains": DOMAINS}, "dtype must .* got 'float16'"),
    "unknown device": (RPORegressor(device="abacus"), X, Y, {"domains": DOMAINS}, "device must .* got 'abacus'"),
    "negative seed": (RPORegressor(random_state=-1), X, Y, {"domains": DOMAINS}, "random_state must .* got -1"),
    "a module that is none": (
        RPORegressor(module=3),
        X,
        Y,
        {"domains": DOMAINS},
        "module must be an nn.Module .* got a int",
    ),
}


@pytest.mark.filterwarnings("ignore::rpo.exceptions.OneDomainWarning")
@pytest.mark.parametrize("name", CASES)
def test_one_line_that_says_what_is_wrong(name):
    model, rows, target, options, message = CASES[name]
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(rows, target, **options)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "params_")


def test_a_task_the_method_lacks_names_those_that_have_it(monkeypatch):
    from dataclasses import replace

    from rpo.methods import REGISTRY

    monkeypatch.setitem(REGISTRY, "irm-l2", replace(REGISTRY["irm-l2"], tasks=("binary",)))
    with pytest.raises(InputError, match=r"'irm-l2' does not support regression; methods that do: .*erm-l2.*rpo"):
        DomainRegressor("irm-l2").fit(X, Y, domains=DOMAINS)
    DomainClassifier("irm-l2", steps=5).fit(X, Y > 0, domains=DOMAINS)


def test_one_domain_works_with_a_warning():
    with pytest.warns(OneDomainWarning, match="only one training domain"):
        model = RPORegressor(steps=20).fit(X, Y, domains=["a"] * N)
    assert model.predict(X).shape == (N,)


def test_a_loss_that_is_not_finite_is_an_error_with_step_and_term():
    with pytest.raises(TrainingError, match="term of the loss is not finite at step"):
        DomainRegressor("irm-lip", hyperparameters={"eta": 1.0}, learning_rate=1e200, steps=50).fit(
            X, Y, domains=DOMAINS
        )


def test_new_rows_are_checked_as_well():
    model = DomainRegressor(steps=5).fit(frame(), Y, domains=DOMAINS)
    with pytest.raises(InputError, match="column 'dose' of X contains NaN"):
        model.predict(frame(dose=np.where(DOMAINS == 0, np.nan, 1.0)))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame().rename(columns={"dose": "amount"}))


@pytest.mark.parametrize("unit", [1e-200, 1e-20, 1e160])
def test_the_unit_of_a_target_or_a_feature_does_not_matter(unit):
    one = DomainRegressor(steps=100).fit(X, Y, domains=DOMAINS)
    target = DomainRegressor(steps=100).fit(X, Y * unit, domains=DOMAINS)
    np.testing.assert_allclose(target.predict(X) / unit, one.predict(X), rtol=1e-6, atol=1e-6)
    features = DomainRegressor(steps=100).fit(X * unit, Y, domains=DOMAINS)
    np.testing.assert_allclose(features.predict(X * unit), one.predict(X), rtol=1e-6, atol=1e-6)


def test_one_huge_cell_does_not_break_the_search_for_strata():
    model = RPORegressor(steps=3, grouping="search").fit(with_value(9.97e36), Y, domains=DOMAINS)
    assert np.isfinite(model.predict(X)).all()


def test_a_row_beyond_all_numbers_is_refused_when_predicting():
    model = DomainRegressor(steps=3).fit(X, Y, domains=DOMAINS)
    with pytest.raises(InputError, match="row 4 of X is so far from the training data"):
        model.predict(with_value(1.7e308, rows=slice(4, 5)))
