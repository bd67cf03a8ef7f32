"""What must hold for every method, by one suite: each line is a bug that shipped somewhere."""

import warnings
from dataclasses import replace
from functools import partial
from pkgutil import iter_modules

import numpy as np
import pytest
import torch

import rpo
import rpo.methods
from rpo import DomainClassifier, DomainRegressor
from rpo.engine import Config, make_data, mlp, train
from rpo.engine.stack import Stack
from rpo.engine.training import Preparation, begin, make_net
from rpo.exceptions import InputError, OneRowWarning
from rpo.methods import get_method, methods
from rpo.methods.terms import risk

PAIRS = [(m.name, task) for m in methods() for task in m.tasks]
ONE_TASK = [(m.name, "regression" if "regression" in m.tasks else "binary") for m in methods()]
SPLIT = {"irm_estimator": "split"}
QUIET = {"progress": False, "dtype": torch.float64}

# What turns each method into ERM.
ZERO = {
    "anchor": {"gamma": 1.0},
    "andmask": {"tau": 0.0},
    "cdann": {"lam": 0.0, "turns": 0.0},
    "cnbb": {"lam": 0.0, "rate": 0.0},
    "coral": {"gamma": 0.0},
    "dann": {"lam": 0.0, "turns": 0.0},
    "eqrm": {"anneal": 1.0},
    "erm-l2": {"c": 0.0},
    "erm-lip": {"lam": 0.0},
    "fishr": {"lam": 0.0},
    "groupdro": {"step": 0.0},
    "har": {"c": 0.0, "eta": 0.0},
    "ib-erm": {"gamma": 0.0},
    "ib-irm": {"eta": 0.0, "gamma": 0.0},
    "icorr": {"lam": 0.0},
    "iga": {"lam": 0.0},
    "irm-l2": {"eta": 0.0, "c": 0.0},
    "irm-lip": {"eta": 0.0, "lam": 0.0},
    "irm-lip-cv": {"eta": 0.0, "lam": 0.0},
    "lap": {"m": 0.0},
    "ldam-irm": {"margin": 0.0, "beta": 0.0, "eta": 0.0},
    "mixup": {"alpha": 0.0},
    "mldg": {"beta": 0.0},
    "mmd": {"gamma": 0.0},
    "mtl": {"ema": 0.0},
    "pair": {"anneal": 1.0},
    "rsc": {"p": 0.0},
    "sagnet": {"w": 0.0, "mix": 0.0},
    "sat-irm": {"rate": 0.0, "eta": 0.0},
    "sd": {"lam": 0.0},
    "vrex": {"beta": 0.0},
} | {f"rpo{kind}": {"strength": 0.0, "lam": 0.0} for kind in ("", "-pen", "-lip", "-permuted", "-uniform")}


# Methods that do nothing before they have seen some steps: what lets them act within those of a test.
REMEMBERS = {"lap": {"warmup": 0.0}}


def table(task, n=90, domains=3, seed=0):
    """Feature 3 follows the target with a slope that differs by domain."""
    g = torch.Generator().manual_seed(seed)
    domain = torch.arange(n) % domains
    x = torch.randn(n, 4, dtype=torch.float64, generator=g)
    signal = x[:, 0] - 0.5 * x[:, 1] + 0.3 * torch.randn(n, dtype=torch.float64, generator=g)
    x[:, 3] = (1.5 - domain) * signal + 0.2 * x[:, 3]
    y = {"regression": signal, "binary": (signal > 0).double(), "multiclass": (signal > 0).long() + (signal > 0.8)}[
        task
    ]
    return make_data(x, y, domain, task=task, stratum=torch.arange(n) % 5)


def build(task):
    return lambda: mlp(4, 3 if task == "multiclass" else 1, (8, 6))


def options_of(name):
    """Means, so that coefficients of zero leave ERM and not N times ERM."""
    return {"reduction": "mean"} if "reduction" in get_method(name).options else {}


def gradient(name, task, numbers, step=95):
    """The update direction of one model at one step, by parameter, and the ERM gradient of what the method predicts."""
    method, data, config = get_method(name), table(task), Config(steps=100, **QUIET)
    filled, options = method.fill({**numbers, **options_of(name), **REMEMBERS.get(name, {})})
    hp = {n: torch.full((1,), v, dtype=torch.float64) for n, v in filled.items()}
    run = Preparation(data, [0], hp, options, build(task), config)
    net = make_net(method, build(task), data.n_domains, data.n_classes, options)
    now = begin(method, net, run)
    stack = Stack(method, net, data, [0], hp, options, config)
    state = now.state
    if name in REMEMBERS:  # the steps before, without a move
        for _, earlier in zip(range(step), stack.batches(0), strict=False):
            state = stack._gradient(now.flat, state, earlier).state
    batch = next(stack.batches(step))
    found = stack._gradient(now.flat, state, batch)
    leaf = now.flat[0].detach().requires_grad_()
    params = net.unflatten(leaf)
    own = {n: v[0] for n, v in state.items()}
    output = net(params, data.x) if method.predict is None else method.predict(net, params, own, data.x)
    (erm,) = torch.autograd.grad(risk(output, batch._replace(size=batch.size[0]), task), leaf)
    return net.unflatten(found.vector[0]), net.unflatten(erm)


@pytest.mark.parametrize("name, task", PAIRS)
def test_coefficient_zero_is_erm(name, task):
    found, erm = gradient(name, task, ZERO[name])
    for parameter, value in erm.items():
        # SagNet's style head learns beside the network, whatever the coefficient.
        if not parameter.startswith("style/"):
            torch.testing.assert_close(found[parameter], value, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name, task", PAIRS)
def test_the_penalty_has_a_gradient(name, task):
    with_penalty, _ = gradient(name, task, {})
    without, _ = gradient(name, task, ZERO[name])
    gap = sum(float((with_penalty[p] - without[p]).square().sum()) for p in without if "/" not in p)
    assert gap > 1e-12


@pytest.mark.parametrize("name, task", PAIRS)
def test_training_lowers_the_objective(name, task):
    # What makes the objective another from step to step: penalties not yet in force, and Fishr's memory, which fills.
    constant = {"anneal": 0.0, "warm": 0.0} | ({"ema": 0.0} if name == "fishr" else {})
    numbers = {n: v for n, v in constant.items() if n in get_method(name).space}
    config = Config(steps=120, **QUIET)
    trained = train(name, build(task), table(task), seeds=[0], numbers=numbers, options=options_of(name), config=config)
    trained.check()
    assert trained.curve[-20:].mean() < trained.curve[:5].mean()


@pytest.mark.parametrize("name, task", ONE_TASK)
@pytest.mark.parametrize("batch_size", [None, 16], ids=["full", "mini"])
def test_stacked_is_separate(name, task, batch_size):
    config = Config(steps=30, batch_size=batch_size, **QUIET)
    together = train(name, build(task), table(task), seeds=[5, 9], config=config).check()
    for k, seed in enumerate([5, 9]):
        alone = train(name, build(task), table(task), seeds=[seed], config=config).check()
        torch.testing.assert_close(together.snapshot.flat[k], alone.snapshot.flat[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name, task", ONE_TASK)
def test_saved_reloaded_and_continued_is_uninterrupted(name, task, tmp_path):
    """Bit for bit, state included: GroupDRO's q, SAT's targets, MTL's embeddings, DANN's discriminator."""
    data, config = table(task), Config(steps=40, batch_size=8, **QUIET)
    whole = train(name, build(task), data, seeds=[3, 4], config=config)
    kept = replace(config, checkpoint=tmp_path)
    half = train(name, build(task), data, seeds=[3, 4], config=kept, until=23)
    assert half.snapshot.step == 23
    rest = train(name, build(task), data, seeds=[3, 4], config=kept)
    assert torch.equal(rest.snapshot.flat, whole.snapshot.flat)
    for key, value in whole.snapshot.state.items():
        assert torch.equal(rest.snapshot.state[key], value)


@pytest.mark.parametrize("name, task", PAIRS)
def test_awkward_data(name, task):
    """Two domains, one a single row and smaller than the batch; one-sample strata; classes absent from a batch."""
    g = torch.Generator().manual_seed(0)
    x = torch.randn(13, 4, generator=g)
    y = {"regression": x[:, 0], "binary": (x[:, 0] > 0).float(), "multiclass": torch.arange(13) % 3}[task]
    domain = torch.tensor([0] + [1] * 12)
    data = make_data(x, y, domain, task=task, stratum=torch.arange(13))
    for size in (None, 2, 64):
        trained = train(name, build(task), data, seeds=[0, 1], config=Config(steps=6, batch_size=size, progress=False))
        assert trained.failures == [None, None]
        output = trained.output(data.x)
        assert torch.isfinite(output).all()
        assert torch.equal(output, trained.output(data.x))


# The defaults of IRM and of the paper's RPO are strong: they warn of collapse.
@pytest.mark.filterwarnings("ignore::rpo.exceptions.CollapseWarning")
@pytest.mark.parametrize("name", sorted(m.name for m in methods()))
def test_estimators_reach_every_method(name, rng, tmp_path):
    """Labels as strings, three classes where the method allows; deterministic, saved and loaded bit for bit."""
    X = rng.normal(size=(60, 4))
    domains = np.array(["a", "b", "c"])[np.arange(60) % 3]
    tasks = get_method(name).tasks
    fits = []
    if "regression" in tasks:
        fits.append((DomainRegressor, X[:, 0]))
    else:
        with pytest.raises(InputError, match=rf"'{name}' does not support regression; methods that do: .*erm-l2"):
            DomainRegressor(name).fit(X, X[:, 0], domains=domains)
    if "multiclass" in tasks:
        fits.append((DomainClassifier, np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.4, 0.4])]))
    if "binary" in tasks:
        fits.append((DomainClassifier, np.where(X[:, 0] > 0, "yes", "no")))
    for kind, y in fits:
        model = kind(name, steps=15).fit(X, y, domains=domains)
        again = kind(name, steps=15).fit(X, y, domains=domains)
        np.testing.assert_array_equal(model.predict(X), again.predict(X))
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(rpo.load(tmp_path / "model").predict(X), model.predict(X))


def test_every_module_of_methods_is_registered():
    """One file each; RPO's has its ablations and controls, too."""
    shared = {"terms", "adversary", "rpo"}
    modules = {info.name.replace("_", "-") for info in iter_modules(rpo.methods.__path__)} - shared
    names = {m.name for m in methods()}
    assert modules == {name for name in names if not name.startswith("rpo")}
    assert names == set(ZERO)


@pytest.mark.parametrize("name", sorted(m.name for m in methods()))
def test_every_number_and_option_is_explained_and_every_method_has_a_reference(name):
    method = get_method(name)
    for tuned in (*method.space.values(), *method.options.values()):
        assert tuned.words.endswith(".")
        assert len(tuned.words) > 15
    assert method.reference.endswith((".", "?"))
    assert method.cite in ("control", "this library") or method.cite[-4:] in method.reference


def test_mldg_says_when_no_domain_is_left_to_learn_from():
    """With as many domains held out as there are, the update would silently be zero."""
    with pytest.raises(InputError, match="held_out must be at least 1 and below the number of training domains"):
        train("mldg", build("regression"), table("regression", domains=2), seeds=[0], numbers={"held_out": 2.0})


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_mldg_looks_ahead_by_default(task):
    """The step on one domain changes the gradient of the next by more than a tenth, or MLDG is ERM by another name."""
    ahead, _ = gradient("mldg", task, {})
    still, _ = gradient("mldg", task, {"inner": 0.0})
    alone, _ = gradient("mldg", task, {"beta": 0.0})
    changed = sum(float((ahead[p] - still[p]).square().sum()) for p in ahead)
    tested = sum(float((still[p] - alone[p]).square().sum()) for p in ahead)
    assert changed > 0.01 * tested


def test_split_says_once_that_a_domain_has_one_row():
    """Both stages of RPO train with it, many steps each, and the user hears of it once."""
    data = table("regression", n=31)
    data = make_data(data.x, data.y, torch.where(torch.arange(31) == 30, 3, data.domain), task="regression")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default", OneRowWarning)
        train(
            "rpo", build("regression"), data, seeds=[0], options={"irm_estimator": "split"}, config=Config(3, **QUIET)
        )
    assert [warning.category for warning in said] == [OneRowWarning]
    small = partial(train, "irm-l2", build("regression"), data, seeds=[0], options={"irm_estimator": "split"})
    with pytest.warns(OneRowWarning, match="larger batch_size"):
        small(config=Config(steps=3, batch_size=1, **QUIET))
    small(config=Config(steps=3, batch_size=2, **QUIET))  # its row is drawn twice


def test_permuted_and_uniform_keep_what_they_should():
    states = {}
    for name in ("rpo", "rpo-permuted", "rpo-uniform"):
        trained = train(name, build("regression"), table("regression"), seeds=[0, 1], config=Config(steps=30, **QUIET))
        states[name] = trained.snapshot.state
    for key in ("eta", "rho"):
        own, permuted, uniform = (states[n][key].flatten(1) for n in ("rpo", "rpo-permuted", "rpo-uniform"))
        torch.testing.assert_close(own.sort(1).values, permuted.sort(1).values)
        assert not torch.equal(own, permuted)
        # Every cell of this table has as many rows, so the mean over rows is the mean over cells.
        torch.testing.assert_close(uniform, own.mean(1, keepdim=True).expand_as(own))


def test_groupdro_leans_on_the_worst_domain():
    data = table("regression")
    data.y[data.domain == 1] += 5 * torch.randn(30, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    trained = train(
        "groupdro", build("regression"), data, seeds=[0], numbers={"step": 0.1}, config=Config(steps=100, **QUIET)
    )
    assert trained.snapshot.state["log_q"][0].argmax() == 1


def test_sat_moves_labels_that_are_wrong():
    data = table("binary", n=300)
    truth = data.y.clone()
    data.y[:15] = 1 - data.y[:15]
    numbers = {"eta": 0.0, "rate": 0.1}
    trained = train("sat-irm", build("binary"), data, seeds=[0], numbers=numbers, config=Config(steps=200, **QUIET))
    believed = trained.snapshot.state["target"][0].argmax(1)
    assert (believed[:15] == truth[:15]).double().mean() > 0.6
    assert (believed[15:] == truth[15:]).double().mean() > 0.9


def test_lap_leans_away_from_the_domain_that_stays_worse():
    """Its target is noise, so nothing lowers its loss: it loses weight step by step, and the others keep theirs."""
    data = table("regression")
    data.y[data.domain == 1] = 3 * torch.randn(30, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    trained = train("lap", build("regression"), data, seeds=[0], config=Config(steps=200, **QUIET))
    # Every step from the hundredth on is against it.
    assert trained.snapshot.state["count"][0].tolist() == [0.0, 100.0, 0.0]


def test_pair_lowers_what_erm_leaves():
    """Where risk and penalties disagree, those that were preferred get smaller than plain training makes them."""
    data = table("regression")
    left = {}
    for anneal in (0.3, 1.0):
        trained = train(
            "pair", build("regression"), data, seeds=[0], numbers={"anneal": anneal}, config=Config(steps=300, **QUIET)
        )
        each = (trained.output(data.x)[0][:, 0] - data.y).square()
        left[anneal] = torch.stack([each[data.domain == e].mean() for e in range(3)]).var()
    assert left[0.3] < left[1.0] / 3
