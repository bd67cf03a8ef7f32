"""RPO with uniform penalties is IRM + lip, but for the point about which its dummy classifier scales the logits."""

from functools import partial

import pytest
import torch

from rpo.engine import Config, Net, make_data, mlp, train
from rpo.engine.fingerprint import fingerprint
from rpo.engine.training import Preparation
from rpo.exceptions import InputError
from rpo.functional.penalties import optimal_lambda
from rpo.methods import get_method

CALIBRATED = {"scheme": "calibrated", "folds": 0}
SPLIT = {"irm_estimator": "split"}
TASKS = ("regression", "binary", "multiclass")


def table(task, scale=1.0):
    """Three domains by five strata, noisier from domain to domain; of the classes, the first is the most frequent."""
    generator = torch.Generator().manual_seed(0)
    domain, stratum = torch.arange(240) % 3, torch.arange(240) % 5
    x = torch.randn(240, 4, dtype=torch.float64, generator=generator)
    noise = torch.randn(240, dtype=torch.float64, generator=generator)
    signal = x[:, 0] - 0.5 * x[:, 1] + 0.3 * (1 + domain) * noise
    classes = (signal > 0.8).long() + (signal > 1.5).long()
    number = scale * (signal - signal.mean()) / signal.std()
    y = {"regression": number, "binary": (classes > 0).double(), "multiclass": classes}[task]
    return make_data(x, y, domain, task=task, stratum=stratum)


def fit(method, data, batch_size=None, **values):
    """Train a network for 60 steps in double precision; return its outputs for its rows, and its η."""
    numbers, options = get_method(method).fill(values)
    config = Config(steps=60, batch_size=batch_size, dtype=torch.float64, progress=False)
    network = partial(mlp, 4, data.n_outputs, (8, 6))
    trained = train(method, network, data, seeds=[0], numbers=numbers, options=options, config=config)
    return trained.output(data.x)[0], trained.snapshot.state.get("eta")


def apart(data, strength=100.0, eta=None, centre=None, **form):
    """Return the largest difference between the outputs of RPO with uniform penalties and of IRM + lip."""
    uniform, _ = fit("rpo-uniform", data, strength=strength, centre=centre, **CALIBRATED, **form)
    lam = optimal_lambda(data.size(1)[0].numpy())
    irm, _ = fit("irm-lip", data, eta=strength if eta is None else eta, lam=lam, **form)
    return float((uniform - irm).abs().max())


@pytest.mark.parametrize("strength", [0.5, 100.0])
@pytest.mark.parametrize("form", [{}, {**SPLIT, "batch_size": 16}], ids=["all-rows", "split-batches"])
@pytest.mark.parametrize("task", TASKS)
def test_uniform_penalties_about_zero_are_irm_lip(task, form, strength):
    assert apart(table(task), strength, centre="zero", **form) < 1e-9


@pytest.mark.parametrize("task", TASKS)
def test_about_log_odds_they_are_not_where_there_are_classes(task):
    """By about 0.4 in logits (docs/algorithm.md); a regression has no such centre."""
    data = table(task)
    assert apart(data, centre="log-odds") == apart(data)
    assert apart(data) < 1e-9 if task == "regression" else 0.3 < apart(data) < 0.6


def test_where_the_target_varies_much_the_strength_is_less_and_they_are_irm_lip_at_that():
    """Σ_e η_e m_e²/Σ_e m_e is held at 3/2, so that predicting zero is no minimum (docs/algorithm.md)."""
    data = table("regression", scale=3.0)
    _, eta = fit("rpo-uniform", data, strength=0.5, **CALIBRATED)
    assert eta.unique().numel() == 1
    assert eta.max() < 0.1
    assert apart(data, strength=0.5, eta=float(eta[0, 0])) < 1e-9 < apart(data, strength=0.5)


@pytest.mark.parametrize("task", TASKS)
def test_the_scheme_has_the_centre_that_it_had(task):
    for centre, values in (("zero", {"scheme": "paper", "strength": 0.01}), ("log-odds", CALIBRATED)):
        default, _ = fit("rpo", table(task), **values)
        same, _ = fit("rpo", table(task), centre=centre, **values)
        assert torch.equal(default, same)


def test_a_checkpoint_from_before_there_was_a_centre_is_recognised():
    data, method, network = table("binary"), get_method("rpo"), partial(mlp, 4, 1, (8, 6))

    def mark(**values):
        options = {name: value for name, value in method.fill({})[1].items() if name != "centre"} | values
        return fingerprint(method, Net(network), Preparation(data, [0], {}, options, network, Config()))

    assert mark() == mark(centre=None) != mark(centre="zero")


def test_no_other_centre():
    with pytest.raises(InputError, match="centre of method 'rpo' must be one of None, zero, log-odds, got 'mean'"):
        get_method("rpo").fill({"centre": "mean"})
