"""CDANN: features from which a discriminator cannot tell the domain, within each class."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from rpo.engine.data import Batch
from rpo.engine.method import CLASSIFICATION, Gradient, State, Values, method
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_sum
from rpo.methods.adversary import OPTIONS, SPACE, discriminator, take_turns


def parts(net: Net, n_domains: int, n_classes: int, options: Mapping[str, Any]) -> dict[str, nn.Module]:
    """The discriminator, and what it is told of the class."""
    critic = discriminator(net.n_features, n_domains, options["depth"])
    return {"critic": critic, "told": nn.Embedding(n_classes, net.n_features)}


@method(
    "cdann",
    tasks=CLASSIFICATION,
    space=SPACE,
    options=OPTIONS,
    parts=parts,
    own_gradient=True,
    version=2,
    cite="Li et al. 2018",
    reference="Li, Tian, Gong, Liu, Liu, Zhang & Tao. Deep Domain Generalization via Conditional Invariant "
    "Adversarial Networks. ECCV 2018.",
)
def cdann(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Gradient:
    r"""min_f max_d  mean_e R_e − λ Σ_i l_d(φ_i + embedding(y_i))/(K · count(y_i))"""
    y = batch.y.long()
    count = domain_sum(batch.weight, y, hp.n_classes)[y]
    share = batch.weight / (hp.n_classes * torch.where(count == 0, 1, count))
    return take_turns(net, params, state, batch, hp, lambda features, p: features + p["told/weight"][y], share)
