"""IRM + lip: one smooth model that is optimal in every domain at once."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method
from rpo.engine.nets import Net, Params
from rpo.methods.terms import ANNEAL, ETA, LAM, LIPIRM_OPTIONS, lipirm


@method(
    "irm-lip",
    tasks=BOTH,
    space={"eta": ETA, "anneal": ANNEAL, "lam": LAM},
    options=LIPIRM_OPTIONS,
    version=2,
    per_row=True,
    cite="Arjovsky et al. 2019",
    reference="Arjovsky, Bottou, Gulrajani & Lopez-Paz. Invariant Risk Minimization. arXiv:1907.02893, 2019.",
)
def irm_lip(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + η mean_e (d/dw R_e(w f))² + λ mean_i ‖∇ₓf(x_i)‖²"""
    return lipirm(net, params, batch, hp, eta=hp.eta, rho=1.0, lam=hp.lam)
