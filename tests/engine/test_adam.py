"""The functional Adam against PyTorch's."""

import pytest
import torch

from rpo.engine.adam import cosine, start_adam, step_adam

DECAY = {"beta1": torch.tensor([[0.0], [0.5], [0.9]]), "beta2": torch.tensor([[0.9], [0.99], [0.999]])}


@pytest.mark.parametrize("decay", [{}, {k: v.double() for k, v in DECAY.items()}], ids=["usual", "one each"])
def test_equals_torch_adam_for_every_model_of_a_stack(decay):
    g = torch.Generator().manual_seed(0)
    flat = torch.randn(3, 7, dtype=torch.float64, generator=g)
    rates = torch.tensor([[0.1], [0.01], [0.003]], dtype=torch.float64)
    gradients = torch.randn(50, 3, 7, dtype=torch.float64, generator=g)
    state, ours = start_adam(flat), flat
    for gradient in gradients:
        ours, state = step_adam(ours, gradient, state, rates, **decay)
    for k in range(3):
        theirs = flat[k].clone().requires_grad_()
        betas = tuple(float(decay[name][k, 0]) for name in DECAY) if decay else (0.9, 0.999)
        optimiser = torch.optim.Adam([theirs], lr=float(rates[k, 0]), betas=betas)
        for gradient in gradients:
            theirs.grad = gradient[k]
            optimiser.step()
        torch.testing.assert_close(ours[k], theirs.detach(), rtol=0, atol=1e-12)


def test_cosine_runs_from_one_to_zero():
    steps = torch.tensor(100.0)
    values = torch.stack([cosine(torch.tensor(float(t)), steps) for t in range(101)])
    assert values[0] == 1
    assert abs(values[100]) < 1e-6
    assert (values.diff() < 1e-7).all()
