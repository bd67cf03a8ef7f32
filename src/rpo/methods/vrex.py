"""V-REx: equal risks in all domains."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.methods.terms import ANNEAL, RESCALE, annealed, mean_over_present, risks, spread


@method(
    "vrex",
    tasks=BOTH,
    space={
        "beta": log_uniform(10.0, 0.1, 1e5, "Strength of the penalty on the variance of the domains' risks."),
        "anneal": ANNEAL,
    },
    options={"rescale": RESCALE},
    cite="Krueger et al. 2021",
    reference="Krueger, Caballero, Jacobsen, Zhang, Binas, Zhang, Le Priol & Courville. Out-of-Distribution "
    "Generalization via Risk Extrapolation (REx). ICML 2021.",
)
def vrex(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + β mean_e (R_e − mean R)²"""
    value = risks(net(params, batch.x), batch, hp.task)
    beta, divisor = annealed(hp.beta, batch, hp)
    return {
        "risk": mean_over_present(value, batch) / divisor,
        "variance": beta * spread(value, batch) / divisor,
    }
