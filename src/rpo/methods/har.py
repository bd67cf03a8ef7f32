"""HAR (+ IRM): stronger regularisation of rare and error-prone strata, and invariance."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.func import grad

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.functional.losses import sample_dummy_gradient, sample_loss
from rpo.functional.statistics import Array, borrow, cell_weight, sigma
from rpo.methods.terms import IRM_OPTIONS, IRM_SPACE, L2, irm, mean_by_domain

if TYPE_CHECKING:
    from rpo.engine.training import Preparation

SMALL = 1e-12  # keeps the derivative of a norm of zero finite


def first_stage(run: "Preparation") -> State:
    """Errors of a first model on the half of the data it did not see, each half in its turn."""
    return {"residual": run.squared_residuals("erm-l2", folds=2, c=L2.default or 0.0)[:, 0]}


def prepare(run: "Preparation") -> State:
    """w_ek for every model."""
    first = first_stage(run) if run.first is None else run.first
    weights = [weight_of(run, model, first["residual"][model]) for model in range(run.models)]
    return {"weight": run.tensor(weights)}


def weight_of(run: "Preparation", model: int, residual: Tensor) -> Array:
    r"""w_ek ∝ err_ek^0.6 / n_ek^0.4, the largest one; zero where there are no rows."""
    domain, stratum, weight = run.rows(model)
    shape = {"n_domains": run.data.n_domains, "n_strata": run.data.n_strata}
    count = cell_weight(domain, stratum, weight=weight, **shape)
    error = borrow(sigma(residual.cpu().numpy(), domain, stratum, weight=weight, **shape), count) ** 2
    value = np.nan_to_num(error) ** 0.6 / np.maximum(count, 1) ** 0.4
    return np.asarray(value / max(value.max(), 1e-300))


@method(
    "har",
    tasks=BOTH,
    space={
        "c": log_uniform(0.1, 0.01, 10.0, "Strength of the penalty on the gradient of the loss at the layers."),
        **IRM_SPACE,
    },
    options=IRM_OPTIONS,
    prepare=prepare,
    first_stage=first_stage,
    later=("c", "eta", "anneal"),
    version=2,
    per_row=True,
    cite="Cao et al. 2021",
    reference="Cao, Chen, Lu, Arechiga, Gaidon & Ma. Heteroskedastic and Imbalanced Deep Learning with Adaptive "
    "Regularization. ICLR 2021.",
)
def har(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + c mean_i w_i Σ_layers ‖∇_h l_i‖ + η mean_e (d/dw)²,  w ∝ err^0.6 / n^0.4"""
    shifts = [torch.zeros_like(h) for h in net.through(params, batch.x)[1]]

    def total(shifts: list[Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        output, _ = net.through(params, batch.x, shifts)
        loss = sample_loss(output, batch.y, hp.task)
        # The sum, not the mean: a row's slope must not depend on how many rows came along.
        return loss.sum(), (output, loss)

    slopes, (output, loss) = grad(total, has_aux=True)(shifts)
    norms = torch.stack([(slope.flatten(1).square().sum(1) + SMALL).sqrt() for slope in slopes]).sum(0)
    penalty, divisor = irm(sample_dummy_gradient(output, batch.y, hp.task), batch, hp)
    weight = state["weight"][batch.domain, batch.stratum]
    return {
        "risk": mean_by_domain(loss, batch) / divisor,
        "smoothness": hp.c * mean_by_domain(weight * norms, batch) / divisor,
        "irm": penalty / divisor,
    }
