"""IB-IRM: one model that is optimal in every domain at once, on features that vary no more than necessary."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method
from rpo.engine.nets import Net, Params
from rpo.functional.losses import sample_dummy_gradient
from rpo.methods.terms import BOTTLENECK, IRM_OPTIONS, IRM_SPACE, bottleneck, irm, risk


@method(
    "ib-irm",
    tasks=BOTH,
    space={**IRM_SPACE, "gamma": BOTTLENECK},
    options=IRM_OPTIONS,
    cite="Ahuja et al. 2021",
    reference="Ahuja, Caballero, Zhang, Gagnon-Audet, Bengio, Mitliagkas & Rish. Invariance Principle Meets "
    "Information Bottleneck for Out-of-Distribution Generalization. NeurIPS 2021.",
)
def ib_irm(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + η mean_e (d/dw R_e(w f))² + γ mean_e mean_j Var_e(φ_j)"""
    features = net.features(params, batch.x)
    output = net.head(params, features)
    penalty, divisor = irm(sample_dummy_gradient(output, batch.y, hp.task), batch, hp)
    return {
        "risk": risk(output, batch, hp.task) / divisor,
        "irm": penalty / divisor,
        "bottleneck": hp.gamma * bottleneck(features, batch) / divisor,
    }
