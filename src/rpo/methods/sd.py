"""SD (spectral decoupling): small outputs, so that no feature suppresses the others."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.methods.terms import mean_by_domain, risk


@method(
    "sd",
    tasks=BOTH,
    space={"lam": log_uniform(0.1, 1e-5, 0.1, "Strength of the penalty on the squared outputs.")},
    cite="Pezeshki et al. 2021",
    reference="Pezeshki, Kaba, Bengio, Courville, Precup & Lajoie. Gradient Starvation: A Learning Proclivity in "
    "Neural Networks. NeurIPS 2021.",
)
def sd(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + λ mean f²"""
    output = net(params, batch.x)
    return {
        "risk": risk(output, batch, hp.task),
        "decoupling": hp.lam * mean_by_domain(output.square().mean(1), batch),
    }
