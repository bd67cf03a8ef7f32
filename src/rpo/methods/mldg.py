"""MLDG: steps that improve one domain should improve the others, too."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import grad, jacrev, vmap

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, Gradient, State, Values, log_uniform, method, one_of
from rpo.engine.nets import Net, Params
from rpo.exceptions import InputError
from rpo.methods.terms import present, risks


def draw(rng: np.random.Generator, rows: int, n_domains: int, numbers: Mapping[str, float]) -> dict[str, NDArray[Any]]:
    """Which domains test the step of each: those that follow it in a random ring, `(E, E)`, rows of mean one."""
    held_out = int(numbers["held_out"])
    if not 1 <= held_out < n_domains:
        raise InputError(
            f"held_out must be at least 1 and below the number of training domains ({n_domains}), got {held_out}"
        )
    ring = rng.permutation(n_domains)
    tests = np.zeros((n_domains, n_domains))
    for ahead in range(1, held_out + 1):
        tests[ring, np.roll(ring, -ahead)] = 1 / held_out
    return {"tests": tests}


@method(
    "mldg",
    tasks=BOTH,
    # The authors look ahead by plain gradient descent at .5; squared loss curves more than their cross-entropy.
    space={
        "beta": log_uniform(1.0, 0.1, 10.0, "Weight of the gradient after the inner step."),
        "inner": log_uniform(0.2, 0.02, 1.0, "Learning rate of the inner step."),
        "held_out": one_of(1, 1, 2, words="Number of domains that test the inner step of each."),
    },
    draw=draw,
    own_gradient=True,
    version=2,
    per_row=True,
    cite="Li et al. 2018",
    reference="Li, Yang, Song & Hospedales. Learning to Generalize: Meta-Learning for Domain Generalization. AAAI"
    " 2018.",
)
def mldg(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Gradient:
    r"""mean_i [∇R_i(θ) + β ∇R_j(θ − a ∇R_i(θ))], j held out for i, to first order"""

    def by_domain(params: Params) -> tuple[Tensor, Tensor]:
        value = risks(net(params, batch.x), batch, hp.task)
        return value, value

    own, value = jacrev(by_domain, has_aux=True)(params)
    moved = {name: params[name] - hp.inner * g for name, g in own.items()}
    # A held-out domain that is not there has risk zero everywhere, hence no gradient.
    tested = vmap(grad(lambda p, tests: (tests * by_domain(p)[0]).sum()))(moved, batch.draw["tests"])
    here, domains = batch.size > 0, present(batch)
    update = {}
    for name, g in own.items():
        mask = here.reshape(-1, *(1,) * (g.dim() - 1))
        update[name] = torch.where(mask, g + hp.beta * tested[name], 0).sum(0) / domains
    return Gradient(update, {"risk": value.sum() / domains}, state, {})
