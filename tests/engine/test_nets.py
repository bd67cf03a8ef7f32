"""Networks as functions of flat parameters."""

import pytest
import torch
from torch import nn

from rpo.engine import Config, make_data, train
from rpo.engine.nets import Net, factory, mlp
from rpo.exceptions import InputError

pytestmark = pytest.mark.usefixtures("seeded")


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.features(x))


class Methods(nn.Module):
    """Features and head are methods, and one parameter belongs to no layer."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)
        self.shift = nn.Parameter(torch.ones(4))

    def features(self, x):
        return (self.first(x) + self.shift).relu()

    def head(self, x):
        return self.last(x)

    def forward(self, x):
        return self.head(self.features(x))


class Apart(Methods):
    def forward(self, x):
        return 2 * super().forward(x)


def test_features_and_head_may_be_methods_and_are_used_with_the_parameters_given():
    data = make_data(torch.randn(30, 3), torch.arange(30) % 2 * 1.0, torch.arange(30) % 3, task="binary")

    def build():
        net = Methods()
        net.last = nn.Linear(4, 1)
        return net

    for method in ("coral", "har", "rsc", "ib-irm"):
        trained = train(method, build, data, seeds=[0], config=Config(steps=5, progress=False)).check()
        before = trained.net.unflatten(trained.net.init([0, 0]))
        after = trained.net.unflatten(trained.snapshot.flat[0])
        moved = {
            name for name in ("shift", "first.weight", "last.weight") if not torch.equal(before[name], after[name])
        }
        assert moved == {"shift", "first.weight", "last.weight"}
    with pytest.raises(InputError, match="this method needs an nn.Linear as the head of the network, got a method"):
        train("fishr", build, data, seeds=[0], config=Config(steps=5, progress=False))


def test_a_head_of_features_that_is_not_the_network_is_refused_where_it_is_needed():
    data = make_data(torch.randn(30, 3), torch.arange(30) % 2, torch.arange(30) % 3, task="multiclass")
    config = Config(steps=3, progress=False)
    train("erm-l2", Apart, data, seeds=[0], config=config).check()
    with pytest.raises(InputError, match=r"Apart has features and head, but head\(features\(x\)\) differs"):
        train("coral", Apart, data, seeds=[0], config=config)


@pytest.mark.parametrize(
    "build, shape", [(lambda: mlp(3, 2, (4, 5)), (6, 3)), (Split, (6, 1, 4, 4)), (Methods, (6, 3))]
)
def test_head_of_features_is_the_network(build, shape):
    net = Net(build)
    params = net.unflatten(net.init([0, 0]))
    x = torch.randn(shape)
    torch.testing.assert_close(net.head(params, net.features(params, x)), net(params, x))
    if build is not Methods:
        assert net.n_features == net.features(params, x).shape[1]
    torch.testing.assert_close(net.through(params, x)[0], net(params, x))


def test_flat_and_named_parameters_are_the_same_in_any_order():
    net = Net(lambda: mlp(3, 1, (4,)))
    flat = torch.stack([net.init([s, 0]) for s in range(3)])
    named = net.unflatten(flat)
    assert torch.equal(net.flatten(dict(reversed(named.items()))), flat)
    assert named["0.weight"].shape == (3, 4, 3)


def test_a_seed_gives_the_same_weights():
    net = Net(lambda: mlp(3, 1, (4,)))
    first, again, other = net.init([1, 0]), net.init([1, 0]), net.init([2, 0])
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_further_modules_keep_their_own_parameters():
    net = Net(lambda: mlp(3, 1, (4,)), lambda net: {"critic": nn.Linear(net.n_features, 2)})
    params = net.unflatten(net.init([0, 0]))
    x = torch.randn(5, 3)
    expected = net.features(params, x) @ params["critic/weight"].T + params["critic/bias"]
    torch.testing.assert_close(net.part("critic", params, net.features(params, x)), expected)
    assert net(params, x).shape == (5, 1)


class Noise(nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)


@pytest.mark.parametrize("seeds", [[0], [0, 1]])
def test_a_network_that_draws_when_it_is_applied_is_refused(seeds):
    data = make_data(torch.zeros(4, 3), torch.zeros(4), torch.tensor([0, 0, 1, 1]), task="regression")
    with pytest.raises(InputError, match=r"draws random numbers in its forward pass \(randn_like\)"):
        train("erm-l2", lambda: nn.Sequential(nn.Linear(3, 4), Noise(), nn.Linear(4, 1)), data, seeds=seeds)


def test_a_module_without_features_says_what_is_needed():
    net = Net(lambda: nn.Linear(3, 1))
    with pytest.raises(InputError, match="submodules or methods `features` and `head`"):
        net.features(net.unflatten(net.init([0])), torch.zeros(1, 3))


def test_a_template_is_reset_and_a_builder_is_called():
    template = mlp(3, 1, (4,))
    nn.init.zeros_(template[0].weight)
    built = factory(template, (3,), 1)()
    assert not torch.equal(built[0].weight, template[0].weight)
    assert factory(lambda shape, outputs: nn.Linear(shape[0], outputs), (3,), 2)().out_features == 2
    with pytest.raises(InputError, match="return an nn.Module"):
        factory(lambda shape, outputs: 3, (3,), 2)()
    with pytest.raises(InputError, match="must be an nn.Module"):
        factory(3, (3,), 2)
