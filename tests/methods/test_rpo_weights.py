"""RPO-weights: weights of one are IRM + lip, a weight of zero is absence, and the steps do what they say."""

import numpy as np
import pytest
import torch

from rpo.engine import Config, make_data, mlp, train
from rpo.engine.data import Batch
from rpo.engine.method import Values
from rpo.methods import get_method

QUIET = {"progress": False, "dtype": torch.float64}
OFF = {"alpha": 0.0, "power": 0.0}
WIDE = {"clip": 20.0}  # weights that are not all at their bound


def table(n=240, seed=0, task="regression", bad=(1, 2)):
    """Three domains by four strata; one cell is noisy; the last feature follows the target differently by domain."""
    g = torch.Generator().manual_seed(seed)
    domain, stratum = torch.arange(n) % 3, torch.arange(n) // 3 % 4
    x = torch.randn(n, 5, dtype=torch.float64, generator=g)
    noise = torch.randn(n, dtype=torch.float64, generator=g)
    signal = x[:, 0] - x[:, 1] + noise * torch.where((domain == bad[0]) & (stratum == bad[1]), 4.0, 0.3)
    x[:, 4] = (1.0 - 0.8 * domain) * signal + 0.3 * x[:, 4]
    y = signal if task == "regression" else (signal > 0).double()
    return make_data(x, y, domain, task=task, stratum=stratum)


def fit(method, data, options=None, **numbers):
    config = Config(steps=60, **QUIET)
    build = lambda: mlp(5, 1, (8,))  # noqa: E731
    return train(method, build, data, seeds=[3], numbers=numbers, options=options, config=config).check()


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_weights_of_one_are_irm_lip_bit_for_bit(task):
    data = table(task=task)
    ours, plain = fit("rpo-weights", data, eta=3.0, lam=0.05, **OFF), fit("irm-lip", data, eta=3.0, lam=0.05)
    assert torch.equal(ours.snapshot.flat, plain.snapshot.flat)


def terms(data, weight, rows=None):
    """The loss of one untrained model under given cell weights, on all rows or some."""
    method = get_method("rpo-weights")
    numbers, options = method.fill({})
    net, chosen = fit_net(), slice(None) if rows is None else rows
    batch = Batch(
        x=data.x[chosen],
        y=data.y[chosen],
        domain=data.domain[chosen],
        stratum=data.stratum[chosen],
        weight=data.weight[chosen],
        row=torch.arange(len(data.y))[chosen],
        size=data.size(1)[0],
        step=torch.tensor(50.0),
        steps=torch.tensor(60.0),
        draw={},
    )
    hp = Values({**options, **{n: torch.tensor(v, dtype=torch.float64) for n, v in numbers.items()}, "task": data.task})
    state = {"weight": weight, "kept": torch.ones(5, dtype=torch.float64), "lam": torch.tensor(0.1)}
    params = net.unflatten(net.init([0]).double())
    return method.objective(net, params, state, batch, hp)


def fit_net():
    from rpo.engine import Net

    return Net(lambda: mlp(5, 1, (8,)))


def test_scaling_all_weights_changes_nothing():
    data, weight = table(), torch.rand(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 0.1
    one, other = terms(data, weight), terms(data, 7 * weight)
    for name in one:
        torch.testing.assert_close(one[name], other[name], rtol=1e-12, atol=0)


def test_a_cell_of_weight_zero_is_not_there():
    data, weight = table(), torch.ones(3, 4, dtype=torch.float64)
    weight[1, 2] = 0
    there = ~((data.domain == 1) & (data.stratum == 2))
    one, other = terms(data, weight), terms(data, torch.ones_like(weight), there)
    for name in one:
        torch.testing.assert_close(one[name], other[name], rtol=1e-12, atol=0)


def test_the_noisy_cell_counts_least_and_the_unstable_feature_is_dropped():
    state = fit("rpo-weights", table()).snapshot.state
    assert np.unravel_index(int(state["weight"][0].argmin()), (3, 4)) == (1, 2)
    assert state["kept"][0].tolist() == [1, 1, 1, 1, 0]


def test_what_is_dropped_is_not_seen():
    trained = fit("rpo-weights", table())
    x = torch.randn(6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    changed = x.clone()
    changed[:, 4] += 100
    assert torch.equal(trained.output(x), trained.output(changed))
    seen = fit("rpo-weights", table(), {"screen": "first"})
    assert not torch.equal(seen.output(x), seen.output(changed))


def test_screened_again_where_noisy_rows_say_less():
    """Noise in half the cells hides from the first test that the last feature's slope differs by domain.

    It is so strong here that at a fifth of the weight, the default, it would hide it from the second, too.
    """
    data, g = table(n=360), torch.Generator().manual_seed(0)
    x, bad = data.x.clone(), (data.stratum + data.domain) % 2 == 0
    draw = torch.randn(2, 360, dtype=torch.float64, generator=g)
    x[:, 4] = (1 - 0.2 * data.domain) * data.y + 0.3 * draw[0]
    y = data.y + torch.where(bad, 8 * draw[1], 0)
    hidden = make_data(x, y, data.domain, task="regression", stratum=data.stratum)
    once, twice = (
        fit("rpo-weights", hidden, {"screen": kind, **WIDE}).snapshot.state["kept"][0] for kind in ("once", "twice")
    )
    assert once.tolist() == [1, 1, 1, 1, 1]
    assert twice.tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("option", [{"folds": 0}, {"shrink": "off"}, {"gate": "off"}, {"clip": 2.0}, {"weigh": "risk"}])
def test_every_step_can_be_changed(option):
    whole, without = fit("rpo-weights", table(), WIDE), fit("rpo-weights", table(), {**WIDE, **option})
    assert not torch.equal(whole.snapshot.flat, without.snapshot.flat)


def test_permuted_weights_are_the_same_ones_elsewhere():
    placed, dealt = (
        fit("rpo-weights", table(), {"placement": kind, "gate": "off"}).snapshot.state["weight"][0]
        for kind in ("estimated", "permuted")
    )
    assert not torch.equal(placed, dealt)
    for e in range(3):  # cells are of one size here, so mean one is kept as it is
        torch.testing.assert_close(placed[e].sort().values, dealt[e].sort().values)


def test_images_have_no_columns_to_screen():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(60, 2, 3, 3, dtype=torch.float64, generator=g)
    data = make_data(x, x[:, 0, 0, 0], torch.arange(60) % 3, task="regression", stratum=torch.arange(60) % 2)
    net = lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(18, 1))  # noqa: E731
    trained = train("rpo-weights", net, data, seeds=[0, 1], config=Config(steps=5, **QUIET)).check()
    assert trained.snapshot.state["kept"].tolist() == [[1], [1]]


def test_models_that_screen_differently_share_their_data():
    data, config = table(), Config(steps=20, **QUIET)
    build = lambda: mlp(5, 1, (8,))  # noqa: E731
    both = train("rpo-weights", build, data, seeds=[3, 3], numbers={"alpha": [0.001, 0.0]}, config=config).check()
    for k, alpha in enumerate((0.001, 0.0)):
        alone = train("rpo-weights", build, data, seeds=[3], numbers={"alpha": alpha}, config=config).check()
        torch.testing.assert_close(both.snapshot.flat[k], alone.snapshot.flat[0], rtol=0, atol=1e-9)


def test_clean_cells_all_weigh_the_same():
    """Noise that differs by chance alone, or by stratum in every domain alike, is no reason to weigh rows down."""
    g = torch.Generator().manual_seed(0)
    domain, stratum = torch.arange(600) % 3, torch.arange(600) // 3 % 4
    x = torch.randn(600, 3, dtype=torch.float64, generator=g)
    level = torch.tensor([0.5, 0.5, 0.5, 0.68], dtype=torch.float64)[stratum]
    y = x[:, 0] + level * torch.randn(600, dtype=torch.float64, generator=g)
    data = make_data(x, y, domain, task="regression", stratum=stratum)
    build, config = (lambda: mlp(3, 1, (8,))), Config(steps=300, **QUIET)
    weight = train("rpo-weights", build, data, seeds=[0], config=config).check().snapshot.state["weight"][0]
    assert weight.min() > 0.8
    plain = train("rpo-weights", build, data, seeds=[0], options={"gate": "off"}, config=config).check()
    assert plain.snapshot.state["weight"][0].min() < 0.8
