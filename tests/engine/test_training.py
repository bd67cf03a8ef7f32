"""The trainer: stacked equals separate, interrupted equals whole, failures are named."""

import itertools
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn

from rpo._io import Bar
from rpo.engine import Config, make_data, mlp, stack_data, train
from rpo.exceptions import InputError, TrainingError
from rpo.functional.losses import sample_loss
from rpo.methods import methods

SEVEN = ["erm-l2", "erm-lip", "irm-l2", "irm-lip", "rpo", "rpo-pen", "rpo-lip"]
QUIET = {"progress": False, "dtype": torch.float64}


def table(task="regression", n=90, seed=0, domains=3):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, dtype=torch.float64, generator=g)
    signal = x[:, 0] - 0.5 * x[:, 1] + 0.3 * torch.randn(n, dtype=torch.float64, generator=g)
    y = {"regression": signal, "binary": (signal > 0).double(), "multiclass": (signal > 0).long() + (signal > 1)}[task]
    return make_data(x, y, torch.arange(n) % domains, task=task, stratum=torch.arange(n) % 5)


def build(outputs=1):
    return lambda: mlp(4, outputs, (8, 8))


@pytest.mark.parametrize("batch_size", [None, 16], ids=["full", "mini"])
@pytest.mark.parametrize("method", SEVEN)
def test_stacked_equals_separate(method, batch_size):
    """200 float64 steps: each model of a stack is the model trained alone, to 1e-9."""
    data, config = table(), Config(steps=200, batch_size=batch_size, **QUIET)
    rates = [0.01, 0.003, 0.01]
    together = train(method, build(), data, seeds=[5, 5, 9], numbers={"lr": rates}, config=config).check()
    for k, (seed, rate) in enumerate(zip([5, 5, 9], rates, strict=True)):
        alone = train(method, build(), data, seeds=[seed], numbers={"lr": rate}, config=config).check()
        torch.testing.assert_close(together.snapshot.flat[k], alone.snapshot.flat[0], rtol=0, atol=1e-9)
        torch.testing.assert_close(together.curve[:, k], alone.curve[:, 0], rtol=1e-9, atol=1e-9)


def test_models_with_data_of_their_own_equal_separate_ones():
    sets = [table(n=60, seed=1), table(n=90, seed=2)]
    config = Config(steps=200, **QUIET)
    together = train("rpo", build(), stack_data(sets), seeds=[1, 2], config=config).check()
    for k, data in enumerate(sets):
        alone = train("rpo", build(), data, seeds=[k + 1], config=config).check()
        torch.testing.assert_close(together.snapshot.flat[k], alone.snapshot.flat[0], rtol=0, atol=1e-9)


def test_a_stack_too_wide_is_cut_into_several(monkeypatch):
    data, config = table(), Config(steps=60, **QUIET)
    whole = train("rpo", build(), data, seeds=[0, 1, 2, 3, 4], config=config)
    monkeypatch.setattr("rpo.engine.training.STACK_BYTES", 2 * 90 * 8 * 8)
    pieces = train("rpo", build(), data, seeds=[0, 1, 2, 3, 4], config=config)
    torch.testing.assert_close(pieces.snapshot.flat, whole.snapshot.flat, rtol=0, atol=1e-9)
    torch.testing.assert_close(pieces.snapshot.state["rho"], whole.snapshot.state["rho"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", SEVEN)
def test_interrupted_equals_whole_bit_for_bit(method, tmp_path):
    data, config = table(), Config(steps=60, batch_size=8, **QUIET)
    whole = train(method, build(), data, seeds=[3, 4], config=config)
    kept = replace(config, checkpoint=tmp_path)
    half = train(method, build(), data, seeds=[3, 4], config=kept, until=37)
    rest = train(method, build(), data, seeds=[3, 4], config=kept)
    assert len(half.curve) == 37
    assert torch.equal(rest.snapshot.flat, whole.snapshot.flat)
    assert torch.equal(rest.curve, whole.curve)


@pytest.mark.parametrize("method", SEVEN)
@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_coefficients_at_zero_give_erm_exactly(method, task):
    data, outputs = table(task), 3 if task == "multiclass" else 1
    config = Config(steps=50, **QUIET)
    zero = {
        "erm-l2": {"c": 0.0},
        "erm-lip": {"lam": 0.0},
        "irm-l2": {"eta": 0.0, "c": 0.0},
        "irm-lip": {"eta": 0.0, "lam": 0.0},
    }.get(method, {"strength": 0.0, "lam": 0.0})
    options = {"reduction": "mean"} if method.startswith("rpo") else {}
    erm = train("erm-l2", build(outputs), data, seeds=[0, 1], numbers={"c": 0.0}, config=config)
    got = train(method, build(outputs), data, seeds=[0, 1], numbers=zero, options=options, config=config)
    assert torch.equal(got.snapshot.flat, erm.snapshot.flat)


@pytest.mark.parametrize("method", SEVEN)
@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_training_lowers_the_risk(method, task):
    data, outputs = table(task), 3 if task == "multiclass" else 1
    options = {"reduction": "mean", "scheme": "calibrated"} if method.startswith("rpo") else {}
    numbers = {"eta": 1.0} if method.startswith("irm") else {"lam": 0.1} if method.startswith("rpo") else {}
    config = Config(steps=300, **QUIET)
    trained = train(method, build(outputs), data, seeds=[0], numbers=numbers, options=options, config=config).check()
    after = sample_loss(trained.output(data.x)[0], data.y, task).mean()
    nothing = train(method, build(outputs), data, seeds=[0], config=config, until=0, options=options)
    before = sample_loss(nothing.output(data.x)[0], data.y, task).mean()
    assert after < 0.7 * before


@pytest.mark.parametrize("rescale", ["divide", "reset", "none"])
def test_annealing_puts_the_penalty_in_force_at_its_step(rescale):
    """A quarter of 80 steps: until then the runs of η = 1 and η = 100 are one, from then on they differ."""
    data, config = table(), Config(steps=80, **QUIET)
    options = {"rescale": rescale}
    strong = train("irm-lip", build(), data, seeds=[0], numbers={"eta": 100.0}, options=options, config=config)
    weak = train("irm-lip", build(), data, seeds=[0], numbers={"eta": 1.0}, options=options, config=config)
    assert torch.equal(strong.curve[:20], weak.curve[:20])
    assert not torch.equal(strong.curve[20], weak.curve[20])
    assert torch.isfinite(strong.curve).all()


def test_reset_forgets_the_moments_and_divide_bounds_the_loss():
    data, config = table(), Config(steps=80, **QUIET)
    run = lambda rescale, until: train(  # noqa: E731
        "irm-l2",
        build(),
        data,
        seeds=[0],
        numbers={"eta": 1e4},
        options={"rescale": rescale},
        config=config,
        until=until,
    )
    assert run("reset", 20).snapshot.adam.taken.item() == 20
    assert run("reset", 21).snapshot.adam.taken.item() == 1
    assert run("none", 21).snapshot.adam.taken.item() == 21
    assert run("divide", 80).curve[20:].max() < run("none", 80).curve[20:].max() / 100


def test_a_model_that_fails_is_named_and_the_others_go_on():
    data, config = table(), Config(steps=40, **QUIET)
    got = train("irm-lip", build(), data, seeds=[0, 1], numbers={"lr": [1e60, 0.01], "eta": 1.0}, config=config)
    assert got.failures[1] is None
    assert "term of the loss is not finite at step" in got.failures[0]
    good = train("irm-lip", build(), data, seeds=[1], numbers={"eta": 1.0}, config=config)
    torch.testing.assert_close(got.snapshot.flat[1], good.snapshot.flat[0], rtol=0, atol=1e-9)
    with pytest.raises(TrainingError, match="the (risk|irm|lipschitz) term"):
        got.check()


def test_a_failed_first_stage_is_said():
    data = table()
    got = train("rpo", build(), data, seeds=[0], numbers={"lr": 1e60}, config=Config(steps=20, **QUIET))
    assert got.failures[0].startswith("stage 1: the ")


def test_a_domain_of_one_row_and_a_batch_larger_than_any():
    rows = table(n=12)
    domain = torch.tensor([0] + [1] * 11)
    data = make_data(rows.x.float(), rows.y.float(), domain, task="regression", stratum=torch.arange(12))
    trained = train("rpo", build(), data, seeds=[0], config=Config(steps=20, batch_size=64, progress=False))
    assert trained.failures == [None]
    assert torch.isfinite(trained.snapshot.state["rho"]).all()


def test_cross_fitting_judges_a_row_by_models_that_did_not_see_it():
    """A network large enough to remember 40 rows of pure noise: in-sample residuals are near zero, cross-fitted not."""
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, 4, generator=g), torch.randn(40, generator=g)
    data = make_data(x, y, torch.arange(40) % 2, task="regression")
    config = Config(steps=600, progress=False)
    options = {"reduction": "mean"}
    wide = lambda: mlp(4, 1, (128,))  # noqa: E731
    noise = {
        folds: train(
            "rpo", wide, data, seeds=[0], numbers={"lam": 0.0}, options=options | {"folds": folds}, config=config
        ).snapshot.state["sigma"]
        for folds in (0, 4)
    }
    assert noise[0].max() < 0.5
    assert noise[4].min() > 0.8


def test_any_module_trains_and_stacks():
    def network():
        return nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(3, 1))

    data, config = table(), Config(steps=30, **QUIET)
    both = train("irm-lip", network, data, seeds=[0, 1], numbers={"eta": 1.0}, config=config).check()
    one = train("irm-lip", network, data, seeds=[1], numbers={"eta": 1.0}, config=config).check()
    torch.testing.assert_close(both.snapshot.flat[1], one.snapshot.flat[0], rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # the compiler's own
@pytest.mark.parametrize("method", ["irm-lip", "rpo", "andmask", "coral"])
def test_compiled_equals_eager(method):
    data = table()
    eager = train(method, build(), data, seeds=[0, 1], config=Config(steps=50, **QUIET))
    compiled = train(method, build(), data, seeds=[0, 1], config=Config(steps=50, compile=True, **QUIET))
    torch.testing.assert_close(compiled.snapshot.flat, eager.snapshot.flat, rtol=0, atol=1e-9)


WHOLE = [m.name if m.name == "irm-lip" else pytest.param(m.name, marks=pytest.mark.slow) for m in methods("binary")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # the compiler's own
@pytest.mark.parametrize("method", WHOLE)
def test_the_compiler_follows_the_whole_step(method, monkeypatch):
    """One break in the graph costs a fifth of a compiled step: an annotated inner function was enough."""
    strict = partial(torch.compile, fullgraph=True, backend="eager")
    monkeypatch.setattr(torch, "compile", strict)
    torch._dynamo.reset()
    config = Config(steps=2, batch_size=8, compile=True, **QUIET)
    train(method, build(), table("binary"), seeds=[0, 1], config=config).check()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"config": {"steps": 0}}, "steps must .* got 0"),
        ({"config": {"batch_size": 0}}, "batch_size must .* got 0"),
        ({"config": {"schedule": "linear"}}, "schedule must .* got 'linear'"),
        ({"config": {"device": "abacus"}}, "device must .* got 'abacus'"),
        ({"numbers": {"gamma": 1.0}}, "no hyper-parameter 'gamma'; it has eta, anneal, lam, lr"),
        ({"options": {"reduction": "median"}}, "must be one of mean, sum"),
        ({"method": "magic"}, "unknown method 'magic': use one of"),
    ],
)
def test_bad_settings_are_one_line(change, message):
    with pytest.raises(InputError, match=message):
        train(
            change.get("method", "irm-lip"),
            build(),
            table(),
            seeds=[0],
            numbers=change.get("numbers"),
            options=change.get("options"),
            config=Config(**change.get("config", {})),
        )


def test_the_progress_bar_waits_two_seconds(monkeypatch, capsys):
    clock = itertools.chain([0.0, 1.0], itertools.repeat(3.0))
    monkeypatch.setattr("rpo._io.time.monotonic", lambda: next(clock))
    with Bar(10, "work", show=True) as bar:
        bar.advance()
        assert bar.bar is None
        bar.advance()
        assert bar.bar is not None
    assert "work" in capsys.readouterr().err
