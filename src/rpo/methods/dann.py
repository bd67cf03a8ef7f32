"""DANN: features from which a discriminator cannot tell the domain."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, Gradient, State, Values, method
from rpo.engine.nets import Net, Params
from rpo.methods.adversary import OPTIONS, SPACE, discriminator, even_share, take_turns


def parts(net: Net, n_domains: int, n_classes: int, options: Mapping[str, Any]) -> dict[str, nn.Module]:
    """The discriminator."""
    return {"critic": discriminator(net.n_features, n_domains, options["depth"])}


@method(
    "dann",
    tasks=BOTH,
    space=SPACE,
    options=OPTIONS,
    parts=parts,
    own_gradient=True,
    version=2,
    cite="Ganin et al. 2016",
    reference="Ganin, Ustinova, Ajakan, Germain, Larochelle, Laviolette, Marchand & Lempitsky. Domain-Adversarial"
    " Training of Neural Networks. Journal of Machine Learning Research 17(59), 2016.",
)
def dann(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Gradient:
    r"""min_f max_d  mean_e R_e − λ L_d(φ),  L_d the cross-entropy of the domain"""
    return take_turns(net, params, state, batch, hp, lambda features, _: features, even_share(batch))
