"""ERM + lip: the mean risk of the domains, with a smooth model."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method
from rpo.engine.nets import Net, Params
from rpo.functional.losses import sample_loss
from rpo.methods.terms import LAM, REDUCTION, mean_by_domain, present, shares


@method(
    "erm-lip",
    tasks=BOTH,
    space={"lam": LAM},
    options={"reduction": REDUCTION},
    per_row=True,
    cite="Wang, Du & Shen 2013",
    reference="Wang, Du & Shen. Smoothing Splines with Varying Smoothing Parameter. Biometrika 100(4), 2013.",
)
def erm_lip(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + λ mean_i ‖∇ₓf(x_i)‖²"""
    output, slope = net.slope(params, batch.x)
    loss = sample_loss(output, batch.y, hp.task)
    if hp.reduction == "sum":  # Eq. 4: a domain counts by its size
        rows = batch.size[batch.domain] * present(batch)
        loss, slope = rows * loss, rows * slope
    share = shares(batch)
    return {"risk": mean_by_domain(loss, batch, share), "lipschitz": hp.lam * mean_by_domain(slope, batch, share)}
