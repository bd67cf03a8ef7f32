"""Dropout, batch norms and attention: allowed where the loss lets rows mix, refused by name where it does not."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.func import functional_call

import rpo
from rpo.engine import Callback, Config, Monitor, make_data, train
from rpo.engine.data import draw_rows
from rpo.engine.drawing import Seeded
from rpo.engine.layers import BUFFER, evaluating, measure_statistics, twice_differentiable
from rpo.exceptions import InputError
from rpo.functional.rows import check_module, mixing
from rpo.functional.slope import output_and_slope
from rpo.methods import get_method, methods

CONFIG = Config(steps=12, batch_size=6, dtype=torch.float64, progress=False)
PER_ROW = [m.name for m in methods() if m.per_row]


def table(n=60, task="binary"):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 4, dtype=torch.float64, generator=g)
    y = {"binary": (x[:, 0] > 0).double(), "regression": x[:, 0]}[task]
    return make_data(x, y, torch.arange(n) % 3, task=task)


def norm():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))


def drop():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))


def both():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))


def run(build, method="erm-l2", seeds=(3,), config=CONFIG, **more):
    return train(method, build, table(), seeds=list(seeds), config=config, **more).check()


def test_the_lipschitz_family_and_har_are_those_that_differentiate_rows():
    ours = {
        "erm-lip",
        "irm-lip",
        "rpo",
        "rpo-pen",
        "rpo-lip",
        "rpo-permuted",
        "rpo-uniform",
        "irm-lip-cv",
    }
    assert set(PER_ROW) == ours | {"har", "mldg"}


@pytest.mark.parametrize("method", PER_ROW)
def test_they_refuse_both_by_name(method):
    for build, said in ((norm, "layer '1' is a BatchNorm1d"), (drop, "layer '2' is a Dropout")):
        with pytest.raises(InputError, match=f"^{said}.*method '{method}'") as caught:
            run(build, method)
        assert "\n" not in str(caught.value)


def some(names, fast):
    """All of them; those that are not of the fast ones take their time."""
    return [name if name in fast else pytest.param(name, marks=pytest.mark.slow) for name in names]


OTHERS = [m.name for m in methods("binary") if not m.per_row]


@pytest.mark.parametrize("method", some(OTHERS, {"erm-l2", "mtl", "fishr", "iga", "mixup"}))
def test_all_others_train_with_both_and_predict_the_same_twice(method):
    trained = run(both, method)
    x = table().x
    assert torch.equal(trained.output(x), trained.output(x))
    assert torch.equal(trained.snapshot.flat, run(both, method).snapshot.flat)


def test_dropout_depends_on_the_models_seed_and_the_step_alone(tmp_path):
    """Not on the stack, nor on a stop."""
    alone = run(drop)
    assert torch.equal(run(drop, seeds=(3, 4)).snapshot.flat[:1], alone.snapshot.flat)
    assert not torch.equal(run(drop, seeds=(4,)).snapshot.flat, alone.snapshot.flat)
    kept = replace(CONFIG, checkpoint=tmp_path)
    run(drop, config=kept, until=5)
    assert torch.equal(run(drop, config=kept).snapshot.flat, alone.snapshot.flat)


def test_dropout_drops_in_training_and_not_in_predictions():
    lines = []

    class Note(Callback):
        def on_step(self, step, terms):
            lines.append(float(terms["loss"]))

    constant = replace(CONFIG, batch_size=None, monitor=Monitor(callbacks=[Note()]))
    run(drop, config=constant, numbers={"lr": 0.0})
    assert len(set(lines)) == CONFIG.steps  # the same rows and weights: only what is dropped differs
    trained = run(drop)
    with evaluating(trained.net.module):
        params = {name: value[0] for name, value in trained.net.unflatten(trained.snapshot.flat).items()}
        expected = functional_call(trained.net.module, params, (table().x,))
    assert torch.equal(trained.output(table().x)[0], expected)


def test_dropout_of_graphics_cards_draws_from_our_generator():
    x = torch.ones(1000)
    with Seeded(1):
        first, mask = torch.native_dropout(x, 0.25, True)
    with Seeded(1):
        again, _ = torch.native_dropout(x, 0.25, True)
        whole, all_of_it = torch.native_dropout(x, 0.25, False)
    assert torch.equal(first, again)
    assert torch.equal(first, mask / 0.75)
    assert 0.7 < float(mask.double().mean()) < 0.8
    assert torch.equal(whole, x)
    assert bool(all_of_it.all())


def test_a_batch_norm_predicts_with_the_mean_statistics_of_batches():
    """As torch's own, with a cumulative mean, over batches of the same draw that no step trains on."""
    trained = run(norm)
    state = trained.snapshot.state
    assert set(state) == {f"{BUFFER}1.running_mean", f"{BUFFER}1.running_var"}
    with Seeded(0):
        module = norm().double()
    module.load_state_dict({n: v[0] for n, v in trained.net.unflatten(trained.snapshot.flat).items()}, strict=False)
    module[1].momentum = None
    draws = draw_rows(table(), [3], CONFIG.batch_size, CONFIG.steps)
    for _ in range(CONFIG.steps):
        module(table().x[next(draws)[0]])
    module.eval()
    torch.testing.assert_close(trained.output(table().x)[0], module(table().x).detach())


def test_measuring_leaves_the_module_as_it_was():
    with Seeded(0):
        module = norm().double()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    found = measure_statistics(module, dict(module.named_parameters()), iter([table().x, table().x + 1]))
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert module.training
    expected = (module[0](table().x).mean(0) + module[0](table().x + 1).mean(0)) / 2
    torch.testing.assert_close(found["1.running_mean"], expected.detach())
    assert mixing(module) == ["1"]


def test_evaluations_and_the_best_model_have_statistics_of_their_own():
    """An evaluation measures those of the weights of the moment; the best model's go with it."""
    held = table(30)
    monitor = Monitor(validation=held, every=4, early_stopping="mean", patience=9)
    trained = run(norm, config=replace(CONFIG, steps=16, monitor=monitor))
    best = int(trained.snapshot.watch["risk"][0].mean(1).argmin())
    until = run(norm, config=replace(CONFIG, steps=16), until=4 * (best + 1))
    assert torch.equal(trained.snapshot.flat, until.snapshot.flat)
    loss = nn.functional.binary_cross_entropy_with_logits(trained.output(held.x)[0, :, 0], held.y, reduction="none")
    risks = torch.stack([loss[held.domain == e].mean() for e in range(3)])
    torch.testing.assert_close(risks.mean(), trained.snapshot.watch["best"][0])


def test_an_estimator_with_both_is_saved_and_loaded(tmp_path):
    data = table(90)
    X, y, d = data.x.numpy(), data.y.numpy(), data.domain.numpy()
    model = rpo.DomainClassifier("irm-l2", module=lambda s, n: both(), steps=60, batch_size=8).fit(X, y, domains=d)
    assert model.score(X, y) > 0.8
    model.save(tmp_path / "model")
    again = rpo.load(tmp_path / "model", module=lambda s, n: both())
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.parametrize(
    "build, said",
    [
        (
            lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.Linear(8, 1)),
            "without",
        ),
        (norm, "layer '1' is a BatchNorm1d, which needs mini-batches: set batch_size"),
    ],
)
def test_batch_norms_that_could_not_predict_are_refused(build, said):
    with pytest.raises(InputError, match=said):
        run(build, config=replace(CONFIG, batch_size=None))


def test_an_instance_norm_looks_at_one_row():
    check_module(nn.Sequential(nn.ReLU(), nn.InstanceNorm1d(2)))
    with pytest.raises(InputError, match="'1' is a InstanceNorm1d, which mixes or tracks samples"):
        check_module(nn.Sequential(nn.ReLU(), nn.InstanceNorm1d(2, track_running_stats=True)))


class Attention(nn.Module):
    """Each number of a row is a word of a sentence."""

    def __init__(self, p=0.0):
        super().__init__()
        self.embed = nn.Linear(1, 8)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=p, batch_first=True)
        self.head = nn.Linear(8, 1)

    def features(self, x):
        return self.encoder(self.embed(x[..., None])).mean(1)

    def forward(self, x):
        return self.head(self.features(x))


KINDS = ["erm-l2", "irm-lip", "rpo", "har", "iga", "mldg", "andmask", "dann", "rsc", "mixup"]


@pytest.mark.parametrize("method", some(KINDS, {"erm-l2", "irm-lip", "iga"}))
def test_attention_trains_by_every_kind_of_method_alone_and_stacked(method):
    options = {"folds": 2} if method == "rpo" else {}
    both_models = run(Attention, method, seeds=(3, 4), options=options)
    alone = run(Attention, method, options=options)
    x = table().x
    if method != "andmask":  # which asks for signs, and so for the last bits
        torch.testing.assert_close(both_models.output(x)[:1], alone.output(x), rtol=1e-6, atol=1e-8)


def test_the_input_gradient_of_attention_is_that_of_each_row():
    with Seeded(0):
        net = Attention().double()
    x = table(6).x
    with twice_differentiable(True):
        _, slope = output_and_slope(net, x)
        rows = [torch.autograd.functional.jacobian(lambda row: net(row[None])[0, 0], row) for row in x]
        (second,) = torch.autograd.grad(slope.sum(), [net.embed.weight])
    torch.testing.assert_close(slope.detach(), torch.stack([row.square().sum() for row in rows]))
    assert float(second.abs().sum()) > 0


def test_attention_with_dropout_is_refused_by_the_lipschitz_family():
    with pytest.raises(InputError, match=r"layer 'encoder.self_attn' is a MultiheadAttention, whose draws"):
        run(lambda: Attention(p=0.1), "irm-lip")
    run(lambda: Attention(p=0.1), "coral")


def test_ours_is_what_the_registry_says():
    assert get_method("rpo").per_row
    assert not get_method("fishr").per_row  # per-row gradients of the head alone, which sees features as they are
