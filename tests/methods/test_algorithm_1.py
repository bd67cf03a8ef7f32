"""Algorithm 1 of the paper once more, in plain loops with torch's own Adam: `scheme="paper"` alone is that, no more."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from rpo import DomainRegressor, RPOClassifier, RPORegressor
from rpo.engine import Net, mlp
from rpo.engine.drawing import Seeded
from rpo.exceptions import CollapseWarning
from rpo.functional.penalties import optimal_penalties

STEPS, RATE, SEED = 30, 1e-2, 3
N, FEATURES, HIDDEN = 45, 3, (6,)
TASKS = ("regression", "binary", "multiclass")


def table(task):
    """Three domains by four strata, of which one cell is empty and one holds a single row."""
    rng = np.random.default_rng(0)
    X = 2 + 3 * rng.normal(size=(N, FEATURES))
    domain, stratum = rng.integers(0, 3, N), rng.integers(0, 3, N)
    stratum[(domain == 1) & (stratum == 2)] = 0
    stratum[np.flatnonzero(domain == 2)[0]] = 3
    signal = X[:, 0] + rng.normal(size=N) * (1 + domain)
    if task == "regression":
        return X, 5 + 4 * signal, domain, stratum
    return X, np.digitize(signal, [2] if task == "binary" else [0, 3]), domain, stratum


def loss_of(output, y, task):
    """l(f(x_i), y_i) of one row."""
    if task == "regression":
        return (output[0] - y) ** 2
    if task == "binary":
        p = 1 / (1 + torch.exp(-output[0]))
        return -torch.log(p if y == 1 else 1 - p)
    return -torch.log(torch.exp(output[y]) / torch.exp(output).sum())


def squared_error(output, y, task):
    """(y − f)², and for classes half the squared distance of the probabilities to the truth."""
    if task == "regression":
        return float((output[0] - y) ** 2)
    if task == "binary":
        return float((1 / (1 + torch.exp(-output[0])) - y) ** 2)
    p = torch.exp(output) / torch.exp(output).sum()
    return float(sum((p[c] - float(c == y)) ** 2 for c in range(len(p))) / 2)


def equation_4(model, x, y, domain, eta, rho, lam, task):
    """Σ_e Σ_i l_i + Σ_e η_e (d/dw Σ_i l(w f(x_i), y_i))² + λ Σ_e Σ_i ρ_i Σ_c ‖∇f_c(x_i)‖², row by row."""
    total = torch.zeros((), dtype=torch.float64)
    for e in range(int(max(domain)) + 1):
        w = torch.ones((), dtype=torch.float64, requires_grad=True)
        risk = torch.zeros((), dtype=torch.float64)
        for i in np.flatnonzero(domain == e):
            row = x[i].clone().requires_grad_()
            output = model(row)
            risk = risk + loss_of(w * output, y[i], task)
            for c in range(len(output)):
                (slope,) = torch.autograd.grad(output[c], row, create_graph=True)
                total = total + lam * rho[i] * (slope**2).sum()
        (gradient,) = torch.autograd.grad(risk, w, create_graph=True)
        total = total + risk + eta[e] * gradient**2
    return total


def trained(model, *loss, steps):
    """Adam, its rate falling by half a cosine."""
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    for step in range(steps):
        adam.param_groups[0]["lr"] = RATE * (1 + math.cos(math.pi * step / steps)) / 2
        adam.zero_grad()
        equation_4(model, *loss).backward()
        adam.step()
    return model


def initialised(outputs, seed):
    """The network with the library's random start: that is all the two share."""
    net = Net(lambda: mlp(FEATURES, outputs, HIDDEN))
    with Seeded(0):
        model = mlp(FEATURES, outputs, HIDDEN).double()
    flat = net.unflatten(net.init(seed).double())
    model.load_state_dict(flat)
    return model


def algorithm_1(x, y, domain, stratum, outputs, task, steps=STEPS):
    """Steps 1 to 7, every cell a group of its own, as the paper lets no group cross a domain."""
    E, K = int(max(domain)) + 1, int(max(stratum)) + 1
    size = [int((domain == e).sum()) for e in range(E)]
    lam = sum(1 / n for n in size) ** (2 / 5)
    first = initialised(outputs, [int(np.random.SeedSequence([SEED, 1]).generate_state(1)[0]), 0])
    first = trained(first, x, y, domain, [1.0] * E, [1.0] * len(x), lam, task, steps=steps)
    sigma, density = {}, {}
    for e in range(E):
        for k in range(K):
            cell = [i for i in range(len(x)) if domain[i] == e and stratum[i] == k]
            if cell:
                with torch.no_grad():
                    sigma[e, k] = math.sqrt(sum(squared_error(first(x[i]), y[i], task) for i in cell) / len(cell))
                density[e, k] = len(cell) / size[e]
    rho = {cell: 4 ** (-2 / 5) * (sigma[cell] / density[cell]) ** (4 / 5) for cell in sigma}
    eta = [
        size[e] / 4 ** (7 / 5) / sum((sigma[e, k] / density[e, k]) ** (4 / 5) for k in range(K) if (e, k) in sigma)
        for e in range(E)
    ]
    by_row = [rho[e, k] for e, k in zip(domain, stratum, strict=True)]
    second = initialised(outputs, [SEED, 0])
    return trained(second, x, y, domain, eta, by_row, lam, task, steps=steps), eta, rho, lam


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("ignore::rpo.exceptions.CollapseWarning")
def test_the_paper_to_the_letter(task):
    X, y, domain, stratum = table(task)
    kind = RPORegressor if task == "regression" else RPOClassifier
    ours = kind(scheme="paper", standardize=False, hidden=HIDDEN, steps=STEPS, learning_rate=RATE, random_state=SEED)
    ours.fit(X, y, domains=domain, strata=stratum)
    target = torch.tensor(y, dtype=torch.float64 if task == "regression" else torch.long)
    outputs = 3 if task == "multiclass" else 1
    model, eta, rho, lam = algorithm_1(torch.tensor(X), target, domain, stratum, outputs, task)
    assert ours.penalties_.lam == pytest.approx(lam, rel=1e-10)
    np.testing.assert_allclose(ours.penalties_.eta, eta, rtol=1e-10)
    assert len(ours.penalties_.rho) == len(rho) < 12
    for cell, value in ours.penalties_.rho.items():
        assert value == pytest.approx(rho[cell], rel=1e-10)
    for name, value in model.state_dict().items():
        np.testing.assert_allclose(ours.params_[name], value, rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore::rpo.exceptions.CollapseWarning")
def test_standardised_the_paper_is_the_same_on_standardised_columns():
    X, y, domain, stratum = table("regression")
    fit = {"domains": domain, "strata": stratum}
    ours = RPORegressor(scheme="paper", hidden=HIDDEN, steps=20).fit(X, y, **fit)
    scaled = (X - X.mean(0)) / X.std(0)
    plain = RPORegressor(scheme="paper", hidden=HIDDEN, steps=20, standardize=False)
    plain.fit(scaled, (y - y.mean()) / y.std(), **fit)
    np.testing.assert_allclose(ours.predict(X), plain.predict(scaled) * y.std() + y.mean(), rtol=1e-8)
    alone = RPORegressor(scheme="paper", hidden=HIDDEN, steps=20, standardize=False).fit(X, y, **fit)
    assert (alone.y_mean_, alone.y_scale_) == (0, 1)
    assert DomainRegressor(steps=2, standardize=False).fit(X, y, domains=domain).y_scale_ == 1


def test_where_the_paper_says_nothing_the_decision_is_kept():
    """No row: no term. No noise in a cell: its ρ is zero. None in a domain: the largest η of the others, or one."""
    sigma, density = [[1.0, 0.0], [0.0, np.nan]], [[0.5, 0.5], [1.0, np.nan]]
    got = optimal_penalties(sigma, density, [10, 20], split=True)
    np.testing.assert_allclose(got.rho, [[4**-0.4 * 2**0.8, 0], [0, np.nan]])
    first = 10 * 4**-1.4 / 2**0.8
    np.testing.assert_allclose(got.eta, [first, first])
    np.testing.assert_array_equal(optimal_penalties([[0.0]], [[1.0]], [5]).eta, [1.0])


def test_a_cell_of_one_row_has_its_own_noise_only_in_the_paper():
    X, y, domain, stratum = table("regression")
    lone = stratum == 3
    y[lone] += 500
    noise = {}
    for scheme in ("paper", "calibrated"):
        with pytest.warns(CollapseWarning) if scheme == "paper" else nullcontext():
            model = RPORegressor(scheme=scheme, hidden=HIDDEN, steps=20).fit(X, y, domains=domain, strata=stratum)
        cells = model.quality_.set_index(["domain", "stratum"])["noise"]
        noise[scheme] = cells[2, 3]
    assert noise["paper"] > 300 > noise["calibrated"]
