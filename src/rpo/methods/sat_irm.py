"""SAT + IRM: labels move towards the predictions, doubtful rows get less weight, and invariance."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from rpo.engine.data import Batch
from rpo.engine.method import CLASSIFICATION, State, Terms, Values, method, uniform
from rpo.engine.nets import Net, Params
from rpo.methods.terms import IRM_OPTIONS, IRM_SPACE, irm, mean_by_domain

if TYPE_CHECKING:
    from rpo.engine.training import Preparation


def prepare(run: "Preparation") -> State:
    """t_i: the label itself, of every row of the data set."""
    y = run.data.y.long().expand(run.models, -1)
    return {"target": F.one_hot(y, run.data.n_classes).to(run.data.weight)}


@method(
    "sat-irm",
    tasks=CLASSIFICATION,
    space={
        "rate": uniform(0.1, 0.0, 0.5, "How far a label moves towards the prediction each time its row is used."),
        "warm": uniform(0.2, 0.0, 0.5, "Share of the training before labels change."),
        **IRM_SPACE,
    },
    options=IRM_OPTIONS,
    prepare=prepare,
    version=2,
    cite="Huang et al. 2020",
    reference="Huang, Zhang & Zhang. Self-Adaptive Training: Beyond Empirical Risk Minimization. NeurIPS 2020.",
)
def sat_irm(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> tuple[Terms, State]:
    r"""mean_e mean_i v_i H(t_i, p_i) + η mean_e (d/dw)²,  t ← (1 − a) t + a p after warm-up,  v_i ∝ max t_i"""
    output = net(params, batch.x)
    logits = output if output.shape[1] > 1 else torch.cat([torch.zeros_like(output), output], 1)
    log_p = logits.log_softmax(1)
    rate = torch.where(batch.step >= hp.warm * batch.steps, hp.rate, 0)
    target = (1 - rate) * state["target"][batch.row] + rate * log_p.detach().exp()
    sure = target.max(1).values
    weight = sure * batch.weight.sum() / (batch.weight * sure).sum()
    penalty, divisor = irm(weight * (logits * (log_p.exp() - target)).sum(1), batch, hp)
    loss = mean_by_domain(weight * -(target * log_p).sum(1), batch)
    return {"risk": loss / divisor, "irm": penalty / divisor}, {"target": remember(state["target"], batch.row, target)}


def remember(table: Tensor, row: Tensor, new: Tensor) -> Tensor:
    """The table with the rows of the batch written in; a row drawn twice has the same value twice."""
    return table.scatter(0, row[:, None].expand_as(new), new)
