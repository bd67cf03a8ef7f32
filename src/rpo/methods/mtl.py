"""MTL: the head also gets the mean of the domain's features (for predictions, of the rows predicted together)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method, one_of
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_mean
from rpo.methods.terms import risk

if TYPE_CHECKING:
    from rpo.engine.training import Preparation


def parts(net: Net, n_domains: int, n_classes: int, options: Mapping[str, Any]) -> dict[str, nn.Module]:
    """The part of the head that looks at the embedding: a linear head on [φ, v] is one on φ plus one on v."""
    return {"context": nn.Linear(net.n_features, n_classes if n_classes > 2 else 1, bias=False)}


def prepare(run: "Preparation") -> State:
    """No embedding yet."""
    width = torch.zeros(run.models, run.data.n_domains, run.net.n_features)
    return {"embedding": width.to(run.data.weight), "ema": run.number("ema")}


def predict(net: Net, params: Params, state: State, x: Tensor) -> Tensor:
    """At test the embedding is the mean of the rows at hand."""
    features = net.features(params, x)
    mean = (state["ema"] > 0) * features.mean(0, keepdim=True)
    return net.head(params, features) + net.part("context", params, mean)


@method(
    "mtl",
    tasks=BOTH,
    space={
        "ema": one_of(
            0.99,
            0.5,
            0.9,
            0.99,
            1.0,
            words="Weight of the current step's mean in the embedding of a domain; the past has the rest.",
        )
    },
    parts=parts,
    prepare=prepare,
    predict=predict,
    at_once=True,
    cite="Blanchard et al. 2021",
    reference="Blanchard, Deshmukh, Dogan, Lee & Scott. Domain Generalization by Marginal Transfer Learning. "
    "Journal of Machine Learning Research 22(2), 2021.",
)
def mtl(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> tuple[Terms, State]:
    r"""mean_e R_e of head([φ, v_e]),  v_e ← a · mean_{i ∈ e} φ_i + (1 − a) v_e"""
    features = net.features(params, batch.x)
    mean = domain_mean(features, batch.domain, batch.weight, len(batch.size))
    embedding = hp.ema * mean + (1 - hp.ema) * state["embedding"]
    output = net.head(params, features) + net.part("context", params, embedding)[batch.domain]
    return {"risk": risk(output, batch, hp.task)}, {"embedding": embedding.detach(), "ema": state["ema"]}
