"""LAP: a domain whose losses stay above those of the others loses weight, step by step."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, Choice, State, Terms, Values, log_uniform, method, uniform
from rpo.engine.nets import Net, Params
from rpo.methods.terms import mean_over_present, risks

if TYPE_CHECKING:
    from rpo.engine.training import Preparation

NOTCH = 0.005  # δ of the authors' package: only its product with m matters
STILL = 1e-8  # a spread of the others' losses that counts as none


def prepare(run: "Preparation") -> State:
    """No losses seen, and every domain trusted."""
    domains = run.models, run.data.n_domains
    state = {
        "history": torch.zeros(*domains, run.option("history")),
        "seen": torch.zeros(run.models),
        "count": torch.zeros(domains),
    }
    return {name: value.to(run.data.weight) for name, value in state.items()}


@method(
    "lap",
    tasks=BOTH,
    space={
        "m": log_uniform(1.0, 0.1, 2.0, "How fast a domain loses weight with the number of steps against it."),
        "kappa": uniform(1.0, 0.5, 2.0, "Standard deviations above the others' losses that count against a domain."),
        "warmup": uniform(100.0, 0.0, 200.0, "Number of steps before the losses count for or against a domain."),
    },
    options={"history": Choice(50, 25, 100, words="Number of the latest losses of each domain that are compared.")},
    prepare=prepare,
    cite="Capstick et al. 2022",
    reference="Capstick, Palermo, Cui & Barnaghi. Training Neural Networks on Data Sources with Unknown Reliability "
    "(Loss Adapted Plasticity). arXiv:2212.02895, 2022.",
)
def lap(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> tuple[Terms, State]:
    r"""mean_e (1 − tanh²(m δ u_e)) R_e,  u_e ← max(u_e ± 1, 0): up where mean(R_e) ≥ μ₋e + κ σ₋e over the last losses

    μ₋e and σ₋e are those of all losses in the other domains' histories, each domain weighted by its own factor before
    this step. Nothing is compared before every history is full and the warm-up is over; until then this is ERM. A
    domain that is merely harder cannot be told from a bad one, and of two domains σ₋e is that of the other alone.

    Defaults and δ = 0.005 are those of the authors' package; m, κ and `history` are searched where they searched them
    (they warm up for 0 or 100 steps). Their mean is over the rows of a batch; here domains count the same whatever
    their size, as in the other methods.
    """
    value = risks(net(params, batch.x), batch, hp.task)
    length = state["history"].shape[1]
    place = torch.arange(length, device=value.device) == state["seen"] % length
    history = torch.where(place, value.detach()[:, None], state["history"])
    seen = state["seen"] + 1
    move = verdicts(history, trust(state["count"], hp.m), batch.size > 0, hp.kappa)
    ready = (seen >= length) & (batch.step >= hp.warmup)
    count = torch.where(ready, (state["count"] + move).clamp_min(0), state["count"])
    terms = {"risk": mean_over_present(trust(count, hp.m) * value, batch)}
    return terms, {"history": history, "seen": seen, "count": count}


def trust(count: Tensor, m: Tensor) -> Tensor:
    r"""1 − tanh²(m δ u) = 1/cosh²(m δ u), which does not round to zero early."""
    return (m * NOTCH * count).cosh().square().reciprocal()


def verdicts(history: Tensor, weight: Tensor, here: Tensor, kappa: Tensor) -> Tensor:
    r"""+1 for a domain whose mean loss is μ₋e + κ σ₋e or more, −1 for one below; 0 if the others' losses are all equal.

    `history` is `(E, L)`; domains that are not there are compared with none.
    """
    mean = history.mean(1)
    variance = (history - mean[:, None]).square().mean(1)
    # The domain itself is left out of the sums, not subtracted from them: an outlier would leave nothing but rounding.
    others = torch.where(here, weight, 0) * (1 - torch.eye(len(mean), dtype=mean.dtype, device=mean.device))
    total = others.sum(1, keepdim=True)
    share = others / torch.where(total > 0, total, 1)
    # Element by element: autocast would round a product of matrices to bfloat16.
    centre = (share * mean).sum(1)
    spread = (share * (variance + (mean - centre[:, None]).square())).sum(1).sqrt()
    move = torch.where(mean >= centre + kappa * spread, 1.0, -1.0).to(mean)
    return torch.where(here & (spread > STILL), move, 0)
