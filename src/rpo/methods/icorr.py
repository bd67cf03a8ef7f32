"""ICorr: outputs that go with the label equally closely in all domains, however noisy each is."""

import torch
from torch import Tensor

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, log_uniform, method, uniform
from rpo.engine.nets import Net, Params
from rpo.functional.domains import domain_mean
from rpo.functional.losses import Task
from rpo.methods.terms import ANNEAL, RESCALE, annealed, risk, spread


@method(
    "icorr",
    tasks=BOTH,
    space={
        "lam": log_uniform(1e4, 0.1, 1e5, "Strength of the penalty on the variance of the domains' correlations."),
        "anneal": uniform(0.2, 0.0, 0.9, ANNEAL.words),
    },
    options={"rescale": RESCALE},
    cite="Jin et al. 2025",
    reference="Jin, Mu, Yi, Huang & Zhang. Invariant Correlation of Representation With Label. IEEE Transactions on "
    "Information Forensics and Security, 2025; arXiv:2407.01749.",
)
def icorr(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + λ mean_e (ρ_e − mean ρ)²,  ρ_e = mean_{i ∈ e} (f_i − mean_e f) y_i

    The paper's "correlation" is a covariance: it is not divided by standard deviations, which noise would change.
    λ = 10⁴ after a fifth of the training, 1 before, and the loss divided by it are the authors' code for Colored-MNIST
    (100 of 501 steps); there risks are summed over two domains, so that their λ is half as strong.

    Not theirs, or not to be found in their code: the range of λ, which is that of V-REx; several classes, where f·y is
    the output of the row's own class (for two classes their formula, and unchanged if all outputs move together); and
    domains of a single row, which have no correlation and are left out.
    """
    output = net(params, batch.x)
    lam, divisor = annealed(hp.lam, batch, hp)
    several = batch._replace(size=torch.where(batch.size > 1, batch.size, 0))
    return {
        "risk": risk(output, batch, hp.task) / divisor,
        "correlation": lam * spread(correlations(output, batch, hp.task), several) / divisor,
    }


def correlations(output: Tensor, batch: Batch, task: Task) -> Tensor:
    r"""ρ_e of each domain, `(E,)`; zero, to rounding, for one row and for a domain that is not there."""
    domains = len(batch.size)
    centred = output - domain_mean(output, batch.domain, batch.weight, domains)[batch.domain]
    product = centred.gather(1, batch.y[:, None])[:, 0] if task == "multiclass" else centred[:, 0] * batch.y
    found = domain_mean(product, batch.domain, batch.weight, domains)
    return torch.where(batch.size > 1, found, 0)
