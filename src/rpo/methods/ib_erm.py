"""IB-ERM: features that vary no more than necessary."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method
from rpo.engine.nets import Net, Params
from rpo.methods.terms import BOTTLENECK, bottleneck, risk


@method(
    "ib-erm",
    tasks=BOTH,
    space={"gamma": BOTTLENECK},
    cite="Ahuja et al. 2021",
    reference="Ahuja, Caballero, Zhang, Gagnon-Audet, Bengio, Mitliagkas & Rish. Invariance Principle Meets "
    "Information Bottleneck for Out-of-Distribution Generalization. NeurIPS 2021.",
)
def ib_erm(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + γ mean_e mean_j Var_e(φ_j)"""
    features = net.features(params, batch.x)
    return {
        "risk": risk(net.head(params, features), batch, hp.task),
        "bottleneck": hp.gamma * bottleneck(features, batch),
    }
