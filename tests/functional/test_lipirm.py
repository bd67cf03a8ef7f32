"""The LipIRM loss against the equations written out with autograd."""

import pytest
import torch
from torch import nn

from rpo.engine.nets import mlp
from rpo.exceptions import InputError
from rpo.functional.lipirm import lipirm_loss, squared_dummy_gradient, squared_mean
from rpo.functional.losses import sample_loss

pytestmark = pytest.mark.usefixtures("seeded")
TASKS = ["regression", "binary", "multiclass"]


def example(task, n=30):
    x, domain = torch.randn(n, 4), torch.arange(n) % 3
    y = torch.randint(0, 3, (n,)) if task == "multiclass" else (torch.rand(n) > 0.5).double()
    y = torch.randn(n) if task == "regression" else y
    return mlp(4, 3 if task == "multiclass" else 1, (6, 5)).double(), x, y, domain


def written_out(model, x, y, domain, eta, rho, lam, task, reduction):
    """Eq. 1 and Eq. 4 as the paper prints them: a loop over domains, autograd for w and for x."""
    x = x.clone().requires_grad_()
    total = torch.zeros(())
    for e in range(int(domain.max()) + 1):
        rows = domain == e
        count = rows.sum()
        w = torch.ones((), requires_grad=True)
        loss = sample_loss(w * model(x[rows]), y[rows], task).sum()
        loss = loss / count if reduction == "mean" else loss
        (slope,) = torch.autograd.grad(loss, w, create_graph=True)
        output = model(x)
        gradients = [torch.autograd.grad(output[:, c].sum(), x, create_graph=True)[0] for c in range(output.shape[1])]
        lipschitz = (rho * sum(g.square().sum(1) for g in gradients))[rows].sum()
        lipschitz = lipschitz / count if reduction == "mean" else lipschitz
        total = total + loss + eta[e] * slope**2 + lam * lipschitz
    return total


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("task", TASKS)
def test_equals_the_equations(task, reduction):
    model, x, y, domain = example(task)
    eta, rho, lam = torch.tensor([0.5, 2.0, 0.0]), torch.rand(len(x)), 0.3
    ours = lipirm_loss(model, x, y, domain, eta=eta, rho=rho, lam=lam, task=task, reduction=reduction)
    theirs = written_out(model, x, y, domain, eta, rho, lam, task, reduction)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    # The gradient through the analytic slope leaves the last bias without a second path.
    mine = torch.autograd.grad(ours, list(model.parameters()))
    other = torch.autograd.grad(theirs, list(model.parameters()))
    for a, b in zip(mine, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("double")
def test_sum_form_is_the_mean_form_with_effective_penalties():
    """Equal domains of N rows: Eq. 4 is N times Eq. 1 with η_eff = N·η."""
    model, x, y, domain = example("regression")
    n = 10
    eta = torch.tensor([0.5, 2.0, 1.0])
    both = {"rho": torch.rand(len(x)), "lam": 0.3, "task": "regression"}
    total = lipirm_loss(model, x, y, domain, eta=eta, reduction="sum", **both)
    mean = lipirm_loss(model, x, y, domain, eta=n * eta, reduction="mean", **both)
    torch.testing.assert_close(total, n * mean)


@pytest.mark.usefixtures("double")
def test_split_estimator_is_unbiased_and_square_is_not():
    """Mini-batches of 8 rows from a domain of 2,000: the mean of each estimate against the true square."""
    g = torch.Generator().manual_seed(0)
    output, y = torch.randn(2000, 1, generator=g), torch.randn(2000, generator=g)
    everything = torch.zeros(2000, dtype=torch.long)
    truth = float(squared_dummy_gradient(output, y, everything, torch.ones(2000), 1, "regression"))
    rows = torch.randint(0, 2000, (20_000, 8), generator=g)
    domain = torch.arange(20_000).repeat_interleave(8)
    estimates = {
        kind: squared_dummy_gradient(
            output[rows.flatten()], y[rows.flatten()], domain, torch.ones(160_000), 20_000, "regression", kind
        )
        for kind in ("square", "split")
    }
    error = float(estimates["split"].std() / 20_000**0.5)
    assert abs(float(estimates["split"].mean()) - truth) < 4 * error
    assert float(estimates["square"].mean()) - truth > 10 * error
    assert bool((estimates["split"] < 0).any())


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("n_domains", [1, 2, 3])
def test_split_halves_within_the_domain(n_domains):
    """Domains that take turns, sorted by domain or with rows of no weight between: the same halves, hence the same."""
    g = torch.Generator().manual_seed(0)
    values, domain = torch.randn(24, generator=g), torch.arange(24) % n_domains
    found = squared_mean(values, domain, torch.ones(24), n_domains, "split")
    for e in range(n_domains):
        own = values[domain == e]
        torch.testing.assert_close(found[e], own[::2].mean() * own[1::2].mean())
    order = domain.argsort(stable=True)
    torch.testing.assert_close(squared_mean(values[order], domain[order], torch.ones(24), n_domains, "split"), found)
    padded = torch.arange(48) % 2
    wide, wide_domain = values.repeat_interleave(2), domain.repeat_interleave(2)
    torch.testing.assert_close(squared_mean(wide, wide_domain, padded.double(), n_domains, "split"), found)


def test_split_has_no_penalty_for_a_domain_of_one_row():
    found = squared_mean(torch.tensor([3.0, 1.0, 5.0]), torch.tensor([0, 1, 1]), torch.ones(3), 2, "split")
    assert found.tolist() == [0.0, 5.0]


def test_zero_penalties_leave_the_risk():
    model, x, y, domain = example("binary")
    loss = lipirm_loss(model.float(), x, y.float(), domain, eta=0.0, rho=1.0, lam=0.0, task="binary")
    risks = [sample_loss(model(x[domain == e]), y[domain == e].float(), "binary").mean() for e in range(3)]
    torch.testing.assert_close(loss, sum(risks))


def test_own_module_and_loop_learns():
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    x = torch.randn(90, 2)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.03)
    losses = []
    for _ in range(150):
        loss = lipirm_loss(model, x, x[:, 0], torch.arange(90) % 3, eta=0.1, rho=1.0, lam=1e-3, task="regression")
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"task": "ranking"}, "task must .* got 'ranking'"),
        ({"reduction": "median"}, "reduction must .* got 'median'"),
        ({"estimator": "cube"}, "must be 'square' or 'split', got 'cube'"),
    ],
)
def test_unknown_words_are_named(change, message):
    model, x, y, domain = example("regression")
    options = {"eta": 1.0, "rho": 1.0, "lam": 0.1, "task": "regression"} | change
    with pytest.raises(InputError, match=message):
        lipirm_loss(model.float(), x, y, domain, **options)


def test_lengths_must_agree():
    model, x, y, domain = example("regression")
    with pytest.raises(InputError, match="got 30, 30 and 29"):
        lipirm_loss(model.float(), x, y, domain[1:], eta=1.0, rho=1.0, lam=0.1, task="regression")
