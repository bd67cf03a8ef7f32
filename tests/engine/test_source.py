"""Inputs fetched from a dataset: the same models as from tensors, whoever fetches, and wherever it stops."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

import rpo
from rpo.engine import Config, Source, cnn, make_data, mlp, train
from rpo.engine.data import assign_folds, draw_rows
from rpo.exceptions import InputError, TrainingError
from rpo.methods import methods

N = 60
FOLDS = {"folds": 2, "scheme": "calibrated"}
CONFIG = Config(steps=12, batch_size=4, dtype=torch.float64, progress=False)
FAST = {"erm-l2", "rpo", "har", "sat-irm", "mixup", "fishr"}
PAIRS = [
    pytest.param(m.name, m.tasks[-1], marks=[] if m.name in FAST else [pytest.mark.slow])
    for m in methods()
    if not m.at_once
]


def table(task="regression", n=N):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 4, dtype=torch.float64, generator=g)
    y = {"regression": x[:, 0], "binary": (x[:, 0] > 0).double(), "multiclass": (x[:, 0] > 0).long() + (x[:, 1] > 0)}
    return make_data(x, y[task], torch.arange(n) % 3, task=task, stratum=torch.arange(n) % 4)


def fetched(data, **options):
    return replace(data, x=Source(TensorDataset(data.x), **options))


def build(task="regression"):
    return lambda: mlp(4, 3 if task == "multiclass" else 1, (6,))


def fit(method, data, task="regression", config=CONFIG, **more):
    options = FOLDS if method.startswith("rpo") else {}
    return train(method, build(task), data, seeds=[3, 4], config=config, options=options, **more)


def same(one, other):
    assert torch.equal(one.snapshot.flat, other.snapshot.flat)
    assert all(torch.equal(value, other.snapshot.state[name]) for name, value in one.snapshot.state.items())


@pytest.mark.parametrize("method, task", PAIRS)
def test_the_same_weights_as_from_tensors(method, task):
    """Both stages where there are two, residuals out of fold."""
    data = table(task)
    ours, theirs = fit(method, data, task).check(), fit(method, fetched(data), task).check()
    same(ours, theirs)
    x = Source(TensorDataset(data.x)).to(torch.device("cpu"), torch.float64)
    torch.testing.assert_close(theirs.output(x), ours.output(data.x), rtol=0, atol=1e-12)


def test_workers_change_nothing():
    data = table()
    same(fit("rpo", fetched(data, workers=2)), fit("rpo", fetched(data)))


def test_folds_are_those_of_the_tensor():
    data = table()
    ones = torch.ones(N)
    assert torch.equal(assign_folds(Source(TensorDataset(data.x)), ones, 3), assign_folds(data.x, ones, 3))


class Pictures(Dataset):
    """Pictures of one colour; the label is how bright."""

    domains = np.array(["a", "b", "c"])[np.arange(N) % 3]

    def __len__(self):
        return N

    def __getitem__(self, i):
        noise = torch.randn(3, 8, 8, generator=torch.Generator().manual_seed(i))
        return noise * 0.3 + i % 2, "light" if i % 2 else "dark", str(self.domains[i])


def noisy(x):
    return x + 0.1 * torch.randn(x.shape) if float(torch.rand(())) < 0.5 else x.flip(-1)


def model(**options):
    return rpo.RPOClassifier(module=lambda s, n: cnn(s, n, (4, 4)), steps=8, batch_size=4, folds=2, **options)


def flat_line(shape, outputs):
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, outputs))


def test_an_estimator_takes_a_dataset_and_predicts_one():
    data = Pictures()
    fitted = rpo.DomainClassifier("irm-l2", module=flat_line, steps=40).fit(data)
    assert fitted.classes_.tolist() == ["dark", "light"]
    assert fitted.domains_.tolist() == ["a", "b", "c"]
    X = np.stack([data[i][0].numpy() for i in range(N)])
    y = ["light" if i % 2 else "dark" for i in range(N)]
    assert fitted.score(data, y) == fitted.score(X, y) > 0.9
    np.testing.assert_allclose(fitted.predict_proba(Source(data, workers=1)), fitted.predict_proba(X), atol=1e-6)


def test_augmentation_is_for_training_alone_and_drawn_from_seed_and_step(registry):
    """The same with workers, and another with another seed; what is evaluated is not touched."""
    seen = []

    def look(x):
        seen.append(float(x.mean()))
        return noisy(x)

    data = Pictures()
    one = model().fit(Source(data, augment=look))
    assert seen
    before = len(seen)
    assert np.isfinite(one.predict_proba(Source(data, augment=look))).all()
    assert len(seen) == before
    other = model().fit(Source(data, augment=noisy, workers=2))
    plain = model().fit(data)
    for name, value in one.params_.items():
        np.testing.assert_array_equal(value, other.params_[name])
    assert any((value != plain.params_[name]).any() for name, value in one.params_.items())
    # What a step is given depends on the model's seed and the step's number, not on where the training began.
    source = Source(data, augment=noisy)
    tensors = make_data(torch.zeros(N, 1), torch.zeros(N), torch.arange(N) % 3, task="regression")
    late = next(source.stream(draw_rows(tensors, [7], 4, first=2), [7], 2))
    stream = source.stream(draw_rows(tensors, [7], 4), [7], 0)
    third = [next(stream) for _ in range(3)][-1]
    assert all(torch.equal(a, b) for a, b in zip(late, third, strict=True))
    assert not torch.equal(third[1], next(source.stream(draw_rows(tensors, [8], 4, first=2), [8], 2))[1])


class Terminating(TensorDataset):
    """Sends this process SIGTERM when an item is fetched for the n-th time."""

    left = 0

    def __getitem__(self, i):
        Terminating.left -= 1
        if Terminating.left == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().__getitem__(i)


@pytest.mark.parametrize("fetches", [40, 330])
def test_sigterm_keeps_the_training_and_it_goes_on_bit_for_bit(tmp_path, fetches):
    """In the first stage, and in the second."""
    data = table()
    whole = fit("rpo", fetched(data))
    stopped = replace(data, x=Source(Terminating(data.x)))
    config = replace(CONFIG, checkpoint=tmp_path / "kept")
    Terminating.left = fetches
    with pytest.raises(SystemExit) as stop:
        fit("rpo", stopped, config=config)
    assert stop.value.code == 143
    assert list((tmp_path / "kept").rglob("*.safetensors"))
    same(fit("rpo", stopped, config=config), whole)
    changed = replace(data, x=Source(TensorDataset(data.x + 1)))
    with pytest.raises(InputError, match=r"belongs to another training \(different data\)"):
        fit("rpo", changed, config=config)


class Ragged(Dataset):
    def __len__(self):
        return N

    def __getitem__(self, i):
        return torch.zeros(3 + (i == 7)), float(i), i % 2


class Endless(IterableDataset):
    def __iter__(self):
        return iter(())


class Dying(Ragged):
    def __getitem__(self, i):
        if i == 7:
            os._exit(1)
        return torch.zeros(3), float(i), i % 2


@pytest.mark.parametrize("workers", [0, 1])
def test_inputs_of_two_shapes_are_one_line(workers):
    with pytest.raises(InputError, match=r"^the inputs of the dataset have different shapes \(\(3,\) and \(4,\)\)$"):
        rpo.DomainRegressor(steps=20).fit(Source(Ragged(), workers=workers))


def test_a_worker_that_dies_is_one_line():
    with pytest.raises(TrainingError, match="^a data-loading process was killed"):
        rpo.DomainRegressor(steps=20).fit(Source(Dying(), y=np.arange(N), domains=np.arange(N) % 2, workers=1))


BAD = {
    "an iterable dataset": (lambda: rpo.DomainRegressor().fit(Endless()), "must be map-style, with __len__"),
    "no items": (lambda: rpo.DomainRegressor().fit(TensorDataset(torch.zeros(0, 1))), "is empty"),
    "no target": (lambda: rpo.DomainRegressor().fit(TensorDataset(torch.zeros(9, 1))), "the dataset has no target"),
    "labels of another length": (
        lambda: Source(Pictures(), y=[1, 2]).labels("y"),
        r"y must have one label for each of the \d+ items, got shape \(2,\)",
    ),
    "workers": (lambda: Source(Pictures(), workers=-1), "workers must .* got -1"),
    "pictures without a network": (lambda: rpo.DomainClassifier().fit(Pictures()), r"inputs of shape \(3, 8, 8\)"),
    "a search for strata": (lambda: rpo.RPOClassifier(grouping="search").fit(flat()), "grouping='search' needs"),
    "all rows in a step": (
        lambda: rpo.DomainClassifier(batch_size=None).fit(flat()),
        "batch_size must be set for a dataset",
    ),
    "a method that looks at all": (lambda: rpo.DomainClassifier("mtl").fit(flat()), "'mtl' needs all rows in memory"),
}


def flat():
    return TensorDataset(torch.randn(9, 2, generator=torch.Generator()), torch.arange(9) % 2, torch.arange(9) % 3)


@pytest.mark.parametrize("call, said", BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_one_line(call, said):
    with pytest.raises(InputError, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_labels_come_from_the_call_then_the_dataset_then_its_items():
    data = Pictures()
    assert Source(data).labels("y")[:2].tolist() == ["dark", "light"]
    assert Source(data).labels("domains")[:2].tolist() == ["a", "b"]
    assert Source(data, domains=np.zeros(N)).labels("domains")[:2].tolist() == [0, 0]
    assert Source(data).labels("strata") is None


def test_strata_and_weights_are_taken():
    data = TensorDataset(table().x, table().y, torch.arange(N) % 3, torch.arange(N) % 2)
    fitted = rpo.RPORegressor(steps=5, folds=2).fit(data, sample_weight=np.r_[0.0, np.ones(N - 1)])
    assert sorted(set(fitted.quality_["stratum"])) == [0, 1]
    assert fitted.quality_["n"].sum() == N - 1
    assert fitted.dtype_ == "float64"
