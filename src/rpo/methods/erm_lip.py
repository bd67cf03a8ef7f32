"""ERM + lip: the mean risk of the domains, and a smooth model everywhere."""

import torch

from rpo.engine.data import Batch
from rpo.engine.nets import Net, Params
from rpo.methods.registry import BOTH, State, Terms, Values, method
from rpo.methods.terms import LAM, REDUCTION, lipirm


@method("erm-lip", tasks=BOTH, space={"lam": LAM}, options={"reduction": REDUCTION}, cite="Wang, Du & Shen 2013")
def erm_lip(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + λ mean_i ‖∇ₓf(x_i)‖²"""
    no_irm = Values(
        {"task": hp.task, "reduction": hp.reduction, "anneal": 0.0, "rescale": "none", "estimator": "square"}
    )
    return lipirm(net, params, batch, no_irm, eta=torch.zeros_like(hp.lam), rho=1.0, lam=hp.lam)
