"""Adam as a pure function of flat vectors, one row a model."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


class AdamState(NamedTuple):
    """First and second moments, `(K, P)`, and the number of steps of each parameter, `(K, 1)` or `(K, P)`."""

    first: Tensor
    second: Tensor
    taken: Tensor


def start_adam(flat: Tensor) -> AdamState:
    """Return the state of Adam before the first step."""
    return AdamState(torch.zeros_like(flat), torch.zeros_like(flat), flat.new_zeros(len(flat), 1))


def step_adam(
    flat: Tensor,
    gradient: Tensor,
    state: AdamState,
    rate: Tensor,
    beta1: Tensor | float = BETA1,
    beta2: Tensor | float = BETA2,
) -> tuple[Tensor, AdamState]:
    r"""Make one step of Adam (Kingma & Ba 2015).

        θ ← θ − a·m̂/(√v̂ + ε),  m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²

    `rate` is `(K, 1)`, the decay rates a number each or `(K, 1)`.

    >>> flat = torch.zeros(1, 2)
    >>> flat, state = step_adam(flat, torch.tensor([[3.0, -0.1]]), start_adam(flat), torch.tensor([[0.1]]))
    >>> flat
    tensor([[-0.1000,  0.1000]])
    """
    taken = state.taken + 1
    first = torch.lerp(state.first, gradient, 1 - beta1)
    second = beta2 * state.second + (1 - beta2) * gradient.square()
    pace = rate / (1 - beta1**taken)
    root = second.sqrt() * (1 - beta2**taken).rsqrt() + EPSILON
    return flat - pace * first / root, AdamState(first, second, taken)


def cosine(step: Tensor, steps: Tensor) -> Tensor:
    r"""Return the cosine schedule's factor for the learning rate at a step.

    ½(1 + cos(π t/T)): one at the first step, near zero at the last.

    >>> cosine(torch.tensor(50.0), torch.tensor(100.0))
    tensor(0.5000)
    """
    return (1 + torch.cos(math.pi * step / steps)) / 2
