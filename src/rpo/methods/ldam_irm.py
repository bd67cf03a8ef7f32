"""LDAM-DRW + IRM: larger margins and, at the end, weights for rare classes, and invariance."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rpo.engine.data import Batch
from rpo.engine.method import CLASSIFICATION, State, Terms, Values, method, uniform
from rpo.engine.nets import Net, Params
from rpo.methods.terms import IRM_OPTIONS, IRM_SPACE, irm, mean_by_domain

if TYPE_CHECKING:
    from rpo.engine.training import Preparation

DEFERRED = 0.8  # the share of the training before rare classes get their weights


def parts(net: Net, n_domains: int, n_classes: int, options: Mapping[str, Any]) -> dict[str, nn.Module]:
    """A head that looks at angles only: without it the margin makes the logits run away."""
    return {"cosine": nn.Linear(net.n_features, n_classes, bias=False)}


def prepare(run: "Preparation") -> State:
    """n_k: how often each class occurs; a class that does not counts as once."""
    y = run.data.y.long().expand(run.models, -1)
    weight = run.data.weight.expand(run.models, -1)
    count = weight.new_zeros(run.models, run.data.n_classes).scatter_add(1, y, weight)
    return {"count": count.clamp_min(1.0), "scale": run.number("scale")}


def cosines(net: Net, params: Params, state: State, x: Tensor) -> Tensor:
    """s cos θ_c, a logit for each class."""
    features = F.normalize(net.features(params, x), dim=1)
    return state["scale"] * features @ F.normalize(params["cosine/weight"], dim=1).T


def predict(net: Net, params: Params, state: State, x: Tensor) -> Tensor:
    """The logits; one, their difference, for two classes."""
    logits = cosines(net, params, state, x)
    return logits[:, 1:] - logits[:, :1] if logits.shape[1] == 2 else logits


@method(
    "ldam-irm",
    tasks=CLASSIFICATION,
    space={
        "margin": uniform(0.5, 0.0, 1.0, "Margin of the rarest class; others have smaller ones."),
        "beta": uniform(0.9999, 0.9, 0.9999, "How much more weight rare classes get at the end; 0 for none."),
        "scale": uniform(30.0, 10.0, 50.0, "Scale s of the cosines that are the logits."),
        **IRM_SPACE,
    },
    options=IRM_OPTIONS,
    parts=parts,
    prepare=prepare,
    predict=predict,
    version=2,
    cite="Cao et al. 2019",
    reference="Cao, Wei, Gaidon, Arechiga & Ma. Learning Imbalanced Datasets with Label-Distribution-Aware Margin"
    " Loss. NeurIPS 2019.",
)
def ldam_irm(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e mean_i v_y l(s(cos θ − Δ_y)) + η mean_e (d/dw)²,  Δ_k ∝ n_k^(−1/4),  v_k ∝ (1 − β)/(1 − β^n_k) late"""
    y = batch.y.long()
    logits = cosines(net, params, state, batch.x)
    rarity = state["count"] ** -0.25
    margin = hp.margin * rarity / rarity.max()
    truth = F.one_hot(y, hp.n_classes).to(logits.dtype)
    shifted = logits - hp.scale * margin * truth
    value = (1 - hp.beta) / (1 - hp.beta ** state["count"])
    late = batch.step >= DEFERRED * batch.steps
    weight = torch.where(late, value * hp.n_classes / value.sum(), 1)[y]
    penalty, divisor = irm(weight * (logits * (shifted.softmax(1) - truth)).sum(1), batch, hp)
    loss = weight * F.cross_entropy(shifted, y, reduction="none")
    return {"risk": mean_by_domain(loss, batch) / divisor, "irm": penalty / divisor}
