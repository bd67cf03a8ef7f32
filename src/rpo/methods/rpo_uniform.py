"""RPO-uniform: the means of RPO's penalties everywhere (control: is it their strength alone?)."""

from typing import TYPE_CHECKING

import torch

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method
from rpo.engine.nets import Net, Params
from rpo.functional.statistics import cell_weight
from rpo.methods.rpo import LATER, OPTIONS, SCHEMES, SPACE, algorithm_1, first_stage, rpo

if TYPE_CHECKING:
    from rpo.engine.training import Preparation


def uniform(run: "Preparation") -> State:
    """η: its mean over the domains that have rows; ρ: its mean over the rows."""
    state = algorithm_1(run)
    for model in range(run.models):
        domain, stratum, weight = run.rows(model)
        shape = {"n_domains": run.data.n_domains, "n_strata": run.data.n_strata}
        count = run.tensor([cell_weight(domain, stratum, weight=weight, **shape)])[0]
        eta, rho = state["eta"][model], state["rho"][model]
        here = count.sum(1) > 0
        state["eta"][model] = torch.where(here, eta[here].mean(), 0)
        state["rho"][model] = torch.where(count > 0, (count * rho).sum() / count.sum(), 0)
    return state


@method(
    "rpo-uniform",
    tasks=BOTH,
    space=SPACE,
    options=OPTIONS,
    prepare=uniform,
    first_stage=first_stage,
    later=LATER,
    schemes=SCHEMES,
    version=3,
    cite="control",
    reference="A control of this library.",
)
def rpo_uniform(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""RPO's loss with mean η* and mean ρ* in place of η* and ρ*"""
    terms: Terms = rpo(net, params, state, batch, hp)
    return terms
