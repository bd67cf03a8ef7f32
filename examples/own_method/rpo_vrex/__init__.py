"""My V-REx: domains whose risks are equal, so that none is paid for by another."""

from rpo.engine import Batch, Net, Params
from rpo.methods import BOTH, State, Terms, Values, log_uniform, method
from rpo.methods.terms import mean_over_present, risks, spread


@method(
    "my-vrex",
    tasks=BOTH,
    space={"beta": log_uniform(10.0, 0.1, 1e5, "Strength of the penalty on the variance of the domains' risks.")},
    cite="Krueger et al. 2021",
)
def my_vrex(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    """mean_e R_e + β Var_e(R_e)"""
    value = risks(net(params, batch.x), batch, hp.task)
    return {"risk": mean_over_present(value, batch), "variance": hp.beta * spread(value, batch)}
