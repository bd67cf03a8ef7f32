"""RSC: the features a row relies on most are masked, so that the model learns to use others."""

import torch
from torch import Tensor
from torch.func import grad

from rpo.engine.data import Batch
from rpo.engine.method import CLASSIFICATION, State, Terms, Values, method, uniform
from rpo.engine.nets import Net, Params
from rpo.functional.losses import Task, probability
from rpo.methods.terms import risk


@method(
    "rsc",
    tasks=CLASSIFICATION,
    space={"p": uniform(1 / 3, 0.0, 0.5, "Share of features masked in a row, and of rows with masked features.")},
    cite="Huang et al. 2020",
    reference="Huang, Wang, Xing & Huang. Self-Challenging Improves Cross-Domain Generalization. ECCV 2020.",
)
def rsc(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e of head(m ∘ φ), m muting the top p features of the top p samples by loss of true-class probability"""
    features = net.features(params, batch.x)
    seen = features.detach()
    slope = grad(lambda phi: true_class_score(net.head(params, phi), batch.y, hp.task).sum())(seen)
    kept = below_top(slope, torch.floor(hp.p * seen.shape[1]))
    muted = torch.where(kept, seen, 0)
    drop = true_class_probability(net, params, seen, batch, hp) - true_class_probability(net, params, muted, batch, hp)
    counts = batch.weight > 0
    spared = below_top(torch.where(counts, drop, -torch.inf)[None], torch.floor(hp.p * counts.sum()))[0]
    output = net.head(params, torch.where(kept | spared[:, None], features, 0))
    return {"risk": risk(output, batch, hp.task)}


def below_top(values: Tensor, count: Tensor) -> Tensor:
    """Which values of each row are smaller than its `count` largest; all of them for a count of zero."""
    ordered = torch.cat([values.sort(1).values, torch.full_like(values[:, :1], torch.inf)], 1)
    threshold = ordered.gather(1, (values.shape[1] - count).long().expand(len(values), 1))
    return values < threshold


def true_class_score(output: Tensor, y: Tensor, task: Task) -> Tensor:
    """The logit of the class a row has: ±f for two classes."""
    if task == "binary":
        return output[:, 0] * (2 * y - 1)
    return output.gather(1, y[:, None])[:, 0]


def true_class_probability(net: Net, params: Params, features: Tensor, batch: Batch, hp: Values) -> Tensor:
    """P(y_i | features), a number and no path for gradients."""
    p = probability(net.head(params, features), hp.task)
    return p.gather(1, batch.y.long()[:, None])[:, 0].detach()
