"""SagNet: the style of the features is made uninformative, their content is kept."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method, uniform
from rpo.engine.nets import Net, Params
from rpo.methods.terms import mean_by_domain, risk, shuffled

SMALL = 1e-5


def draw(rng: np.random.Generator, rows: int, n_domains: int, numbers: Mapping[str, float]) -> dict[str, NDArray[Any]]:
    """How much of its own style each row keeps, and the order in which rows are shuffled."""
    own, order = rng.random((rows, 2)).T
    return {"own": own.copy(), "order": order.copy()}


def parts(net: Net, n_domains: int, n_classes: int, options: Mapping[str, Any]) -> dict[str, nn.Module]:
    """The head that judges by style (classes only)."""
    return {"style": nn.Linear(net.n_features, n_classes if n_classes > 2 else 1)} if n_classes else {}


@method(
    "sagnet",
    tasks=BOTH,
    space={
        "w": log_uniform(0.1, 0.01, 10.0, "Strength of the adversary that makes style uninformative."),
        "mix": uniform(1.0, 0.0, 1.0, "How much styles are mixed; 0 for not at all."),
    },
    draw=draw,
    parts=parts,
    version=2,
    cite="Nam et al. 2021",
    reference="Nam, Lee, Park, Yoon & Yoo. Reducing Domain Gap by Reducing Style Bias. CVPR 2021.",
)
def sagnet(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""R(head(own content, mixed style)) + R(style head(other content, own style)) − w mean log-softmax(style head)"""
    features = net.features(params, batch.x)
    other = shuffled(batch.draw["order"], batch.weight)
    # The style of a flat feature vector is its mean and variance over the units.
    mean, variance = style(features)
    scale = (variance + SMALL).sqrt()
    content = (features - mean) / scale
    own = (1 - hp.mix * (1 - batch.draw["own"]))[:, None]
    mixed_mean = own * mean + (1 - own) * mean[other]
    mixed_scale = (own * variance + (1 - own) * variance[other] + SMALL).sqrt()
    mixed = content * mixed_scale + mixed_mean
    terms = {"risk": risk(net.head(params, mixed), batch, hp.task)}
    if hp.task == "regression":  # a style head needs classes
        return terms
    swapped = content[other].detach() * scale + mean
    still = {name: p.detach() if name.startswith("style/") else p for name, p in params.items()}
    fooled = net.part("style", still, swapped)
    terms["style"] = risk(net.part("style", params, swapped.detach()), batch, hp.task)
    terms["adversary"] = -hp.w * mean_by_domain(log_probability(fooled).mean(1), batch)
    return terms


def style(features: Tensor) -> tuple[Tensor, Tensor]:
    r"""Mean and variance over the units of each row, Σ_j (φ_j − φ̄)²/(F − 1), both `(n, 1)`; one unit has none."""
    mean = features.mean(1, keepdim=True)
    return mean, (features - mean).square().sum(1, keepdim=True) / max(features.shape[1] - 1, 1)


def log_probability(output: Tensor) -> Tensor:
    """log P of every class; two classes share one logit."""
    if output.shape[1] > 1:
        return output.log_softmax(1)
    return torch.cat([nn.functional.logsigmoid(-output), nn.functional.logsigmoid(output)], 1)
