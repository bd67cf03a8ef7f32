"""Each method's formula on two domains and three rows, worked out by hand.

Unless a test says otherwise, the network is f = w·φ with φ = a·x, a = 1 and w = ½, so f = x/2. Domain 0 has the rows
(x, y) = (1, 1) and (2, 0), domain 1 the row (3, 1). Then f = ½, 1, 3/2;
squared losses ¼, 1, ¼: R = (5/8, ¼), mean 7/16; 2(f − y)f = −½, 2, 3/2: G = (¾, 3/2);
dR/dw = 2(f − y)x = −1, 4, 3: (3/2, 3), and dR/da is half of that.
"""

from math import exp, log, sqrt, tanh

import numpy as np
import pytest
import torch
from torch import nn

from rpo.engine.data import Batch
from rpo.engine.method import Values
from rpo.engine.nets import Net
from rpo.exceptions import InputError
from rpo.methods import get_method
from rpo.methods.cnbb import balancing_weights, imbalance
from rpo.methods.coral import moments
from rpo.methods.terms import gap

LATE = 90.0  # of 100 steps: every penalty is in force


def batch(step=LATE, draw=None, y=(1.0, 0.0, 1.0)):
    return Batch(
        x=torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64),
        y=torch.tensor(y, dtype=torch.float64),
        domain=torch.tensor([0, 0, 1]),
        stratum=torch.tensor([0, 1, 0]),
        weight=torch.ones(3, dtype=torch.float64),
        row=torch.arange(3),
        size=torch.tensor([2.0, 1.0], dtype=torch.float64),
        step=torch.tensor(step, dtype=torch.float64),
        steps=torch.tensor(100.0, dtype=torch.float64),
        draw={name: torch.tensor(value) for name, value in (draw or {}).items()},
    )


def network(first=((1.0,),), head=((0.5,),), parts=None):
    """φ = first·x, f = head·φ, and parts of given weights."""
    sizes = len(first), len(head[0]), len(head)

    def build():
        return nn.Sequential(nn.Linear(1, sizes[0], bias=False), nn.Linear(sizes[1], sizes[2], bias=False))

    def build_parts(_):
        return {n: nn.Linear(len(w[0]), len(w), bias=False) for n, w in parts.items()}

    net = Net(build, build_parts if parts else None)
    weights = {"0.weight": first, "1.weight": head} | {f"{n}/weight": w for n, w in (parts or {}).items()}
    return net, {name: torch.tensor(w, dtype=torch.float64) for name, w in weights.items()}


def call(name, *, task="regression", state=None, rows=None, net=None, options=None, **numbers):
    method = get_method(name)
    filled, chosen = method.fill({**(options or {}), **numbers})
    values = {n: torch.tensor(v, dtype=torch.float64) for n, v in filled.items()}
    hp = Values({**chosen, **values, "task": task, "n_classes": 0 if task == "regression" else 2})
    state = {n: torch.tensor(v, dtype=torch.float64) for n, v in (state or {}).items()}
    net, params = net or network()
    return method.objective(net, params, state, rows or batch(), hp)


def floats(terms):
    return {name: float(value) for name, value in terms.items()}


def logistic(f, y):
    return log(1 + exp(-f if y else f))


def sigmoid(f):
    return 1 / (1 + exp(-f))


def test_erm_l2():
    assert floats(call("erm-l2", c=0.1)) == pytest.approx({"risk": 7 / 16, "l2": 0.1 * (1 + 1 / 4)})


def test_erm_lip():
    """∇f = ½ everywhere."""
    assert floats(call("erm-lip", lam=0.2)) == pytest.approx({"risk": 7 / 16, "lipschitz": 0.2 / 4})


def test_irm_l2_and_the_divisor():
    """mean_e G² = (9/16 + 9/4)/2 = 45/32."""
    plain = floats(call("irm-l2", eta=4.0, c=0.1, options={"rescale": "none"}))
    assert plain == pytest.approx({"risk": 7 / 16, "irm": 4 * 45 / 32, "l2": 0.125})
    divided = floats(call("irm-l2", eta=4.0, c=0.1))
    assert divided == pytest.approx({name: value / 4 for name, value in plain.items()})
    early = floats(call("irm-l2", eta=4.0, c=0.1, rows=batch(step=24.0)))
    assert early == pytest.approx({"risk": 7 / 16, "irm": 45 / 32, "l2": 0.125})


def test_irm_lip_means_and_sums():
    mean = floats(call("irm-lip", eta=2.0, lam=0.2, options={"rescale": "none"}))
    assert mean == pytest.approx({"risk": 7 / 16, "irm": 45 / 16, "lipschitz": 0.05})
    # Sums: Σ l = 3/2; Σ 2(f − y)f = 3/2 in each domain; Σ ‖∇f‖² = ¾.
    total = floats(call("irm-lip", eta=2.0, lam=0.2, options={"rescale": "none", "reduction": "sum"}))
    assert total == pytest.approx({"risk": 1.5, "irm": 2 * (9 / 4 + 9 / 4), "lipschitz": 0.2 * 3 / 4})


PENALTIES = {"eta": [2.0, 4.0], "rho": [[1.0, 2.0], [3.0, 0.0]], "lam": 0.1, "centre": [0.0]}


@pytest.mark.parametrize(
    "name, irm, lipschitz",
    [
        ("rpo", 2 * 9 / 4 + 4 * 9 / 4, 0.1 * (1 + 2 + 3) / 4),
        ("rpo-pen", 2 * 9 / 4 + 4 * 9 / 4, 0.1 * 3 / 4),
        ("rpo-lip", 9 / 4 + 9 / 4, 0.1 * (1 + 2 + 3) / 4),
        ("rpo-permuted", 2 * 9 / 4 + 4 * 9 / 4, 0.1 * (1 + 2 + 3) / 4),
        ("rpo-uniform", 2 * 9 / 4 + 4 * 9 / 4, 0.1 * (1 + 2 + 3) / 4),
    ],
)
def test_rpo_family_in_sums(name, irm, lipschitz):
    terms = call(name, state=PENALTIES, options={"rescale": "none"})
    assert floats(terms) == pytest.approx({"risk": 1.5, "irm": irm, "lipschitz": lipschitz})


def test_rpo_family_about_a_centre():
    """About c the summand is 2(f − y)(f − c): G of each domain changes by −2c Σ(f − y)."""
    at = {c: floats(call("rpo", state={**PENALTIES, "centre": [c]})) for c in (0.0, 1.0)}
    assert at[0.0]["risk"] == at[1.0]["risk"]
    assert at[0.0]["irm"] != pytest.approx(at[1.0]["irm"])


def test_andmask_follows_agreement():
    got = call("andmask", tau=1.0)
    assert got.by_parameter["1.weight"].item() == pytest.approx(9 / 4)
    assert got.by_parameter["0.weight"].item() == pytest.approx(9 / 8)
    assert all(bool(move.all()) for move in got.moves.values())


def test_andmask_stays_on_disagreement():
    """y = 3 in domain 1 turns its slope to −9: the signs differ."""
    for tau, moves in ((1.0, False), (0.0, True)):
        got = call("andmask", tau=tau, rows=batch(y=(1.0, 0.0, 3.0)))
        assert bool(got.moves["1.weight"]) is moves
        assert got.by_parameter["1.weight"].item() == pytest.approx((1.5 - 9) / 2 if moves else 0.0)


def test_coral():
    """μ = 3/2 and 3; the variance of (1, 2) is ½, that of one row counts zero."""
    assert floats(call("coral", gamma=2.0)) == pytest.approx({"risk": 7 / 16, "coral": 2 * (9 / 4 + 1 / 4)})


@pytest.mark.parametrize("sizes", [(20, 20), (8,) * 5, (3, 90, 1, 17, 2), (1,) * 6, (50,), (2, 0, 31, 0)], ids=str)
def test_coral_moments_domain_by_domain(sizes):
    """However the rows are spread, and whatever rows without weight are among them: against numpy."""
    g = torch.Generator().manual_seed(0)
    domain = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    domain = torch.cat([domain, torch.arange(9) % len(sizes)])
    weight = torch.cat([torch.ones(sum(sizes)), torch.zeros(9)]).double()
    order = torch.randperm(len(domain), generator=g)
    domain, weight = domain[order], weight[order]
    features = torch.randn(len(domain), 3, dtype=torch.float64, generator=g)
    rows = batch()._replace(domain=domain, weight=weight, size=torch.tensor(sizes).double())
    mean, covariance = moments(features, rows)
    for e, count in enumerate(sizes):
        own = features[(domain == e) & (weight > 0)].numpy()
        np.testing.assert_allclose(mean[e], own.mean(0) if count else np.zeros(3), rtol=0, atol=1e-12)
        expected = np.cov(own.T) if count > 1 else np.zeros((3, 3))
        np.testing.assert_allclose(covariance[e], expected, rtol=0, atol=1e-12)


def test_gap_is_the_mean_over_pairs_of_the_domains_there():
    """Value and gradient against a loop over pairs; the third domain is not there."""
    values = torch.tensor([[1.0, 2.0], [4.0, 0.0], [0.0, 0.0], [2.0, 5.0]], dtype=torch.float64, requires_grad=True)
    rows = batch()._replace(size=torch.tensor([3.0, 1.0, 0.0, 2.0], dtype=torch.float64))
    here = [0, 1, 3]
    pairs = [(values[i] - values[j]).square().mean() for i in here for j in here if i < j]
    expected = torch.stack(pairs).mean()
    found = gap(values, rows)
    torch.testing.assert_close(found, expected)
    (own,), (wanted,) = torch.autograd.grad(found, values), torch.autograd.grad(expected, values)
    torch.testing.assert_close(own[here], wanted[here])


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("depth", [1, 3, 4])
def test_the_critic_has_as_many_layers_as_asked_for(depth):
    """The reference counts every layer with weights: three are two hidden layers of 256 and the last."""
    options = get_method("dann").fill({"depth": depth})[1]
    critic = get_method("dann").parts(network()[0], 5, 0, options)["critic"]
    layers = [layer for layer in critic if isinstance(layer, nn.Linear)]
    assert [layer.out_features for layer in layers] == [256] * (depth - 1) + [5]
    with pytest.raises(InputError, match="depth of method 'dann' must be one of 3, 1, 2, 4, 5, got 9"):
        get_method("dann").fill({"depth": 9})


def test_adversaries_have_the_references_decay_rates():
    for name in ("dann", "cdann"):
        numbers, options = get_method(name).fill({})
        assert (numbers["beta1"], numbers["beta2"], options["depth"]) == (0.5, 0.9, 3)


def test_dann_takes_turns():
    """The discriminator's logits are (φ, −φ): its loss is log(1 + e^(∓2φ))."""
    net = network(parts={"critic": ((1.0,), (-1.0,))})
    guess = (log(1 + exp(-2)) + log(1 + exp(-4))) / 4 + log(1 + exp(6)) / 2
    slope = (-2 * sigmoid(-2) * 1 - 2 * sigmoid(-4) * 2) / 4 + 2 * sigmoid(6) * 3 / 2
    network_turn = call("dann", lam=0.5, net=net, rows=batch(step=1.0))
    assert floats(network_turn.terms) == pytest.approx({"risk": 7 / 16, "adversary": guess})
    assert network_turn.by_parameter["0.weight"].item() == pytest.approx(9 / 8 - 0.5 * slope)
    assert network_turn.by_parameter["1.weight"].item() == pytest.approx(9 / 4)
    assert {n: bool(m.all()) for n, m in network_turn.moves.items()} == {
        "0.weight": True,
        "1.weight": True,
        "critic/weight": False,
    }
    critic_turn = call("dann", lam=0.5, net=net, rows=batch(step=2.0))
    assert {n: bool(m.any()) for n, m in critic_turn.moves.items()} == {
        "0.weight": False,
        "1.weight": False,
        "critic/weight": True,
    }
    # d/dv₀ of −log softmax: −φ(1 − p₀) in domain 0, φ p₀ in domain 1.
    expected = (-1 * sigmoid(-2) - 2 * sigmoid(-4)) / 4 + 3 * sigmoid(6) / 2
    assert critic_turn.by_parameter["critic/weight"][0].item() == pytest.approx(expected)


def test_dann_gradient_penalty():
    """‖∂l/∂φ‖² is (2 sigmoid(∓2φ))²."""
    net = network(parts={"critic": ((1.0,), (-1.0,))})
    terms = {}
    for on in (False, True):
        got = call("dann", penalty=3.0, net=net, rows=batch(step=0.0), options={"gradient_penalty": on})
        terms[on] = got.by_parameter["critic/weight"]
    v = torch.tensor([[1.0], [-1.0]], dtype=torch.float64, requires_grad=True)
    gap = v[0, 0] - v[1, 0]
    phi = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    slopes = (
        gap**2
        * torch.stack([torch.sigmoid(-gap * phi[0]), torch.sigmoid(-gap * phi[1]), torch.sigmoid(gap * phi[2])]) ** 2
    )
    (extra,) = torch.autograd.grad(3 * ((slopes[0] + slopes[1]) / 4 + slopes[2] / 2), v)
    torch.testing.assert_close(terms[True] - terms[False], extra)


def test_cdann():
    """Classes 1, 0, 1 occur 2, 1, 2 times: shares ¼, ½, ¼; told −1, 1, −1 the critic sees 0, 3, 2."""
    net = network(parts={"critic": ((1.0,), (-1.0,)), "told": ((1.0,), (-1.0,))})
    got = call("cdann", task="binary", net=net, rows=batch(step=1.0))
    guess = log(2) / 4 + log(1 + exp(-6)) / 2 + log(1 + exp(4)) / 4
    assert float(got.terms["adversary"]) == pytest.approx(guess)


def test_groupdro():
    terms, state = call("groupdro", step=1.0, state={"log_q": [log(0.5), log(0.5)]})
    q = exp(5 / 8) / (exp(5 / 8) + exp(1 / 4))
    assert float(terms["risk"]) == pytest.approx(q * 5 / 8 + (1 - q) / 4)
    assert state["log_q"].exp().tolist() == pytest.approx([q, 1 - q])


def test_lap():
    """Two losses of each domain; the new ones, 5/8 and ¼, take the places of the older.

    5/8 and 7/8 have the mean ¾ and the deviation ⅛, ¼ and .35 the mean .3 and the deviation .05: domain 0 is above .35,
    and domain 1, already at zero, below 7/8.
    """
    state = {"history": [[9.0, 7 / 8], [9.0, 0.35]], "seen": 2.0, "count": [3.0, 0.0]}
    terms, new = call("lap", m=2.0, warmup=90.0, state=state)
    assert new["history"].tolist() == [[5 / 8, 7 / 8], [1 / 4, 0.35]]
    assert new["count"].tolist() == [4.0, 0.0]
    assert float(terms["risk"]) == pytest.approx(((1 - tanh(2 * 0.005 * 4) ** 2) * 5 / 8 + 1 / 4) / 2)
    # The next losses, which are the same, take the other places: nothing is left to deviate, so nothing counts.
    terms, last = call("lap", m=2.0, warmup=90.0, state={name: value.tolist() for name, value in new.items()})
    assert last["history"].tolist() == [[5 / 8, 5 / 8], [1 / 4, 1 / 4]]
    assert last["count"].tolist() == [4.0, 0.0]


def test_lap_waits_for_full_histories_and_the_end_of_the_warm_up():
    full = {"history": [[9.0, 7 / 8], [9.0, 0.35]], "seen": 2.0, "count": [0.0, 0.0]}
    for state, warmup in ((full, 91.0), (full | {"seen": 0.0}, 0.0)):
        terms, new = call("lap", warmup=warmup, state=state)
        assert float(terms["risk"]) == pytest.approx(7 / 16)
        assert new["count"].tolist() == [0.0, 0.0]
        assert new["history"][:, 0].tolist() == [5 / 8, 1 / 4]


def test_icorr():
    """A fourth row, (5, 0) in domain 1. Outputs about their means: ∓¼ and ∓½; times y: −¼, 0 and −½, 0."""
    rows = batch()._replace(
        x=torch.tensor([[1.0], [2.0], [3.0], [5.0]], dtype=torch.float64),
        y=torch.tensor([1.0, 0.0, 1.0, 0.0], dtype=torch.float64),
        domain=torch.tensor([0, 0, 1, 1]),
        weight=torch.ones(4, dtype=torch.float64),
        size=torch.tensor([2.0, 2.0], dtype=torch.float64),
    )
    plain = floats(call("icorr", lam=4.0, rows=rows, options={"rescale": "none"}))
    # ρ is −⅛ and −¼, each 1/16 from their mean; the fourth row's loss is (5/2)².
    assert plain == pytest.approx({"risk": (5 / 8 + (1 / 4 + 25 / 4) / 2) / 2, "correlation": 4 / 256})
    divided = floats(call("icorr", lam=4.0, rows=rows))
    assert divided == pytest.approx({name: value / 4 for name, value in plain.items()})
    early = floats(call("icorr", lam=4.0, rows=rows._replace(step=torch.tensor(19.0))))
    assert early == pytest.approx({"risk": plain["risk"], "correlation": 1 / 256})


def test_icorr_leaves_out_domains_of_one_row():
    """Alone in its domain, a row is its mean; the other domain then has nothing to differ from."""
    assert floats(call("icorr", lam=4.0, options={"rescale": "none"})) == pytest.approx(
        {"risk": 7 / 16, "correlation": 0.0}
    )


def test_pair():
    """The objectives are 7/16, 45/32 and, half the square of 5/8 − ¼, 9/128.

    Their slopes in w: dR/dw is 3/2 and 3. G_e = mean 2(wx − y)wx has the slope mean 2x(2wx − y), which is 4 and 12, so
    that G² has 6 and 36. The third has (5/8 − ¼)(3/2 − 3). Slopes in a are half of that: all gradients are on one line,
    the third the other way.
    """
    value = {"risk": 7 / 16, "irm": 45 / 32, "variance": 9 / 128}
    slope = [9 / 4, 21.0, -9 / 16]
    # The third is too large for its preference. It may shrink, but the others may not grow faster than along a.
    r = [1e-12 / (1 + 1e-2 + 1e-12), 1e-2 / (1 + 1e-2 + 1e-12), 1 / (1 + 1e-2 + 1e-12)]
    weighted = [p * v for p, v in zip(r, value.values(), strict=True)]
    excess = [log(3 * w / sum(weighted)) for w in weighted]
    divergence = sum(w / sum(weighted) * x for w, x in zip(weighted, excess, strict=True))
    along = sum(p * (x - divergence) * s for p, x, s in zip(r, excess, slope, strict=True))
    assert -9 / 16 < along < 0
    got = call("pair")
    assert floats(got.terms) == pytest.approx(value)
    assert got.by_parameter["1.weight"].item() == pytest.approx(along)
    assert got.by_parameter["0.weight"].item() == pytest.approx(along / 2)
    # Preferred by their inverses, all are as they should be: none may grow, and on one line one always does.
    still = call("pair", risk=value["variance"] / value["risk"], irm=value["variance"] / value["irm"])
    assert still.by_parameter["1.weight"].item() == pytest.approx(0, abs=1e-12)
    early = call("pair", rows=batch(step=29.0))
    assert early.by_parameter["1.weight"].item() == pytest.approx(9 / 4)
    assert early.by_parameter["0.weight"].item() == pytest.approx(9 / 8)


def test_iga():
    """(3/2, 3) and (¾, 3/2) around their means: 2·(¾)² + 2·(3/8)²."""
    assert floats(call("iga", lam=10.0)) == pytest.approx({"risk": 7 / 16, "iga": 10 * (9 / 8 + 9 / 32)})


def test_mixup():
    """Rows 0 and 1 meet row 2 at share ¼: x̃ = 5/2, 11/4, ỹ = 1, ¾; row 2 meets row 1 at ½: x̃ = 5/2, ỹ = ½."""
    draw = {"follower": [1, 0], "share": [0.25, 0.5], "place": [0.0, 0.0, 0.9]}
    losses = (1.25 - 1) ** 2, (1.375 - 0.75) ** 2, (1.25 - 0.5) ** 2
    got = floats(call("mixup", rows=batch(draw=draw)))
    assert got["risk"] == pytest.approx(((losses[0] + losses[1]) / 2 + losses[2]) / 2)
    classes = floats(call("mixup", task="binary", rows=batch(draw=draw)))
    first = logistic(1.25, 1)
    second = 0.25 * logistic(1.375, 0) + 0.75 * logistic(1.375, 1)
    third = 0.5 * logistic(1.25, 1) + 0.5 * logistic(1.25, 0)
    assert classes["risk"] == pytest.approx(((first + second) / 2 + third) / 2)


def test_mldg():
    """θ − 0.1 g is (a, w) = (0.925, 0.35) after domain 0, tested on 1, and (0.85, 0.2) after domain 1, tested on 0.

    Adam's rate has no part in it.
    """
    got = call("mldg", beta=2.0, inner=0.1, lr=7.0, rows=batch(draw={"tests": [[0.0, 1.0], [1.0, 0.0]]}))
    after_0 = 2 * (0.925 * 0.35 * 3 - 1) * 3
    after_1 = (2 * (0.17 - 1) * 1 + 2 * (0.34 - 0) * 2) / 2
    w = ((1.5 + 2 * after_0 * 0.925) + (3 + 2 * after_1 * 0.85)) / 2
    a = ((0.75 + 2 * after_0 * 0.35) + (1.5 + 2 * after_1 * 0.2)) / 2
    assert got.by_parameter["1.weight"].item() == pytest.approx(w)
    assert got.by_parameter["0.weight"].item() == pytest.approx(a)


def test_mtl():
    """v = ½·(3/2) + ½·2 and ½·3 + ½·4; the context adds v/5."""
    net = network(parts={"context": ((0.2,),)})
    terms, state = call("mtl", ema=0.5, net=net, state={"embedding": [[2.0], [4.0]], "ema": 0.5})
    losses = (0.5 + 0.35 - 1) ** 2, (1 + 0.35) ** 2, (1.5 + 0.7 - 1) ** 2
    assert float(terms["risk"]) == pytest.approx(((losses[0] + losses[1]) / 2 + losses[2]) / 2)
    assert state["embedding"].flatten().tolist() == [1.75, 3.5]


def test_mtl_predicts_with_the_mean_of_the_rows_at_hand():
    net, params = network(parts={"context": ((0.2,),)})
    output = get_method("mtl").predict(net, params, {"ema": torch.tensor(0.5)}, batch().x)
    assert output.flatten().tolist() == pytest.approx([0.5 + 0.4, 1 + 0.4, 1.5 + 0.4])


TWO = {"first": ((1.0,), (3.0,))}  # φ = (x, 3x)


def test_rsc():
    """f = ½φ₁ − φ₂/10 = x/5. Class 1 leans on φ₁, class 0 on φ₂; muting costs row 2 most, so it alone is muted."""
    net = network(**TWO, head=((0.5, -0.1),))
    before = [sigmoid(0.2), 1 - sigmoid(0.4), sigmoid(0.6)]
    after = [sigmoid(-0.3), 1 - sigmoid(1.0), sigmoid(-0.9)]
    drops = [b - a for b, a in zip(before, after, strict=True)]
    assert max(drops) == drops[2]
    got = floats(call("rsc", task="binary", p=0.5, net=net))
    assert got["risk"] == pytest.approx(((logistic(0.2, 1) + logistic(0.4, 0)) / 2 + logistic(-0.9, 1)) / 2)


def test_sagnet_swaps_style():
    """Rows 0 and 1 trade styles. φ = (x, 3x) is content (−1, 1)/√2 in style (mean 2x, variance 2x²): f = 5x/4, traded.

    The variance is over n − 1: ((x − 2x)² + (3x − 2x)²)/1.
    """
    net = network(**TWO, head=((0.5, 0.25),))
    draw = {"own": [0.0, 0.0, 0.0], "order": [0.5, 0.1, 0.9]}
    got = floats(call("sagnet", net=net, rows=batch(draw=draw)))
    losses = (2.5 - 1) ** 2, 1.25**2, (3.75 - 1) ** 2
    assert got["risk"] == pytest.approx(((losses[0] + losses[1]) / 2 + losses[2]) / 2, rel=1e-4)


def test_sagnet_mixes_variances():
    """Half of one's own style: rows 0 and 1 have mean 3, variance ½·2 + ½·8 = 5; φ is 3 ∓ √(5/2), f = ¾·3 − ¼√(5/2)."""
    net = network(**TWO, head=((0.5, 0.25),))
    draw = {"own": [0.5, 0.5, 0.5], "order": [0.5, 0.1, 0.9]}
    got = floats(call("sagnet", net=net, rows=batch(draw=draw)))
    f = 2.25 - sqrt(2.5) / 4
    assert got["risk"] == pytest.approx((((f - 1) ** 2 + f**2) / 2 + (3.75 - 1) ** 2) / 2, rel=1e-4)


def test_sagnet_style_head_is_fooled():
    """The style head sees the other's content in one's own style, which here is φ itself: logit φ₁ − φ₂ = −2x."""
    net = network(**TWO, head=((0.5, 0.25),), parts={"style": ((1.0, -1.0),)})
    draw = {"own": [1.0, 1.0, 1.0], "order": [0.5, 0.1, 0.9]}
    got = floats(call("sagnet", task="binary", w=0.5, net=net, rows=batch(draw=draw)))
    judged = ((logistic(-2, 1) + logistic(-4, 0)) / 2 + logistic(-6, 1)) / 2
    even = [-(logistic(-2 * x, 1) + logistic(-2 * x, 0)) / 2 for x in (1, 2, 3)]
    assert got["style"] == pytest.approx(judged, rel=1e-4)
    assert got["adversary"] == pytest.approx(-0.5 * ((even[0] + even[1]) / 2 + even[2]) / 2, rel=1e-4)
    assert got["risk"] == pytest.approx(((logistic(1.25, 1) + logistic(2.5, 0)) / 2 + logistic(3.75, 1)) / 2)


def test_sd():
    """mean f² is 5/8 and 9/4."""
    assert floats(call("sd", lam=0.1)) == pytest.approx({"risk": 7 / 16, "decoupling": 0.1 * (5 / 8 + 9 / 4) / 2})


def test_ldam_irm():
    """φ points along (1, 3)/√10 in every row; the classes' directions are the axes; n = (1, 16), so Δ = ½·(1, ½)."""
    net = network(**TWO, head=((0.5, 0.5),), parts={"cosine": ((2.0, 0.0), (0.0, 5.0))})
    low, high = 2 / sqrt(10), 6 / sqrt(10)
    state = {"count": [1.0, 16.0], "scale": 2.0}
    first = log(1 + exp(low - (high - 2 * 0.25)))  # the class is 1
    second = log(1 + exp(high - (low - 2 * 0.5)))  # the class is 0
    numbers = {"margin": 0.5, "scale": 2.0, "beta": 0.5, "eta": 3.0}
    early = call(
        "ldam-irm", task="binary", net=net, state=state, rows=batch(step=79.0), options={"rescale": "none"}, **numbers
    )
    assert float(early["risk"]) == pytest.approx(((first + second) / 2 + first) / 2)
    p_first = 1 / (1 + exp(low - (high - 0.5)))
    p_second = 1 / (1 + exp(high - (low - 1.0)))
    slope_first = (low - high) * (1 - p_first)
    slope_second = (high - low) * (1 - p_second)
    g = (slope_first + slope_second) / 2, slope_first
    assert float(early["irm"]) == pytest.approx(3 * (g[0] ** 2 + g[1] ** 2) / 2)
    # At the end rare classes weigh more: (1 − β)/(1 − βⁿ) is 1 and ½/(1 − 2⁻¹⁶), brought to mean one.
    raw = 1.0, 0.5 / (1 - 0.5**16)
    v = [2 * value / sum(raw) for value in raw]
    late = call("ldam-irm", task="binary", net=net, state=state, options={"rescale": "none"}, **numbers)
    assert float(late["risk"]) == pytest.approx(((v[1] * first + v[0] * second) / 2 + v[1] * first) / 2)
    output = get_method("ldam-irm").predict(*net, {"scale": torch.tensor(2.0)}, batch().x)
    assert output.flatten().tolist() == pytest.approx([high - low] * 3)


def test_sat_irm():
    """Logits (0, f): t ← ½ t + ½ p, weights max t over their mean."""
    state = {"target": [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]}
    p = [sigmoid(f) for f in (0.5, 1.0, 1.5)]
    t = [0.5 + p[0] / 2, p[1] / 2, 0.5 + p[2] / 2]  # what is now believed of class 1
    sure = [max(value, 1 - value) for value in t]
    v = [value * 3 / sum(sure) for value in sure]
    loss = [-v[i] * (t[i] * log(p[i]) + (1 - t[i]) * log(1 - p[i])) for i in range(3)]
    slope = [v[i] * f * (p[i] - t[i]) for i, f in enumerate((0.5, 1.0, 1.5))]
    terms, new = call("sat-irm", task="binary", rate=0.5, eta=2.0, state=state, options={"rescale": "none"})
    assert float(terms["risk"]) == pytest.approx(((loss[0] + loss[1]) / 2 + loss[2]) / 2)
    assert float(terms["irm"]) == pytest.approx(2 * (((slope[0] + slope[1]) / 2) ** 2 + slope[2] ** 2) / 2)
    assert new["target"][:, 1].tolist() == pytest.approx(t)
    warm, kept = call(
        "sat-irm", task="binary", rate=0.5, state=state, rows=batch(step=19.0), options={"rescale": "none"}
    )
    assert kept["target"].tolist() == state["target"]
    assert float(warm["risk"]) == pytest.approx(((logistic(0.5, 1) + logistic(1, 0)) / 2 + logistic(1.5, 1)) / 2)


def test_har():
    """∂l/∂φ = 2(f − y)w = −½, 1, ½, weighted 1, ½, 1/5."""
    got = call("har", c=0.1, eta=0.0, state={"weight": [[1.0, 0.5], [0.2, 0.0]]})
    assert floats(got) == pytest.approx({"risk": 7 / 16, "smoothness": 0.1 * ((0.5 + 0.5) / 2 + 0.1) / 2, "irm": 0.0})


def test_cnbb():
    """With weights of one: logistic loss of tanh(x)/2, minus λ mean tanh²."""
    got = floats(call("cnbb", task="binary", lam=0.3, rate=0.0))
    f = [tanh(x) / 2 for x in (1, 2, 3)]
    assert got["risk"] == pytest.approx(((logistic(f[0], 1) + logistic(f[1], 0)) / 2 + logistic(f[2], 1)) / 2)
    squares = [tanh(x) ** 2 for x in (1, 2, 3)]
    assert got["quantization"] == pytest.approx(-0.3 * ((squares[0] + squares[1]) / 2 + squares[2]) / 2)


def test_cnbb_weights_balance():
    """Two features that go together are imbalanced: over the sign of one, the other differs by 2·4/5; weights help."""
    features = torch.tensor([[0.8, 0.8]] * 3 + [[-0.8, -0.8]] * 3 + [[0.8, -0.8], [-0.8, 0.8]], dtype=torch.float64)
    even = torch.ones(8, dtype=torch.float64)
    contrast = (3 * 0.8 - 0.8) / 4 - (-3 * 0.8 + 0.8) / 4
    assert float(imbalance(features, even)) == pytest.approx(2 * contrast**2, rel=1e-5)
    weight = balancing_weights(features, even, torch.tensor(0.2), torch.tensor(0.01))
    assert float(weight.mean()) == pytest.approx(1)
    assert weight.min() >= 0
    assert weight[6:].min() > weight[:6].max()
    assert imbalance(features, weight) < imbalance(features, even) / 2
