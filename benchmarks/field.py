"""The way the field trains such models: one process a model, a forward pass a domain, double backward.

Written from the formulas, as the reference to measure against: an `nn.Module`, `torch.optim.Adam`, IRM by a dummy
scalar through autograd, the Lipschitz term by a second backward pass.
"""

import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def network(n_inputs: int, hidden: tuple[int, ...]) -> nn.Module:
    """A ReLU network with one output."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(n_inputs, width), nn.ReLU()]
        n_inputs = width
    return nn.Sequential(*layers, nn.Linear(n_inputs, 1))


def domain_loss(model: nn.Module, x: Tensor, y: Tensor, eta: float, lam: float) -> Tensor:
    """R_e + η (d/dw R_e(w f))² + λ mean ‖∇f‖², by autograd throughout."""
    x = x.clone().requires_grad_()
    w = torch.ones((), requires_grad=True)
    output = model(x)[:, 0]
    risk = F.binary_cross_entropy_with_logits(w * output, y)
    (dummy,) = torch.autograd.grad(risk, w, create_graph=True)
    (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
    return risk + eta * dummy.square() + lam * slope.square().sum(1).mean()


def make_stepper(n_inputs: int, hidden: tuple[int, ...], domains: int, rows: int) -> Callable[[], None]:
    """A function that makes one step of one model on fresh rows of each domain."""
    generator = torch.Generator().manual_seed(0)
    model = network(n_inputs, hidden)
    x = torch.randn(domains, 20 * rows, n_inputs, generator=generator)
    y = (x[:, :, 0] > 0).float()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        losses = []
        for e in range(domains):
            chosen = torch.randint(0, 20 * rows, (rows,), generator=generator)
            losses.append(domain_loss(model, x[e, chosen], y[e, chosen], 1.0, 0.1))
        optimiser.zero_grad()
        torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def main() -> None:
    """`python -m benchmarks.field STEPS`: train one model, print the CPU seconds of its steps."""
    torch.set_num_threads(1)
    step = make_stepper(10, (64, 64), 3, 64)
    start = time.process_time()
    for _ in range(int(sys.argv[1])):
        step()
    print(time.process_time() - start)


if __name__ == "__main__":
    main()
