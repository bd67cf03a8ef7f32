"""Trainings kept in files: what is read is what was written, and what goes on ends as if never stopped."""

import os
import signal
from dataclasses import replace

import pytest
import torch
from torch import nn

from rpo.engine import Config, make_data, train
from rpo.engine.adam import AdamState
from rpo.engine.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from rpo.engine.trained import Snapshot
from rpo.exceptions import InputError
from rpo.methods import get_method


def kept():
    flat = torch.arange(10, dtype=torch.float64).reshape(2, 5) / 7
    snapshot = Snapshot(flat, AdamState(flat, flat.square(), torch.full((2, 1), 3.0)), {"q": flat[:, :2]}, 11)
    return Checkpoint(snapshot, flat[:, :1], [None, "step 3: risk is not finite"])


def test_all_of_it_comes_back(tmp_path):
    before = kept()
    write_checkpoint(tmp_path / "now", before, {"data": "1f"})
    after, mark = read_checkpoint(tmp_path / "now")
    assert after.snapshot.step == 11
    assert torch.equal(after.snapshot.flat, before.snapshot.flat)
    assert all(torch.equal(a, b) for a, b in zip(after.snapshot.adam, before.snapshot.adam, strict=True))
    assert torch.equal(after.snapshot.state["q"], before.snapshot.state["q"])
    assert torch.equal(after.curve, before.curve)
    assert (after.failures, mark) == (before.failures, {"data": "1f"})
    assert [p.name for p in tmp_path.iterdir()] == ["now"]


def test_a_torn_or_missing_file_is_one_line(tmp_path):
    write_checkpoint(tmp_path / "now", kept(), {})
    content = (tmp_path / "now").read_bytes()
    (tmp_path / "now").write_bytes(content[: len(content) // 2])
    for name in ("now", "never"):
        with pytest.raises(InputError, match="is not a valid checkpoint") as caught:
            read_checkpoint(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_written_leaves_the_old_file(tmp_path):
    write_checkpoint(tmp_path / "now", kept(), {})
    old = (tmp_path / "now").read_bytes()
    with pytest.raises(InputError, match="cannot create the folder"):
        write_checkpoint(tmp_path / "now" / "now", kept(), {})
    assert (tmp_path / "now").read_bytes() == old


class Trigger(nn.Module):
    """Passes its input on, and sends this process SIGTERM at its n-th call."""

    calls = 0

    def __init__(self, at):
        super().__init__()
        self.at = at

    def forward(self, x):
        Trigger.calls += 1
        if Trigger.calls == self.at:
            os.kill(os.getpid(), signal.SIGTERM)
        return x


def network(at, outputs=1):
    return lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), Trigger(at), nn.Linear(8, outputs))


def table(task="regression", n=60):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 4, generator=g)
    y = {"regression": x[:, 0], "binary": (x[:, 0] > 0).float(), "multiclass": (x[:, 0] > 0).long() + (x[:, 1] > 0)}
    return make_data(x, y[task], torch.arange(n) % 3, task=task, stratum=torch.arange(n) % 4)


CONFIG = Config(steps=40, batch_size=8, progress=False)
OPTIONS = {"rpo": {"scheme": "calibrated", "folds": 2, "reduction": "mean"}}


def run(method, data, folder, at=0, seeds=(3, 4), **changes):
    Trigger.calls = 0
    config = replace(CONFIG, checkpoint=folder, **changes)
    outputs = 3 if data.task == "multiclass" else 1
    return train(method, network(at, outputs), data, seeds=seeds, config=config, options=OPTIONS.get(method))


def same(one, other):
    assert torch.equal(one.snapshot.flat, other.snapshot.flat)
    assert all(torch.equal(a, b) for a, b in zip(one.snapshot.adam, other.snapshot.adam, strict=True))
    assert one.snapshot.state.keys() == other.snapshot.state.keys()
    assert all(torch.equal(value, other.snapshot.state[name]) for name, value in one.snapshot.state.items())
    assert torch.equal(one.curve, other.curve)
    assert one.failures == other.failures


CASES = [
    ("irm-lip", "regression"),
    ("rpo", "regression"),
    ("irm-lip-cv", "regression"),
    ("har", "binary"),
    ("groupdro", "regression"),
    ("dann", "binary"),
    ("mtl", "multiclass"),
    ("sat-irm", "multiclass"),
    ("mldg", "regression"),
]


@pytest.mark.parametrize("method, task", CASES)
def test_stopped_by_sigterm_at_several_steps_it_ends_bit_for_bit_the_same(tmp_path, method, task):
    data, codes, stages = table(task), [], []
    whole = run(method, data, None)
    at = Trigger.calls // 5  # counted from where it goes on
    done = None
    while done is None:
        try:
            done = run(method, data, tmp_path, at)
        except SystemExit as stopped:
            codes.append(stopped.code)
            stages.append((tmp_path / "training-0.safetensors").exists())
    assert codes == [143] * len(codes)
    assert len(codes) >= 3
    assert set(stages) == ({False, True} if method in ("rpo", "irm-lip-cv", "har") else {True})
    same(done, whole)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_several_stacks_are_kept_each(tmp_path, monkeypatch):
    whole = run("rpo", table(), None, seeds=range(5))
    monkeypatch.setattr("rpo.engine.training.STACK_BYTES", 2 * 24 * 8 * 4)
    with pytest.raises(SystemExit):
        run("rpo", table(), tmp_path, 400, seeds=range(5))
    kept = sorted(path.name for path in tmp_path.rglob("*.safetensors"))
    assert "training-0.safetensors" in kept
    done = run("rpo", table(), tmp_path, seeds=range(5))
    torch.testing.assert_close(done.snapshot.flat, whole.snapshot.flat, rtol=0, atol=1e-5)
    assert len(list(tmp_path.glob("training-*.safetensors"))) == 3


def test_what_is_done_is_not_done_again(tmp_path):
    first = run("rpo", table(), tmp_path)
    again = run("rpo", table(), tmp_path)
    assert Trigger.calls == 0
    same(again, first)


def test_failed_models_stay_failed(tmp_path):
    config = replace(CONFIG, checkpoint=tmp_path)
    data, rates = table(), {"lr": [1e-2, 1e200]}
    half = train("erm-l2", network(0), data, seeds=[3, 4], numbers=rates, config=config, until=20)
    done = train("erm-l2", network(0), data, seeds=[3, 4], numbers=rates, config=config)
    assert half.failures == done.failures
    assert done.failures[0] is None
    assert "not finite" in done.failures[1]
    assert done.curve.shape == (40, 2)


def test_a_file_is_written_at_every_interval(tmp_path):
    def steps(every):
        found = []

        class Watching(nn.Module):
            def forward(self, x):
                path = tmp_path / str(every) / "training-0.safetensors"
                found.append(read_checkpoint(path)[0].snapshot.step if path.exists() else 0)
                return x

        config = replace(CONFIG, checkpoint=tmp_path / str(every), every=every)
        train("erm-l2", lambda: nn.Sequential(nn.Linear(4, 1), Watching()), table(), seeds=[0], config=config)
        return found[1:]  # the first call looks whether the network draws

    assert steps(0) == list(range(40))
    assert steps(1e6) == [0] * 40


@pytest.mark.parametrize(
    "change, named",
    [
        ({"data": table(n=63)}, "data"),
        ({"method": "irm-l2"}, "method"),
        ({"method": replace(get_method("erm-l2"), version=2)}, "method"),
        ({"seeds": (3, 5)}, "seeds"),
        ({"steps": 41}, "steps, batches and precision"),
        ({"dtype": torch.float64}, "data"),
        ({"numbers": {"c": 0.5}}, "hyper-parameters"),
        ({"first": {"residual": torch.ones(2, 60)}}, "first stage"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_checkpoint_of_another_training_is_refused_in_one_line(tmp_path, change, named):
    given = {"method": "erm-l2", "data": table(), "seeds": (3, 4), "numbers": {}, "first": None}
    config = replace(CONFIG, checkpoint=tmp_path)

    def once(given, config):
        return train(given["method"], network(0), given["data"], config=config, until=3, **_rest(given))

    def _rest(given):
        return {name: given[name] for name in ("seeds", "numbers", "first")}

    once(given, config)
    other = replace(config, **{name: value for name, value in change.items() if name in ("steps", "dtype")})
    with pytest.raises(InputError, match=f"another training \\(different {named}\\)") as caught:
        once(given | {name: value for name, value in change.items() if name in given}, other)
    assert "\n" not in str(caught.value)


def test_another_network_is_refused(tmp_path):
    config = replace(CONFIG, checkpoint=tmp_path)
    train("erm-l2", lambda: nn.Sequential(nn.Linear(4, 1)), table(), seeds=[0], config=config, until=2)
    with pytest.raises(InputError, match="different network"):
        train("erm-l2", lambda: nn.Sequential(nn.Tanh(), nn.Linear(4, 1)), table(), seeds=[0], config=config)


def test_outside_the_main_thread_signals_are_left_alone(tmp_path):
    from threading import Thread

    before = signal.getsignal(signal.SIGTERM)
    found = []
    worker = Thread(target=lambda: found.append(run("erm-l2", table(), tmp_path)))
    worker.start()
    worker.join()
    assert len(found[0].curve) == 40
    assert signal.getsignal(signal.SIGTERM) is before
