"""ANDMask: follow a gradient only where the domains agree on its sign."""

import torch
from torch import Tensor
from torch.func import jacrev

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, Gradient, State, Values, method, uniform
from rpo.engine.nets import Net, Params
from rpo.methods.terms import present, risks


@method(
    "andmask",
    tasks=BOTH,
    space={"tau": uniform(1.0, 0.5, 1.0, "How far domains must agree on the sign of a gradient; 1 is all of them.")},
    own_gradient=True,
    cite="Parascandolo et al. 2021",
    reference="Parascandolo, Neitz, Orvieto, Gresele & Schölkopf. Learning Explanations That Are Hard to Vary. "
    "ICLR 2021.",
)
def andmask(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Gradient:
    r"""mean_e g_e where |mean_e sign g_e| ≥ τ, over the share of coordinates kept; the others stay"""

    def by_domain(params: Params) -> tuple[Tensor, Tensor]:
        value = risks(net(params, batch.x), batch, hp.task)
        return value, value

    gradients, value = jacrev(by_domain, has_aux=True)(params)
    domains = present(batch)
    kept, update = {}, {}
    for name, g in gradients.items():
        # Domains that are not there have no gradient, hence no sign: they count neither way.
        kept[name] = g.sign().sum(0).abs() >= hp.tau * domains
        share = kept[name].to(g.dtype).mean()
        update[name] = torch.where(kept[name], g.sum(0) / domains, 0) / torch.where(share > 0, share, 1)
    return Gradient(update, {"risk": value.sum() / domains}, state, kept)
