"""CNBB: rows weighted so that features are balanced as in a randomised experiment."""

import torch
from torch import Tensor
from torch.func import grad

from rpo.engine.data import Batch
from rpo.engine.method import CLASSIFICATION, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.functional.losses import sample_loss
from rpo.methods.terms import mean_by_domain

INNER_STEPS = 5  # steps of the weights in each batch
SMALL = 1e-6


def predict(net: Net, params: Params, state: State, x: Tensor) -> Tensor:
    """The head on features that lie between −1 and 1."""
    return net.head(params, net.features(params, x).tanh())


@method(
    "cnbb",
    tasks=CLASSIFICATION,
    space={
        "lam": log_uniform(0.01, 1e-4, 1.0, "Strength of the penalty that pushes features towards ±1."),
        "rate": log_uniform(0.1, 0.01, 1.0, "Largest change of the square root of a weight per step."),
        "control": log_uniform(0.1, 0.01, 10.0, "Strength of the penalty on uneven weights."),
    },
    predict=predict,
    cite="He, Shen & Cui 2021",
    reference="He, Shen & Cui. Towards Non-I.I.D. Image Classification: A Dataset and Baselines. Pattern "
    "Recognition 110, 2021.",
)
def cnbb(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e mean_i w_i l_i − λ mean ‖tanh φ‖²,  w ≥ 0 minimising Σ_j ‖balance of φ_{−j} over the sign of φ_j‖²"""
    features = net.features(params, batch.x).tanh()
    weight = balancing_weights(features.detach(), batch.weight, hp.rate, hp.control)
    loss = sample_loss(net.head(params, features), batch.y, hp.task)
    return {
        "risk": mean_by_domain(weight * loss, batch),
        "quantization": -hp.lam * mean_by_domain(features.square().sum(1), batch),
    }


def balancing_weights(features: Tensor, weight: Tensor, rate: Tensor, control: Tensor) -> Tensor:
    """w = ω², mean one, after some steps of gradient descent on imbalance + control · mean w²."""

    def objective(root: Tensor) -> Tensor:
        w = root.square()
        return imbalance(features, w * weight) + control * (weight * w.square()).sum() / weight.sum()

    root = torch.ones_like(weight)
    for _ in range(INNER_STEPS):
        slope = grad(objective)(root)
        # Scaled to the largest slope: `rate` is then the most any weight moves in a step.
        root = root - rate * slope / (slope.abs().max() + SMALL)
    w = root.square()
    return w * weight.sum() / (w * weight).sum()


def imbalance(features: Tensor, weight: Tensor) -> Tensor:
    r"""Σ_j ‖weighted mean of φ_{−j} over {φ_j > 0} − over {φ_j ≤ 0}‖²; a feature of one sign only has no contrast."""
    above = (features > 0).to(features.dtype) * weight[:, None]
    below = weight[:, None] - above
    contrast = (
        above.T @ features / (above.sum(0) + SMALL)[:, None] - below.T @ features / (below.sum(0) + SMALL)[:, None]
    )
    two_sided = (above.sum(0) > SMALL) & (below.sum(0) > SMALL)
    off_diagonal = 1 - torch.eye(len(contrast), dtype=contrast.dtype, device=contrast.device)
    return (contrast * off_diagonal * two_sided[:, None]).square().sum()
