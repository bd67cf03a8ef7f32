"""IRM + l2: one model that is optimal in every domain at once, with small weights."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method
from rpo.engine.nets import Net, Params
from rpo.functional.losses import sample_dummy_gradient
from rpo.methods.terms import IRM_OPTIONS, IRM_SPACE, L2, irm, risk, squared_norm


@method(
    "irm-l2",
    tasks=BOTH,
    space={**IRM_SPACE, "c": L2},
    options=IRM_OPTIONS,
    version=2,
    cite="Arjovsky et al. 2019",
    reference="Arjovsky, Bottou, Gulrajani & Lopez-Paz. Invariant Risk Minimization. arXiv:1907.02893, 2019.",
)
def irm_l2(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + η mean_e (d/dw R_e(w f))² + c‖θ‖²"""
    output = net(params, batch.x)
    penalty, divisor = irm(sample_dummy_gradient(output, batch.y, hp.task), batch, hp)
    return {
        "risk": risk(output, batch, hp.task) / divisor,
        "irm": penalty / divisor,
        "l2": hp.c * squared_norm(params) / divisor,
    }
