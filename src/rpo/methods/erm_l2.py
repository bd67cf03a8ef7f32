"""ERM + l2: the mean risk of the domains, with small weights."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method
from rpo.engine.nets import Net, Params
from rpo.methods.terms import L2, risk, squared_norm


@method(
    "erm-l2",
    tasks=BOTH,
    space={"c": L2},
    cite="Vapnik 1998",
    reference="Vapnik. Statistical Learning Theory. Wiley, 1998.",
)
def erm_l2(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + c‖θ‖²"""
    return {"risk": risk(net(params, batch.x), batch, hp.task), "l2": hp.c * squared_norm(params)}
