"""RPO-Lip: the same invariance asked of every domain, RPO's smoothness penalties by stratum (ablation)."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method
from rpo.engine.nets import Net, Params
from rpo.methods.rpo import LATER, OPTIONS, REFERENCE, SCHEMES, SPACE, algorithm_1, first_stage
from rpo.methods.terms import lipirm


@method(
    "rpo-lip",
    tasks=BOTH,
    space=SPACE,
    options=OPTIONS,
    prepare=algorithm_1,
    first_stage=first_stage,
    later=LATER,
    schemes=SCHEMES,
    version=3,
    cite="Yu et al. 2022",
    reference=REFERENCE,
)
def rpo_lip(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""Σ_e Σ_i l_i + Σ_e (d/dw Σ_i l_i)² + λ Σ_e Σ_i ρ*(x_i) ‖∇ₓf(x_i)‖²"""
    rho = state["rho"][batch.domain, batch.stratum]
    return lipirm(net, params, batch, hp, eta=hp.strength, rho=rho, lam=state["lam"], centre=state["centre"])
