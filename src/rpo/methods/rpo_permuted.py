"""RPO-permuted: RPO's penalties dealt out at random over strata and domains (control: does their place matter?)."""

from typing import TYPE_CHECKING

import numpy as np
import torch

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method
from rpo.engine.nets import Net, Params
from rpo.methods.rpo import LATER, OPTIONS, SCHEMES, SPACE, algorithm_1, first_stage, rpo

if TYPE_CHECKING:
    from rpo.engine.training import Preparation


def permuted(run: "Preparation") -> State:
    """η over the domains that have rows, ρ over the cells that have rows, each in an order drawn from the seed."""
    state = algorithm_1(run)
    for model, seed in enumerate(run.seeds):
        rng = np.random.default_rng([seed, 3])
        for name in ("eta", "rho"):
            values = state[name][model].flatten()
            there = torch.nonzero(values > 0)[:, 0]
            values[there] = values[there[torch.as_tensor(rng.permutation(len(there)), device=there.device)]]
            state[name][model] = values.reshape(state[name][model].shape)
    return state


@method(
    "rpo-permuted",
    tasks=BOTH,
    space=SPACE,
    options=OPTIONS,
    prepare=permuted,
    first_stage=first_stage,
    later=LATER,
    schemes=SCHEMES,
    version=3,
    cite="control",
    reference="A control of this library.",
)
def rpo_permuted(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""RPO's loss with π(η*) and π(ρ*) in place of η* and ρ*, π a random permutation"""
    terms: Terms = rpo(net, params, state, batch, hp)
    return terms
