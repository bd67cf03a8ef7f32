"""Looking on: validation domains, early stopping, callbacks, loggers; bfloat16, accumulated gradients, devices."""

import csv
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import rpo
from rpo.engine import Callback, Config, CSVLogger, Monitor, TensorBoardLogger, make_data, mlp, train
from rpo.engine.config import pick_device
from rpo.engine.stack import Stack
from rpo.engine.training import Preparation, begin, make_net
from rpo.exceptions import InputError
from rpo.functional.losses import sample_loss
from rpo.methods import get_method

CONFIG = Config(steps=40, batch_size=8, dtype=torch.float64, progress=False)


def table(n=60, seed=0, noise=1.0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, dtype=torch.float64, generator=g)
    y = x[:, 0] + noise * torch.randn(n, dtype=torch.float64, generator=g)
    return make_data(x, y, torch.arange(n) % 3, task="regression")


def build():
    return mlp(4, 1, (32,))


class Notes(Callback):
    def __init__(self):
        self.steps, self.evaluations, self.ended = [], [], 0

    def on_step(self, step, terms):
        self.steps.append((step, {name: value.tolist() for name, value in terms.items()}))

    def on_evaluate(self, step, risks):
        self.evaluations.append((step, {name: value.tolist() for name, value in risks.items()}))

    def on_end(self, trained):
        self.ended += 1


def run(monitor=None, config=CONFIG, seeds=(0,), method="erm-l2", **more):
    return train(method, build, table(), seeds=list(seeds), config=replace(config, monitor=monitor), **more)


def test_callbacks_see_every_step_every_evaluation_and_the_end():
    notes, held = Notes(), table(30, seed=9)
    trained = run(Monitor(validation=held, every=15, callbacks=[notes]))
    assert [step for step, _ in notes.steps] == list(range(1, 41))
    assert [terms["loss"] for _, terms in notes.steps] == trained.curve.tolist()
    assert sum(sum(notes.steps[3][1][name]) for name in ("risk", "l2")) == pytest.approx(notes.steps[3][1]["loss"][0])
    assert [step for step, _ in notes.evaluations] == [15, 30, 40]
    loss = sample_loss(trained.output(held.x)[0], held.y, "regression")
    for e in range(3):
        assert notes.evaluations[-1][1][str(e)][0] == pytest.approx(float(loss[held.domain == e].mean()))
    assert notes.ended == 1
    # Looking on changes nothing.
    assert torch.equal(trained.snapshot.flat, run().snapshot.flat)


@pytest.mark.parametrize("rule", ["mean", "worst"])
def test_early_stopping_gives_the_model_of_the_best_evaluation(rule):
    notes, held = Notes(), table(30, seed=9)
    config = replace(CONFIG, steps=400, schedule="constant")
    monitor = Monitor(validation=held, every=10, early_stopping=rule, patience=3, callbacks=[notes])
    trained = run(monitor, config, numbers={"lr": 0.05})
    score = [(np.mean if rule == "mean" else np.max)([v[0] for v in risks.values()]) for _, risks in notes.evaluations]
    best = int(np.argmin(score))
    assert len(score) == best + 4  # it stopped after three that were no better
    assert len(notes.steps) < 400
    until = run(None, config, numbers={"lr": 0.05}, until=notes.evaluations[best][0])
    assert torch.equal(trained.snapshot.flat, until.snapshot.flat)


def test_each_model_of_a_stack_stops_by_itself():
    config = replace(CONFIG, steps=300, schedule="constant")
    monitor = Monitor(validation=table(30, seed=9), every=10, early_stopping="mean", patience=2)
    both = run(monitor, config, seeds=(0, 1), numbers={"lr": [0.05, 0.002]})
    for k, rate in enumerate((0.05, 0.002)):
        alone = run(monitor, config, seeds=(k,), numbers={"lr": rate})
        torch.testing.assert_close(both.snapshot.flat[k], alone.snapshot.flat[0], rtol=0, atol=1e-9)


def test_a_stopped_training_goes_on_with_what_it_had_seen(tmp_path):
    """Killed between two evaluations: the same best model, and a log with every step once."""
    held, config = table(30, seed=9), replace(CONFIG, steps=80, schedule="constant")

    class Killed(Exception):
        pass

    class Kill(Callback):
        def on_step(self, step, terms):
            if step == 47:
                raise Killed

    def monitor(*callbacks):
        return Monitor(validation=held, every=10, early_stopping="mean", patience=9, callbacks=callbacks)

    whole = run(monitor(CSVLogger(tmp_path / "whole.csv")), config)
    kept = replace(config, checkpoint=tmp_path / "kept", every=0.0)
    log = CSVLogger(tmp_path / "log.csv")
    with pytest.raises(Killed):
        run(monitor(log, Kill()), kept)
    log.file.close()
    again = run(monitor(CSVLogger(tmp_path / "log.csv")), kept)
    assert torch.equal(again.snapshot.flat, whole.snapshot.flat)
    assert (tmp_path / "log.csv").read_text() == (tmp_path / "whole.csv").read_text()
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["name"] for row in rows} >= {"loss", "risk", "l2", "validation 0"}
    assert [int(row["step"]) for row in rows if row["name"] == "loss"] == list(range(1, 81))


def test_a_method_that_looks_at_all_rows_is_evaluated_a_domain_at_a_time():
    notes, held = Notes(), table(30, seed=9)
    trained = run(Monitor(validation=held, every=40, callbacks=[notes]), method="mtl")
    one = held.domain == 1
    loss = sample_loss(trained.output(held.x[one])[0], held.y[one], "regression")
    assert notes.evaluations[-1][1]["1"][0] == pytest.approx(float(loss.mean()))


def test_the_first_stage_is_not_looked_at():
    notes = Notes()
    run(Monitor(callbacks=[notes]), method="rpo", options={"folds": 2})
    assert [step for step, _ in notes.steps] == list(range(1, 41))


def test_an_estimator_evaluates_domains_by_their_names():
    data = table(90, noise=0.1)
    X, y, d = data.x.numpy(), 100 * data.y.numpy(), np.array(["a", "b", "c"])[data.domain]
    notes = Notes()
    monitor = Monitor(validation=(X[:30], y[:30], d[:30]), every=20, callbacks=[notes])
    model = rpo.DomainRegressor(steps=40).fit(X[30:], y[30:], domains=d[30:], monitor=monitor)
    assert model.validation_.columns.tolist() == ["step", "a", "b", "c"]
    assert model.validation_["step"].tolist() == [20, 40]
    wrong = (model.predict(X[:30]) - y[:30]) ** 2
    assert model.validation_["b"].iloc[-1] == pytest.approx(wrong[d[:30] == "b"].mean(), rel=1e-5)
    assert list(notes.evaluations[0][1]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "given, said",
    [
        ({"every": 0}, "every must .* got 0"),
        ({"patience": 1.5}, "patience must .* got 1.5"),
        ({"early_stopping": "best"}, "early_stopping must be 'mean', 'worst' or None, got 'best'"),
        ({"early_stopping": "mean"}, "early_stopping needs validation data"),
        (
            {"callbacks": [print]},
            "callbacks must be instances of rpo.engine.Callback, got a builtin_function_or_method",
        ),
    ],
)
def test_a_monitor_that_cannot_be_used_is_one_line(given, said):
    with pytest.raises(InputError, match=said):
        Monitor(**given)


def test_validation_must_be_rows():
    with pytest.raises(InputError, match=r"validation must be a tuple \(X, y\)"):
        rpo.DomainRegressor().fit([[0.0], [1.0]], [0.0, 1.0], domains=[0, 1], monitor=Monitor(validation=3))


def test_tensorboard_is_written_or_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"pip install 'rpo\[tensorboard\]'"):
        TensorBoardLogger(tmp_path)


def test_tensorboard_reads_what_was_logged(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run(Monitor(validation=table(30, seed=9), every=20, callbacks=[TensorBoardLogger(tmp_path)]))
    found = EventAccumulator(str(tmp_path)).Reload()
    assert {"train/loss", "train/risk", "validation/0"} <= set(found.Tags()["scalars"])
    assert len(found.Scalars("train/loss")) == 40
    assert [event.step for event in found.Scalars("validation/2")] == [20, 40]


def gradient(config, batches, method="irm-lip"):
    data, chosen = table(), get_method(method)
    numbers, options = chosen.fill({})
    hp = {name: torch.full((1,), value, dtype=torch.float64) for name, value in numbers.items()}
    net = make_net(chosen, build, data.n_domains, data.n_classes, options)
    now = begin(chosen, net, Preparation(data, [0], hp, options, build, config))
    stack = Stack(chosen, net, data, [0], hp, options, config)
    drawn = stack.batches(0)
    return [stack._gradient(now.flat, now.state, next(drawn)).vector for _ in range(batches)], stack, now


def test_accumulated_gradients_are_the_mean_of_those_of_their_batches():
    """Drawn like any others: batch a of step t is the one that step t·A + a would see."""
    apart, _, _ = gradient(CONFIG, 3)
    _, stack, now = gradient(replace(CONFIG, accumulate=3), 0)
    batches = stack.batches(0)
    parts = [next(batches) for _ in range(3)]
    assert [int(part.step) for part in parts] == [0, 0, 0]
    assert int(next(batches).step) == 1
    flat, _, _, _ = stack._step(now.flat, now.adam, now.state, *parts)
    mean = torch.stack(apart).mean(0)
    # Adam's first step is the rate times the sign of the gradient.
    torch.testing.assert_close(flat, now.flat - 0.01 * mean / (mean.abs() + 1e-8), rtol=0, atol=1e-9)


def test_accumulating_goes_on_where_it_stopped(tmp_path):
    config = replace(CONFIG, accumulate=2)
    whole = run(config=config)
    half = replace(config, checkpoint=tmp_path)
    run(config=half, until=17)
    assert torch.equal(run(config=half).snapshot.flat, whole.snapshot.flat)
    with pytest.raises(InputError, match="different steps, batches and precision"):
        run(config=replace(half, accumulate=3))


def test_accumulate_is_refused_where_it_means_nothing():
    with pytest.raises(InputError, match="accumulate needs mini-batches"):
        Config(accumulate=2)
    with pytest.raises(InputError, match="accumulate must .* got 0"):
        Config(accumulate=0)
    with pytest.raises(InputError, match="method 'andmask' computes its own update from one batch"):
        run(config=replace(CONFIG, accumulate=2), method="andmask")


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("erm-l2", "coral", "fishr", "rpo", "dann", "mixup")]


@pytest.mark.parametrize("method", ["irm-lip", *SLOW])
@pytest.mark.parametrize("models", [1, 2])
def test_bfloat16_is_near_float32(method, models):
    config = replace(CONFIG, dtype=torch.float32, steps=20)
    full = run(config=config, method=method, seeds=range(models))
    half = run(config=replace(config, autocast=True), method=method, seeds=range(models)).check()
    assert half.snapshot.flat.dtype == torch.float32
    assert not torch.equal(half.snapshot.flat, full.snapshot.flat)
    x = table().x.float()
    gap = (half.output(x) - full.output(x)).square().mean().sqrt() / full.output(x).std()
    assert float(gap) < 0.2


def test_an_estimator_trains_in_bfloat16_and_accumulates():
    data = table(200)
    model = rpo.DomainRegressor(steps=30, dtype="bfloat16", batch_size=8, accumulate=2)
    model.fit(data.x.numpy(), data.x[:, 0].numpy(), domains=data.domain.numpy())
    assert model.dtype_ == "float32"
    assert model.score(data.x.numpy(), data.x[:, 0].numpy()) > 0.8


@pytest.mark.parametrize("name", [n for n in ("cuda", "mps") if not getattr(torch, n).is_available()])
def test_a_device_that_is_not_there_is_one_line(name):
    with pytest.raises(InputError, match=f"^device '{name}' is not available on this machine; use 'auto' or 'cpu'$"):
        pick_device(name)


def test_the_apple_device_computes_in_single_precision(monkeypatch):
    monkeypatch.setattr("rpo.engine.training.pick_device", lambda name: torch.device("mps"))
    with pytest.raises(InputError, match="device 'mps' does not support double precision: use dtype='float32'"):
        run(config=replace(CONFIG, device="mps"))
