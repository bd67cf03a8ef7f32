"""Input gradients: the closed form against autograd, for values and for what training differentiates."""

import pytest
import torch
from torch import nn
from torch.func import vmap

from rpo.engine.nets import mlp
from rpo.functional.slope import function_output_and_slope, mlp_layers, output_and_slope

pytestmark = pytest.mark.usefixtures("seeded")


def by_autograd(module, x):
    """Σ_c ‖∇ₓ f_c(x_i)‖² by a double backward, one logit after another."""
    x = x.clone().requires_grad_()
    output = module(x)
    output = output if output.dim() > 1 else output[:, None]
    total = 0
    for c in range(output.shape[1]):
        (gradient,) = torch.autograd.grad(output[:, c].sum(), x, create_graph=True)
        total = total + gradient.flatten(1).square().sum(1)
    return output, total


def parameter_gradients(loss, module):
    gradients = torch.autograd.grad(loss, list(module.parameters()), allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for g, p in zip(gradients, module.parameters(), strict=True)]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("hidden", [(), (5,), (20,), (5, 7), (30, 20), (4, 6, 5)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_closed_form_equals_autograd(hidden, outputs):
    module, x, weight = mlp(11, outputs, hidden), torch.randn(9, 11), torch.rand(9)
    assert mlp_layers(module) is not None
    ours, theirs = output_and_slope(module, x), by_autograd(module, x)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)
    mine = parameter_gradients((weight * ours[1]).sum(), module)
    other = parameter_gradients((weight * theirs[1]).sum(), module)
    for a, b in zip(mine, other, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


class Flat(nn.Module):
    """Gives (n,) and has no closed form."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))

    def forward(self, x):
        return self.inner(x)[:, 0]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(
    "build, shape",
    [
        (lambda: nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)), (7, 4)),
        (Flat, (7, 4)),
        (lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3 * 9, 2)), (6, 2, 5, 5)),
    ],
    ids=["tanh", "flat", "convolution"],
)
def test_any_module_by_torch_func(build, shape):
    module = build()
    x, weight = torch.randn(shape), torch.rand(shape[0])
    assert mlp_layers(module) is None
    ours, theirs = output_and_slope(module, x), by_autograd(module, x)
    mine = parameter_gradients((weight * ours[1]).sum(), module)
    other = parameter_gradients((weight * theirs[1]).sum(), module)
    for a, b in zip([*ours, *mine], [*theirs, *other], strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def test_a_stack_of_models_under_vmap():
    modules = [mlp(3, 1, (4, 4)) for _ in range(3)]
    x = torch.randn(5, 3)
    names = [name for name, _ in modules[0].named_parameters()]
    stacked = {name: torch.stack([m.get_parameter(name).detach() for m in modules]) for name in names}
    slopes = vmap(lambda p: output_and_slope(modules[0], x, p)[1])(stacked)
    for k, module in enumerate(modules):
        torch.testing.assert_close(slopes[k], output_and_slope(module, x)[1].detach())


def test_rows_do_not_mix():
    f = lambda x: (x.square() * torch.tensor([1.0, 2.0])).sum(1, keepdim=True)  # noqa: E731
    _, slope = function_output_and_slope(f, torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    assert slope.tolist() == [4.0, 16.0]
