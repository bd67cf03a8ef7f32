"""Anchor regression: residuals whose means differ little between domains."""

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_mean
from rpo.functional.losses import sample_output_gradient
from rpo.methods.terms import mean_over_present, risk


@method(
    "anchor",
    tasks=BOTH,
    space={
        "gamma": log_uniform(
            2.0,
            1.0,
            100.0,
            "What the domains' mean residuals count: one is ERM, many leave differences within domains.",
        )
    },
    cite="Rothenhäusler et al. 2021",
    reference="Rothenhäusler, Meinshausen, Bühlmann & Peters. Anchor Regression: Heterogeneous Data Meet Causality. "
    "Journal of the Royal Statistical Society B 83(2), 2021; for classes Kook, Sick & Bühlmann. Distributional Anchor "
    "Regression. Statistics and Computing 32, 2022.",
)
def anchor(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""‖(I − Π)u‖² + γ‖Πu‖² = mean_e R_e + (γ − 1) mean_e (mean_{i ∈ e} u_i)²,  u = y − f; for classes 1[y = c] − p_c

    Π projects on the domains' indicators: it puts the mean of its domain in the place of every residual.
    """
    output = net(params, batch.x)
    slope = sample_output_gradient(output, batch.y, hp.task)
    residual = -slope / 2 if hp.task == "regression" else -slope
    mean = domain_mean(residual, batch.domain, batch.weight, len(batch.size))
    return {
        "risk": risk(output, batch, hp.task),
        "anchor": (hp.gamma - 1) * mean_over_present(mean.square().sum(1), batch),
    }
