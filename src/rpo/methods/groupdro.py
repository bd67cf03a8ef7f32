"""GroupDRO: the domain with the largest risk gets the most weight."""

from typing import TYPE_CHECKING

import torch

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.methods.terms import risks

if TYPE_CHECKING:
    from rpo.engine.training import Preparation


def prepare(run: "Preparation") -> State:
    """log q: equal for the domains that are there."""
    size = run.data.size(run.models)
    return {"log_q": torch.where(size > 0, 0.0, -torch.inf).log_softmax(1)}


@method(
    "groupdro",
    tasks=BOTH,
    space={"step": log_uniform(0.01, 1e-3, 0.1, "How fast the weight of a domain follows its risk.")},
    prepare=prepare,
    cite="Sagawa et al. 2020",
    reference="Sagawa, Koh, Hashimoto & Liang. Distributionally Robust Neural Networks for Group Shifts: On the "
    "Importance of Regularization for Worst-Case Generalization. ICLR 2020.",
)
def groupdro(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> tuple[Terms, State]:
    r"""Σ_e q_e R_e,  q_e ← q_e exp(η R_e) / Σ"""
    value = risks(net(params, batch.x), batch, hp.task)
    # In logarithms: exp(η R) overflows where risks are large.
    log_q = (state["log_q"] + hp.step * value.detach()).log_softmax(0)
    return {"risk": (log_q.exp() * value).sum()}, {"log_q": log_q}
