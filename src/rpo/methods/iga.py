"""IGA: the same gradient of the risk in all domains."""

import torch
from torch import Tensor
from torch.func import jacrev

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.methods.terms import present, risks


@method(
    "iga",
    tasks=BOTH,
    space={"lam": log_uniform(1000.0, 10.0, 1e5, "Strength of the penalty on differences between gradients.")},
    second_order=True,
    cite="Koyama & Yamaguchi 2020",
    reference="Koyama & Yamaguchi. When Is Invariance Useful in an Out-of-Distribution Generalization Problem? "
    "arXiv:2008.01883, 2020.",
)
def iga(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + λ Σ_e ‖∇R_e − mean ∇R‖²"""

    def by_domain(params: Params) -> tuple[Tensor, Tensor]:
        value = risks(net(params, batch.x), batch, hp.task)
        return value, value

    gradients, value = jacrev(by_domain, has_aux=True)(params)
    here, domains = batch.size > 0, present(batch)
    spread = []
    for g in gradients.values():
        centred = g.flatten(1) - g.flatten(1).sum(0) / domains
        spread.append(torch.where(here[:, None], centred, 0).square().sum())
    return {"risk": value.sum() / domains, "iga": hp.lam * torch.stack(spread).sum()}
