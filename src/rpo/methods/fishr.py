"""Fishr: the same variance of the gradients in all domains."""

from typing import TYPE_CHECKING

import torch

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method, uniform
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_mean
from rpo.functional.losses import sample_output_gradient
from rpo.methods.terms import ANNEAL, RESCALE, annealed, risk, spread

if TYPE_CHECKING:
    from rpo.engine.training import Preparation


def prepare(run: "Preparation") -> State:
    """No variances yet."""
    weights = run.data.n_outputs * run.net.head_inputs(torch.zeros(1, run.net.n_features)).shape[1]
    return {"variance": torch.zeros(run.models, run.data.n_domains, weights).to(run.data.weight)}


@method(
    "fishr",
    tasks=BOTH,
    space={
        "lam": log_uniform(1000.0, 10.0, 1e4, "Strength of the penalty after annealing."),
        "ema": uniform(0.95, 0.9, 0.99, "Decay rate of the moving average of the variances."),
        "anneal": ANNEAL,
    },
    options={"rescale": RESCALE},
    prepare=prepare,
    cite="Rame et al. 2022",
    reference="Rame, Dancette & Cord. Fishr: Invariant Gradient Variances for Out-of-Distribution Generalization. "
    "ICML 2022.",
)
def fishr(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> tuple[Terms, State]:
    r"""mean_e R_e + λ mean_e mean (v_e − mean v)²,  v_e ← Var_{i ∈ e}(∇_head l_i) + a v_e

    The mean over the head's weights, as the field's reference code (DomainBed) has it: λ means the same whatever the
    width. So does the sum that forgets, which is its moving average over 1 − a: this step's variance counts once.
    """
    features = net.features(params, batch.x)
    output = net.head(params, features)
    # The gradient of a row with respect to the head's weights is (∂l/∂f) (φ, 1)ᵀ: no backward pass.
    slope = sample_output_gradient(output, batch.y, hp.task)
    gradient = (slope[:, :, None] * net.head_inputs(features)[:, None, :]).flatten(1)
    n_domains = len(batch.size)
    centred = gradient - domain_mean(gradient, batch.domain, batch.weight, n_domains)[batch.domain]
    now = domain_mean(centred.square(), batch.domain, batch.weight, n_domains)
    variance = now + hp.ema * state["variance"]
    lam, divisor = annealed(hp.lam, batch, hp, before=0.0)
    return {
        "risk": risk(output, batch, hp.task) / divisor,
        "fishr": lam * spread(variance, batch) / divisor,
    }, {"variance": variance.detach()}
