"""Methods against plain PyTorch: loss and gradient, for all three tasks.

The plain versions loop over domains, pairs and rows as the formulas are printed, with autograd wherever ours has a
closed form.
"""

from collections import deque
from itertools import combinations
from math import sqrt, tanh

import numpy as np
import pytest
import torch
from scipy.optimize import brentq, linprog
from scipy.stats import norm
from torch import nn
from torch.nn import functional as F

from rpo.engine.data import Batch
from rpo.engine.method import Values
from rpo.engine.nets import Net, mlp
from rpo.methods import get_method
from rpo.methods.eqrm import quantile
from rpo.methods.icorr import correlations
from rpo.methods.mmd import ROWS, SCALES, some_rows
from rpo.methods.pair import balance

TASKS = ["regression", "binary", "multiclass"]
SIZES = (9, 5, 1, 12)  # a domain of one row among them


def batch(task, step=90.0, sizes=SIZES):
    """Rows in random order, among them some without weight; numbered domains, of which the last is not there."""
    g = torch.Generator().manual_seed(3)
    domain = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    domain = torch.cat([domain, torch.arange(5) % len(sizes)])
    weight = torch.cat([torch.ones(sum(sizes)), torch.zeros(5)]).double()
    order = torch.randperm(len(domain), generator=g)
    domain, weight = domain[order], weight[order]
    x = torch.randn(len(domain), 3, generator=g).double() + 0.3 * domain[:, None]
    score = x[:, 0] - x[:, 1] + torch.randn(len(domain), generator=g).double()
    y = {"regression": score, "binary": (score > 0).double(), "multiclass": (score > -0.5).long() + (score > 0.5)}[task]
    return Batch(
        x=x,
        y=y,
        domain=domain,
        stratum=torch.zeros_like(domain),
        weight=weight,
        row=torch.arange(len(domain)),
        size=torch.tensor([*sizes, 0]).double(),
        step=torch.tensor(step).double(),
        steps=torch.tensor(100.0).double(),
        draw={"order": torch.rand(len(domain), generator=g).double()},
    )


def ours(name, task, rows, state=None, **given):
    """The method's loss, its gradient as one vector, and what it keeps (of one with its own gradient, its terms)."""
    net = Net(lambda: mlp(3, 3 if task == "multiclass" else 1, (6, 5)))
    flat = net.init([0]).double().requires_grad_()
    numbers, options = get_method(name).fill(given)
    values = {n: torch.tensor(v, dtype=torch.float64) for n, v in numbers.items()}
    hp = Values({**options, **values, "task": task, "n_classes": {"regression": 0, "binary": 2, "multiclass": 3}[task]})
    found = get_method(name).objective(net, net.unflatten(flat), state or {}, rows, hp)
    if get_method(name).own_gradient:
        return torch.stack(list(found.terms.values())).sum(), net.flatten(found.by_parameter), found.terms
    terms, kept = found if isinstance(found, tuple) else (found, {})
    loss = torch.stack(list(terms.values())).sum()
    return loss.detach(), torch.autograd.grad(loss, flat)[0], kept


class Plain:
    """The same network as a module, and the rows of each domain that is there."""

    def __init__(self, task, rows):
        net = Net(lambda: mlp(3, 3 if task == "multiclass" else 1, (6, 5)))
        self.module, self.task = net.module.double(), task
        nn.utils.vector_to_parameters(net.init([0]).double(), self.module.parameters())
        self.body, self.head = self.module[:-1], self.module[-1]
        kept = [(rows.domain == e) & (rows.weight > 0) for e in range(len(rows.size))]
        self.domains = [(rows.x[k], rows.y[k]) for k in kept if k.any()]

    def loss(self, output, y):
        """The loss of each row."""
        if self.task == "regression":
            return F.mse_loss(output[:, 0], y, reduction="none")
        if self.task == "binary":
            return F.binary_cross_entropy_with_logits(output[:, 0], y, reduction="none")
        return F.cross_entropy(output, y, reduction="none")

    def risks(self):
        return torch.stack([self.loss(self.module(x), y).mean() for x, y in self.domains])

    def features(self):
        return [self.body(x) for x, _ in self.domains]

    def irm(self):
        squares = []
        for x, y in self.domains:
            w = torch.ones((), dtype=torch.float64, requires_grad=True)
            (slope,) = torch.autograd.grad(self.loss(w * self.module(x), y).mean(), w, create_graph=True)
            squares.append(slope**2)
        return torch.stack(squares).mean()

    def bottleneck(self):
        return torch.stack([f.var(0).mean() if len(f) > 1 else f.sum() * 0 for f in self.features()]).mean()

    def variances(self):
        """Of each domain's rows, the variance of the head's gradient, one backward pass a row."""
        found = []
        for x, y in self.domains:
            each = []
            for i in range(len(x)):
                row = self.loss(self.module(x[i : i + 1]), y[i : i + 1]).sum()
                weight, bias = torch.autograd.grad(row, list(self.head.parameters()), create_graph=True)
                each.append(torch.cat([weight, bias[:, None]], 1).flatten())
            found.append(torch.stack(each).var(0, unbiased=False))
        return torch.stack(found)

    def correlation(self):
        """The variance over domains of several rows of E[(f − E f)·y], y an indicator of every class if any."""
        found = []
        for x, y in self.domains:
            if len(x) > 1:
                output = self.module(x)
                target = F.one_hot(y, 3) if self.task == "multiclass" else y[:, None]
                found.append(((output - output.mean(0)) * target).sum(1).mean())
        return torch.stack(found).var(unbiased=False)

    def mmd(self):
        def mean(a, b):
            kernel = [torch.exp(-s * (u - v).square().sum()) for u in a for v in b for s in SCALES]
            return torch.stack(kernel).sum() / (len(a) * len(b))

        pairs = [mean(a, a) + mean(b, b) - 2 * mean(a, b) for a, b in combinations(self.features(), 2)]
        return torch.stack(pairs).mean()

    def anchored(self):
        """Mean residuals by domain: y − f, or 1[y = c] − p_c."""
        squares = []
        for x, y in self.domains:
            output = self.module(x)
            if self.task == "regression":
                u = y[:, None] - output
            elif self.task == "binary":
                u = y[:, None] - output.sigmoid()
            else:
                u = F.one_hot(y, 3) - output.softmax(1)
            squares.append(u.mean(0).square().sum())
        return torch.stack(squares).mean()


def same(found, plain, loss):
    value, gradient, _ = found
    torch.testing.assert_close(value, loss.detach(), rtol=0, atol=1e-8)
    wanted = torch.autograd.grad(loss, list(plain.module.parameters()))
    torch.testing.assert_close(gradient, torch.cat([g.flatten() for g in wanted]), rtol=0, atol=1e-8)
    assert gradient.abs().max() > 1e-4


@pytest.mark.parametrize("task", TASKS)
def test_vrex(task):
    rows = batch(task)
    plain = Plain(task, rows)
    risks = plain.risks()
    loss = risks.mean() + 7 * risks.var(unbiased=False)
    same(ours("vrex", task, rows, beta=7.0, rescale="none"), plain, loss)
    same(ours("vrex", task, rows, beta=7.0), plain, (plain.risks().mean() + 7 * plain.risks().var(unbiased=False)) / 7)
    early = plain.risks().mean() + plain.risks().var(unbiased=False)
    same(ours("vrex", task, batch(task, step=24.0), beta=7.0), plain, early)


@pytest.mark.parametrize("task", TASKS)
def test_fishr(task):
    """The state is what was left of earlier steps; it has no gradient, and counts `ema` times."""
    rows = batch(task)
    plain = Plain(task, rows)
    now = plain.variances()
    before = torch.rand(5, now.shape[1], generator=torch.Generator().manual_seed(1)).double()
    before[4] = 0.0  # the domain that is not there
    v = now + 0.8 * before[:4]
    loss = plain.risks().mean() + 3 * (v - v.mean(0)).square().mean(1).mean()
    found = ours("fishr", task, rows, {"variance": before}, lam=3.0, ema=0.8, rescale="none")
    same(found, plain, loss)
    torch.testing.assert_close(found[2]["variance"][:4], v.detach(), rtol=0, atol=1e-10)
    early = ours("fishr", task, batch(task, step=24.0), {"variance": before}, lam=3.0)
    same(early, plain, plain.risks().mean())


@pytest.mark.parametrize("task", TASKS)
def test_ib_erm(task):
    rows = batch(task)
    plain = Plain(task, rows)
    same(ours("ib-erm", task, rows, gamma=0.7), plain, plain.risks().mean() + 0.7 * plain.bottleneck())


@pytest.mark.parametrize("task", TASKS)
def test_ib_irm(task):
    rows = batch(task)
    plain = Plain(task, rows)
    loss = plain.risks().mean() + 4 * plain.irm() + 0.7 * plain.bottleneck()
    same(ours("ib-irm", task, rows, eta=4.0, gamma=0.7, rescale="none"), plain, loss)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("alpha", [0.5, 0.75, 0.99])
def test_eqrm(task, alpha):
    """The quantile by scipy's root finder; its gradient by the rule for implicit functions, written out."""
    rows = batch(task)
    plain = Plain(task, rows)
    risks = plain.risks()
    width = 1.06 * risks.std() * len(risks) ** -0.2
    values, h = risks.detach().numpy(), float(width.detach())
    q = brentq(
        lambda t: norm.cdf((t - values) / h).mean() - alpha, values.min() - 9 * h, values.max() + 9 * h, xtol=1e-14
    )
    share = torch.distributions.Normal(0.0, 1.0).cdf((q - risks) / width).mean()
    # dq = −dF/F' at the solution.
    loss = q - (share - alpha) / (norm.pdf((q - values) / h).mean() / h)
    same(ours("eqrm", task, rows, alpha=alpha), plain, loss)
    same(ours("eqrm", task, batch(task, step=24.0), alpha=alpha), plain, plain.risks().mean())


def test_eqrm_of_two_domains_is_their_gaussian():
    rows = batch("regression", sizes=(9, 5))
    plain = Plain("regression", rows)
    risks = plain.risks()
    same(ours("eqrm", "regression", rows, alpha=0.9), plain, risks.mean() + norm.ppf(0.9) * risks.std())


def test_eqrm_of_equal_risks_is_that_risk():
    """No spread to estimate a bandwidth from, and no gradient that is not a number."""
    rows = batch("regression")
    value = torch.tensor([2.0, 2.0, 2.0, 2.0, 0.0]).double().requires_grad_()
    found = quantile(value, torch.tensor(0.75).double(), rows)
    assert found.item() == pytest.approx(2.0, abs=1e-5)
    assert torch.isfinite(torch.autograd.grad(found, value)[0]).all()


@pytest.mark.parametrize("task", TASKS)
def test_mmd(task):
    rows = batch(task)
    plain = Plain(task, rows)
    same(ours("mmd", task, rows, gamma=2.0), plain, plain.risks().mean() + 2 * plain.mmd())


def test_mmd_takes_rows_of_every_domain_alike_where_there_are_too_many():
    """Of 2,000, 1,000, 30 and 2 rows, as many of each as there are, up to an even share of what is left."""
    rows = batch("regression", sizes=(2000, 1000, 30, 2))
    taken = some_rows(rows)
    assert len(taken) == len(set(taken.tolist())) == ROWS
    assert (rows.weight[taken] > 0).all()
    assert rows.domain[taken].bincount().tolist() == [112, 112, 30, 2]


@pytest.mark.parametrize("task", TASKS)
def test_anchor(task):
    """For regression also as the projection itself: ‖(I − Π)u‖² + γ‖Πu‖², Π from the domains' indicators."""
    rows = batch(task)
    plain = Plain(task, rows)
    same(ours("anchor", task, rows, gamma=5.0), plain, plain.risks().mean() + 4 * plain.anchored())
    if task == "regression":
        indicators = torch.block_diag(*[torch.ones(n, 1) for n in SIZES]).double()
        # Every domain counts the same: rows scaled by the root of one over its size.
        scale = torch.cat([torch.full((n,), 1 / sqrt(n * len(SIZES)), dtype=torch.float64) for n in SIZES])
        u = scale * torch.cat([y - plain.module(x)[:, 0] for x, y in plain.domains])
        a = scale[:, None] * indicators
        projected = a @ torch.linalg.solve(a.T @ a, a.T @ u)
        same(
            ours("anchor", task, rows, gamma=5.0), plain, (u - projected).square().sum() + 5 * projected.square().sum()
        )


@pytest.mark.parametrize("task", TASKS)
def test_icorr(task):
    rows = batch(task)
    plain = Plain(task, rows)
    same(ours("icorr", task, rows, lam=7.0, rescale="none"), plain, plain.risks().mean() + 7 * plain.correlation())
    same(ours("icorr", task, rows, lam=7.0), plain, (plain.risks().mean() + 7 * plain.correlation()) / 7)
    early = ours("icorr", task, batch(task, step=19.0), lam=7.0)
    same(early, plain, plain.risks().mean() + plain.correlation())


def test_icorr_of_classes_ignores_what_their_outputs_share():
    """The same number added to all outputs of a row leaves the probabilities as they are."""
    rows = batch("multiclass")
    shared = 5 * rows.x[:, :1] ** 2
    output = torch.randn(len(rows.x), 3, generator=torch.Generator().manual_seed(0)).double()
    torch.testing.assert_close(
        correlations(output + shared, rows, "multiclass"), correlations(output, rows, "multiclass")
    )


class Sources:
    """LAP's counts from lists of losses, one domain after another."""

    def __init__(self, domains, length, warmup, kappa, m):
        self.losses = [deque(maxlen=length) for _ in range(domains)]
        self.count, self.steps = [0] * domains, 0
        self.length, self.warmup, self.kappa, self.m = length, warmup, kappa, m

    def factor(self, e):
        return 1 - tanh(self.m * 0.005 * self.count[e]) ** 2

    def step(self, losses):
        """The factor of each domain in this step."""
        for own, loss in zip(self.losses, losses, strict=True):
            own.append(loss)
        if self.steps >= self.warmup and all(len(own) == self.length for own in self.losses):
            moves = [self.move(e) for e in range(len(losses))]  # all before any count changes
            self.count = [max(0, count + move) for count, move in zip(self.count, moves, strict=True)]
        self.steps += 1
        return [self.factor(e) for e in range(len(losses))]

    def move(self, e):
        others = [k for k in range(len(self.count)) if k != e]
        values = np.concatenate([list(self.losses[k]) for k in others])
        weights = np.repeat([self.factor(k) for k in others], self.length)
        centre = np.average(values, weights=weights)
        spread = np.sqrt(np.average((values - centre) ** 2, weights=weights))
        if np.isclose(spread, 0):
            return 0
        return 1 if np.mean(self.losses[e]) >= centre + self.kappa * spread else -1


@pytest.mark.parametrize("task, sizes", [("regression", SIZES), ("multiclass", SIZES), ("binary", (9, 5))], ids=str)
def test_lap(task, sizes):
    """Inputs that swell in turn, now in one domain and now in another, for 160 steps; one domain is not there."""
    rows = batch(task, sizes=sizes)
    told = Sources(len(sizes), length=25, warmup=30, kappa=0.6, m=2.0)
    domains = len(sizes) + 1
    state = {"history": torch.zeros(domains, 25), "seen": torch.zeros(()), "count": torch.zeros(domains)}
    state = {name: value.double() for name, value in state.items()}
    most = np.zeros(len(sizes))
    for step in range(160):
        swollen = 1 + 2 * torch.sin(step / 25 + 2.0 * rows.domain.double()).clamp_min(0)
        now = rows._replace(x=rows.x * swollen[:, None], step=torch.tensor(float(step)))
        plain = Plain(task, now)
        risks = plain.risks()
        factors = told.step(risks.tolist())
        found = ours("lap", task, now, state, m=2.0, kappa=0.6, warmup=30.0, history=25)
        loss = (torch.tensor(factors, dtype=torch.float64) * risks).mean()
        if step % 10 == 9:
            same(found, plain, loss)
        torch.testing.assert_close(found[0], loss.detach(), rtol=0, atol=1e-8)
        state = found[2]
        assert state["count"].tolist() == [*told.count, 0]
        most = np.maximum(most, told.count)
    assert (most > 10).sum() >= len(sizes) // 2  # of four domains, not of one alone


@pytest.mark.parametrize("kept", ["losses", "counts"])
def test_lap_of_equal_losses_and_of_distrusted_domains_is_a_number(kept):
    """No spread to compare with, and weights so small that they are zero."""
    rows = batch("regression")
    value = Plain("regression", rows).risks().detach()
    history = torch.cat([value, torch.zeros(1)])[:, None].expand(5, 25).double()
    count = torch.zeros(5).double()
    if kept == "counts":
        history, count = history + torch.rand(5, 25, generator=torch.Generator().manual_seed(0)).double(), count + 1e9
    state = {"history": history, "seen": torch.tensor(25.0).double(), "count": count}
    loss, gradient, new = ours("lap", "regression", rows, state, warmup=0.0, history=25)
    assert torch.isfinite(loss)
    assert torch.isfinite(gradient).all()
    assert all(torch.isfinite(value).all() for value in new.values())


def programme(value, gram, r):
    """The linear programme of exact Pareto search by its definition: gain, A and b of A α ≥ b, and its α."""
    weighted = r * value
    hat = weighted / weighted.sum()
    divergence = (hat * np.log(3 * hat)).sum()
    along = gram @ (r * (np.log(3 * hat) - divergence))
    if divergence > 0.1:
        rows = [(gram[j], 0.0) for j in range(3) if weighted[j] == weighted.max()]
        rows += [(gram[j], along[j]) for j in range(3) if weighted[j] < weighted.max() and along[j] <= 0]
        gain = along
    else:
        rows, gain = [*((gram[j], 0.0) for j in range(3)), (along, min(0.0, along.max()))], gram.sum(0)
    # To rows of length one, for the solver's tolerances.
    length = [np.linalg.norm(row) for row, _ in rows]
    a = np.array([row / s for (row, _), s in zip(rows, length, strict=True)])
    b = np.array([bound / s for (_, bound), s in zip(rows, length, strict=True)])
    gain = gain / np.abs(gain).max()
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(-gain, A_ub=-a, b_ub=-b, A_eq=np.ones((1, 3)), b_eq=[1], options=tight)
    return gain, a, b, (found.x if found.status == 0 else None), divergence


def test_pairs_weights_solve_the_programme():
    """Against scipy's solver, far from the preferences and near them, of gradients of very different lengths."""
    g = np.random.default_rng(0)
    seen = {"apart": 0, "near": 0, "none": 0}
    for case in range(400):
        rows = g.normal(size=(3, g.integers(2, 20))) * 10 ** g.uniform(-3, 1, (3, 1))
        value, gram = 10 ** g.uniform(-3, 1, 3), rows @ rows.T
        wanted = (
            [10 ** g.uniform(-12, -8), 10 ** g.uniform(-4, 2), 1] if case % 2 else 10 ** g.uniform(-0.2, 0.2, 3) / value
        )
        r = np.array(wanted) / np.sum(wanted)
        gain, a, b, best, divergence = programme(value, gram, r)
        alpha = balance(*map(torch.from_numpy, (value, gram, r))).numpy()
        if best is None:
            seen["none"] += 1
            np.testing.assert_allclose(alpha, r, rtol=0, atol=1e-12)
            continue
        seen["apart" if divergence > 0.1 else "near"] += 1
        assert alpha.min() >= 0
        assert alpha.sum() == pytest.approx(1)
        assert (a @ alpha >= b - 1e-8).all()
        assert gain @ alpha == pytest.approx(gain @ best, abs=1e-8)
    assert min(seen.values()) > 5, seen


def test_pairs_weights_of_objectives_that_are_zero():
    """Risks that are equal, and a fit without error: nothing that is no number."""
    r = torch.tensor([1e-12, 0.01, 0.99], dtype=torch.float64)
    for value in ([1.0, 0.3, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]):
        gradients = torch.randn(3, 5, generator=torch.Generator().manual_seed(1)).double()
        gradients = gradients * torch.tensor(value).double()[:, None]
        for dtype in (torch.float32, torch.float64):
            alpha = balance(*(x.to(dtype) for x in (torch.tensor(value), gradients @ gradients.T, r)))
            assert alpha.min() >= 0
            assert alpha.sum().item() == pytest.approx(1)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("preference", [(1e-12, 1e-2), (1e-9, 10.0), "near"], ids=str)
def test_pair(task, preference):
    """The three objectives by autograd, their weights by scipy's solver."""
    rows = batch(task)
    plain = Plain(task, rows)
    parts = plain.risks().mean(), plain.irm(), plain.risks().var()
    weights = list(plain.module.parameters())
    slopes = [torch.cat([g.flatten() for g in torch.autograd.grad(p, weights, retain_graph=True)]) for p in parts]
    value, stacked = torch.stack(parts).detach(), torch.stack(slopes)
    if preference == "near":
        preference = 1.3 * (value[2] / value[0]).item(), 0.9 * (value[2] / value[1]).item()
    r = np.array([*preference, 1.0])
    best = programme(value.numpy(), (stacked @ stacked.T).numpy(), r / r.sum())[3]
    alpha = r / r.sum() if best is None else best
    _, gradient, terms = ours("pair", task, rows, risk=preference[0], irm=preference[1])
    torch.testing.assert_close(torch.stack(list(terms.values())), value, rtol=0, atol=1e-8)
    torch.testing.assert_close(gradient, torch.from_numpy(alpha) @ stacked, rtol=1e-6, atol=1e-8)
    early = ours("pair", task, batch(task, step=29.0), risk=preference[0], irm=preference[1])
    torch.testing.assert_close(early[1], stacked[0], rtol=0, atol=1e-8)
