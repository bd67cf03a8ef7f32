"""PAIR: risk, IRM's and V-REx's penalties lowered together, weighted anew in every step by preferences."""

from itertools import combinations

import torch
from torch import Tensor
from torch.func import jacrev

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, Choice, Gradient, State, Values, log_uniform, method, uniform
from rpo.engine.nets import Net, Params
from rpo.functional.domains import mean_over_domains
from rpo.functional.lipirm import squared_mean
from rpo.functional.losses import sample_dummy_gradient
from rpo.methods.terms import gap, mean_over_present, risks

NEAR = 0.1  # divergence from the preferences below which all objectives are lowered: the authors' for Colored-MNIST
ROUNDING = 64  # units of rounding by which a corner may be outside, with rows of length one
# Three bounds α ≥ 0, three on the objectives' descent and one on the balance: at a corner two of them hold exactly.
FIRST, SECOND = (list(side) for side in zip(*combinations(range(7), 2), strict=True))


@method(
    "pair",
    tasks=BOTH,
    space={
        "irm": log_uniform(1e-2, 1e-4, 1e2, "Preference for a small IRM penalty; that of V-REx's penalty is 1."),
        "risk": log_uniform(1e-12, 1e-12, 1e-8, "Preference for a small mean risk; that of V-REx's penalty is 1."),
        "anneal": uniform(0.3, 0.0, 0.9, "Share of the training by the mean risk alone."),
    },
    options={"rescale": Choice("reset", "none", words="Whether Adam is reset when the penalties come into force.")},
    own_gradient=True,
    cite="Chen et al. 2023",
    reference="Chen, Zhou, Bian, Xie, Wu, Zhang, Ma, Yang, Zhao, Han & Cheng. Pareto Invariant Risk Minimization: "
    "Towards Mitigating the Optimization Dilemma in Out-of-Distribution Generalization. ICLR 2023. The solver: "
    "Mahapatra & Rajan. Multi-Task Learning with User Preferences: Gradient Descent with Controlled Ascent in Pareto "
    "Optimization. ICML 2020.",
)
def pair(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Gradient:
    r"""α₁ mean_e R_e + α₂ mean_e (d/dw R_e(w f))² + α₃ Var_e R_e, α by exact Pareto search; mean_e R_e alone at first

    The authors' optimiser PAIR-o. Their linear programme for α has three unknowns that sum to one, so that its best
    corner is found in closed form among at most 21: exact, and for a whole stack of models at once.

    The preferences 10⁻¹² : 10⁻² : 1 and 150 of 501 steps by the risk alone are those of the authors' code for
    Colored-MNIST; the ranges contain the preferences of their other experiments but one (10⁸ for IRM). Three things
    differ. After the first part they use SGD with momentum (Adam for their regression), this library Adam with its
    moments reset. The gradients that α depends on are those of all weights, as in their regression; for Colored-MNIST
    they took those of the head. Their smoothed solver and PAIR-s, which selects models, are left out.

    The terms are the objectives without α, which is another in every step.
    """

    def objectives(params: Params) -> tuple[Tensor, Tensor]:
        output = net(params, batch.x)
        value = risks(output, batch, hp.task)
        slope = sample_dummy_gradient(output, batch.y, hp.task)
        # Exact Pareto search needs objectives that are not negative, so no unbiased estimate of the square.
        square = squared_mean(slope, batch.domain, batch.weight, len(batch.size))
        each = mean_over_present(value, batch), mean_over_domains(square, batch.size), gap(value, batch) / 2
        return torch.stack(each), torch.stack(each)

    gradients, value = jacrev(objectives, has_aux=True)(params)
    flat = torch.cat([g.flatten(1) for g in gradients.values()], 1)
    preference = torch.stack([hp.risk, hp.irm, torch.ones_like(hp.irm)])
    early = batch.step < hp.anneal * batch.steps
    alone = torch.eye(3, dtype=value.dtype, device=value.device)[0]
    gram = torch.stack([times(flat, one) for one in flat])
    alpha = torch.where(early, alone, balance(value, gram, preference / preference.sum()))
    update = {name: times(g.movedim(0, -1), alpha) for name, g in gradients.items()}
    return Gradient(update, dict(zip(("risk", "irm", "variance"), value, strict=True)), state, {})


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Av element by element: autocast would round matrix products to bfloat16, too coarse to tell corners apart."""
    return (matrix * vector).sum(-1)


def balance(value: Tensor, gram: Tensor, preference: Tensor) -> Tensor:
    r"""α of exact Pareto search for three objectives l ≥ 0, C = GGᵀ of their gradients, preferences r that sum to one.

    With l̂ = r∘l/Σ r∘l and μ = Σ l̂ log 3l̂, a = r∘(log 3l̂ − μ) points to where all r_j l_j are equal. While μ is large,
    α maximises α·Ca such that the largest r_j l_j does not grow, nor any objective faster than along a alone. Else
    it maximises Σ Cα such that none grows. Where no α does that, it is the preferences.
    """
    tiny = torch.finfo(value.dtype).tiny
    weighted = preference * value
    hat = weighted / weighted.sum().clamp_min(tiny)
    excess = (3 * hat).clamp_min(tiny).log()
    divergence = (hat * excess).sum()
    along = times(gram, preference * (excess - divergence))
    apart = divergence > NEAR
    largest = weighted == weighted.max()
    bound = torch.where(apart & ~largest, along, 0)
    active = ~apart | largest | (along <= 0)
    rows = torch.cat([gram, along[None]])
    bounds = torch.cat([bound, along.max().clamp_max(0)[None]])
    gain = torch.where(apart, along, gram.sum(0))
    return best_corner(gain, rows, bounds, torch.cat([active, ~apart[None]]), preference)


def best_corner(gain: Tensor, rows: Tensor, bounds: Tensor, active: Tensor, otherwise: Tensor) -> Tensor:
    r"""The α with α ≥ 0, Σ α = 1 and A α ≥ b (its active rows) that has the largest g·α, or `otherwise` if none has."""
    # Where Σ α = 1, A α ≥ b is (A − b 1ᵀ)α ≥ 0; at a corner two such rows are zero, so α is along their cross product.
    walls = torch.where(active[:, None], rows - bounds[:, None], 0)
    info = torch.finfo(gain.dtype)
    walls = walls / walls.abs().amax(1, keepdim=True).clamp_min(info.tiny)
    walls = torch.cat([torch.eye(3, dtype=walls.dtype, device=walls.device), walls])
    walls = walls / walls.norm(dim=1, keepdim=True).clamp_min(info.tiny)
    corner = torch.linalg.cross(walls[FIRST], walls[SECOND])
    corner = corner / corner.sum(1, keepdim=True)  # of parallel walls there is none: not finite, or outside
    inside = (times(corner[:, None], walls) >= -ROUNDING * info.eps).all(1) & corner.isfinite().all(1)
    best = torch.where(inside, times(corner, gain), -torch.inf).argmax()
    found = corner.gather(0, best.expand(1, 3))[0].clamp_min(0)
    return torch.where(inside.any(), found / found.sum(), otherwise)
