"""What DANN and CDANN share: a discriminator that guesses the domain, and turns taken with it."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import functional_call, grad
from torch.nn import functional as F

from rpo.engine.data import Batch
from rpo.engine.method import Choice, Gradient, State, Values, log_uniform, one_of
from rpo.engine.nets import Net, Params, mlp
from rpo.functional.domains import domain_share
from rpo.methods.terms import present, risk

# Depth, width and Adam's decay rates are those of the field's reference code (DomainBed), which counts as depth the
# layers with weights, the last among them, and decays squared gradients by .9: an opponent that keeps moving.
SPACE = {
    "lam": log_uniform(1.0, 0.01, 100.0, "Strength of the adversary that makes domains indistinguishable."),
    "turns": one_of(1, 1, 2, 4, 8, words="Steps of the discriminator per step of the network."),
    "penalty": log_uniform(1.0, 0.01, 10.0, "Strength of the penalty on the discriminator's gradient, if used."),
    "beta1": one_of(0.5, 0.0, 0.5, words="Decay rate of Adam's mean of gradients."),
    "beta2": one_of(0.9, 0.9, 0.99, 0.999, words="Decay rate of Adam's mean of squared gradients."),
}
# The gradient penalty costs a second backward pass through the discriminator: computed only if asked for.
OPTIONS = {
    "gradient_penalty": Choice(False, True, words="Whether the discriminator's gradient is penalised."),
    "depth": Choice(3, 1, 2, 4, 5, words="Number of layers of the discriminator, including the last."),
}
WIDTH = 256


def discriminator(n_inputs: int, n_domains: int, depth: int) -> torch.nn.Module:
    """The network that guesses the domain from features: `depth` layers, all but the last of `WIDTH` units."""
    return mlp(n_inputs, n_domains, (WIDTH,) * (depth - 1))


def take_turns(
    net: Net,
    params: Params,
    state: State,
    batch: Batch,
    hp: Values,
    inputs: Callable[[Tensor, Params], Tensor],
    share: Tensor,
) -> Gradient:
    r"""`turns` steps of the discriminator (min L_d + penalty · E‖∇L_d‖²), then one of the network (min R − λ L_d).

    `inputs(features, params)` is what the discriminator sees, `share` what each row counts in L_d. Both losses are
    computed, one is chosen, so that the models of a stack may take their turns at different steps.
    """
    critic_turn = torch.remainder(batch.step, hp.turns + 1) < hp.turns

    def loss(params: Params) -> tuple[Tensor, dict[str, Tensor]]:
        features = net.features(params, batch.x)
        seen = inputs(features, params)
        critic = net.parts["critic"]
        own = {name.removeprefix("critic/"): p for name, p in params.items() if name.startswith("critic/")}

        def guess(rows: Tensor) -> Tensor:
            return F.cross_entropy(functional_call(critic, own, (rows,)), batch.domain, reduction="none")

        adversary = (share * guess(seen)).sum()
        task_risk = risk(net.head(params, features), batch, hp.task)
        against = adversary
        if hp.gradient_penalty:
            slope = grad(lambda rows: guess(rows).sum())(seen)
            against = against + hp.penalty * (share * slope.square().sum(1)).sum()
        total = torch.where(critic_turn, against, task_risk - hp.lam * adversary)
        return total, {"risk": task_risk, "adversary": adversary}

    gradients, terms = grad(loss, has_aux=True)(params)
    moves = {name: (critic_turn if "/" in name else ~critic_turn).expand_as(p).clone() for name, p in params.items()}
    return Gradient(gradients, terms, state, moves)


def even_share(batch: Batch) -> Tensor:
    """Every domain counts the same, every row of it the same."""
    return domain_share(batch.weight, batch.domain, len(batch.size)) / present(batch)
