"""RPO: penalties by data quality: smoother where data are scarce or noisy, less invariance for poor domains.

Beside it stand its two halves, RPO-Pen and RPO-Lip, and its controls: the same penalties permuted, and made uniform.
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, Choice, State, Terms, Values, log_uniform, method, uniform
from rpo.engine.nets import Net, Params
from rpo.exceptions import InputError
from rpo.functional.penalties import Penalties, optimal_lambda, optimal_penalties
from rpo.functional.statistics import Array, borrow, cell_weight, r_hat, shrink, sigma
from rpo.methods.terms import ANNEAL, IRM_ESTIMATOR, REDUCTION, RESCALE, collapse_strength, lipirm

if TYPE_CHECKING:
    from rpo.engine.training import Preparation

REFERENCE = (
    "Yu, Zhu, Li, Hong, Zhang, Ye, Huang & He. Regularization Penalty Optimization for Addressing Data "
    "Quality Variance in OoD Algorithms. AAAI 2022."
)
CONTROL = "A control of this library."

# What the calibrated scheme tries of λ by formula, which is far too large for smooth truths (docs/best-penalties.md).
LAM_FRACTIONS = (1.0, 0.1, 0.01)

# By default Algorithm 1 to the letter: sums (Eq. 4), the residuals of the rows trained on, η in force from the first
# step, nothing rescaled.
SPACE = {
    "strength": log_uniform(1.0, 0.1, 100.0, "Factor by which the η of Proposition 1 are multiplied."),
    "lam": log_uniform(None, 1e-4, 1.0, "Strength λ of the Lipschitz penalty; by default from the paper's formula."),
    "anneal": uniform(0.0, 0.0, 0.9, ANNEAL.words),
}
OPTIONS = {
    "reduction": Choice("sum", "mean", words=REDUCTION.words),
    "irm_estimator": IRM_ESTIMATOR,
    "rescale": Choice("none", "divide", "reset", words=RESCALE.words),
    "scheme": Choice("paper", "calibrated", words="Algorithm 1 to the letter, or with calibrated penalties."),
    "density_exponent": Choice(None, words="Exponent of a cell's density in ρ; None for that of the scheme."),
    "folds": Choice(0, words="Number of folds for out-of-fold residuals in the first stage; 0 for none."),
    # Added after results were stored: hashes leave it out where it is None (fingerprints, `Run.digest` of the studies).
    "centre": Choice(
        None,
        "zero",
        "log-odds",
        words="What the dummy classifier scales logits about: zero, their log odds, or None for that of the scheme.",
    ),
}
SCHEMES = {"calibrated": {"reduction": "mean", "anneal": 0.25, "rescale": "divide", "folds": 4}}
MOST_COLLAPSE = 1.5  # of the calibrated η; from 2 on, predicting zero is a minimum
LATER = ("strength", "anneal", "centre")


def algorithm_1(run: "Preparation") -> State:
    """Algorithm 1: two trainings with the LipIRM loss, the penalties of the second computed from the first."""
    # 1. Randomly initialise the parameters.  2. For all e and k, ρ_k ← 1, η_e ← 1.
    # 3. Train with the LipIRM loss.
    first = first_stage(run) if run.first is None else run.first
    # 4. For all e and k, estimate r̂_ek and σ²_ek.
    noise = [noise_of(run, model, first["residual"][model]) for model in range(run.models)]
    literal = run.option("scheme") == "paper"
    sigmas = [s if literal else shrink(borrow(s, n), n) for s, n in noise]
    # 5. For all e and k, compute ρ_k* and η_e* using Proposition 1.
    penalties = [penalties_of(run, model, sigmas[model]) for model in range(run.models)]
    etas = [p.eta if literal else p.eta * unharmed(run, model, p.eta) for model, p in enumerate(penalties)]
    # 6. Randomly reinitialise the parameters.  7. Train with the LipIRM loss: the engine does, with this state.
    return {
        "eta": run.tensor(etas) * run.number("strength")[:, None],
        "rho": run.tensor([np.nan_to_num(p.rho) for p in penalties]),
        "lam": first["lam"],
        "sigma": run.tensor([np.nan_to_num(s) for s in sigmas]),
        "centre": run.tensor([centre_of(run, model) for model in range(run.models)]),
    }


def first_stage(run: "Preparation") -> State:
    r"""Squared residuals of LipIRM models with η = ρ = 1, and λ: as given, else (Σ_e 1/N_e)^(2/5).

    With folds, residuals are of models that did not see the row, and the calibrated scheme takes of λ and its
    fractions the one with the smallest.
    """
    search = run.option("scheme") == "calibrated" and run.option("folds") >= 2
    return residuals(run, "irm-lip", LAM_FRACTIONS if search else (1.0,), eta=1.0, anneal=0.0)


def residuals(run: "Preparation", method: str, fractions: tuple[float, ...], **numbers: float) -> State:
    r"""Squared `residual`s of a first training, and `lam`: as given, else the fraction of (Σ_e 1/N_e)^(2/5) that
    makes them smallest."""
    folds = run.option("folds")
    if not isinstance(folds, int) or folds < 0 or folds == 1:
        raise InputError(f"folds must be 0 (residuals of the training rows) or at least 2, got {folds!r}")
    formula = run.tensor([optimal_lambda(size) for size in run.data.size(run.models).cpu().numpy()])
    free = run.number("lam").isnan()[:, None]
    lam = torch.where(free, formula[:, None] * run.tensor([fractions]), run.number("lam")[:, None])
    residual = run.squared_residuals(method, folds=folds, lam=lam, **numbers)
    weight = run.data.weight.expand(run.models, -1)[:, None]
    best = (weight * residual).sum(2).argmin(1)
    model = torch.arange(run.models, device=best.device)
    return {"residual": residual[model, best], "lam": lam[model, best]}


def noise_of(run: "Preparation", model: int, residual: Tensor) -> tuple[Array, Array]:
    r"""σ_ek and N_ek of one model."""
    domain, stratum, weight = run.rows(model)
    shape = {"n_domains": run.data.n_domains, "n_strata": run.data.n_strata}
    count = cell_weight(domain, stratum, weight=weight, **shape)
    return sigma(residual.cpu().numpy(), domain, stratum, weight=weight, **shape), count


def penalties_of(run: "Preparation", model: int, noise: Array) -> Penalties:
    r"""Proposition 1 for one model, every stratum split by domain as the paper constrains."""
    domain, stratum, weight = run.rows(model)
    density = r_hat(domain, stratum, weight=weight, n_domains=run.data.n_domains, n_strata=run.data.n_strata)
    return optimal_penalties(
        noise,
        density,
        run.data.size(run.models)[model].cpu().numpy(),
        scheme=run.option("scheme"),
        density_exponent=run.option("density_exponent"),
        split=True,
    )


def unharmed(run: "Preparation", model: int, eta: Array) -> float:
    r"""min(1, 3/2 · Σ_e m_e/Σ_e η_e m_e²), m_e = E_e[y²]: keeps η where predicting zero is no minimum of the loss.

    Where a few domains have most of the target's variance, η of mean one would be too strong for them.
    """
    if run.data.task != "regression" or run.option("reduction") == "sum":
        return 1.0
    return min(1.0, MOST_COLLAPSE / max(collapse_strength(run.data, eta, "mean", model), 1e-300))


def centre_of(run: "Preparation", model: int) -> Array:
    r"""Return what the dummy classifier scales the output about: zero, or the log odds of the classes' shares.

    The option `centre` chooses; by default zero in the paper's scheme, and log odds in the calibrated one. A
    regression's target is centred before it comes here. Without the same for classes the penalty pulls at the
    intercept of a rare class, and the predicted shares come out wrong.
    """
    data = run.data
    centre = run.option("centre") or ("zero" if run.option("scheme") == "paper" else "log-odds")
    if centre == "zero" or data.task == "regression":
        return np.zeros(data.n_outputs)
    y = (data.y[model] if data.stacked else data.y).cpu().numpy().astype(int)
    _, _, weight = run.rows(model)
    count = 0.5 + np.bincount(y, weight, minlength=data.n_classes)  # a class may have no row at all
    log: Array = np.log(count / count.sum())
    return log if data.task == "multiclass" else log[1:] - log[:1]


def permuted(run: "Preparation") -> State:
    """η over the domains that have rows, ρ over the cells that have rows, each in an order drawn from the seed."""
    state = algorithm_1(run)
    for model, seed in enumerate(run.seeds):
        rng = np.random.default_rng([seed, 3])
        for name in ("eta", "rho"):
            values = state[name][model].flatten()
            there = torch.nonzero(values > 0)[:, 0]
            values[there] = values[there[torch.as_tensor(rng.permutation(len(there)), device=there.device)]]
            state[name][model] = values.reshape(state[name][model].shape)
    return state


def evened_out(run: "Preparation") -> State:
    """η: its mean over the domains that have rows; ρ: its mean over the rows."""
    state = algorithm_1(run)
    for model in range(run.models):
        domain, stratum, weight = run.rows(model)
        shape = {"n_domains": run.data.n_domains, "n_strata": run.data.n_strata}
        count = run.tensor([cell_weight(domain, stratum, weight=weight, **shape)])[0]
        eta, rho = state["eta"][model], state["rho"][model]
        here = count.sum(1) > 0
        state["eta"][model] = torch.where(here, eta[here].mean(), 0)
        state["rho"][model] = torch.where(count > 0, (count * rho).sum() / count.sum(), 0)
    return state


# What all five are: they differ in the penalties they start from, and in which of them they use.
_algorithm_1 = partial(
    method,
    tasks=BOTH,
    space=SPACE,
    options=OPTIONS,
    first_stage=first_stage,
    later=LATER,
    schemes=SCHEMES,
    per_row=True,
    version=4,
    cite="Yu et al. 2022",
    reference=REFERENCE,
)


@_algorithm_1("rpo", prepare=algorithm_1)
def rpo(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""Σ_e Σ_i l_i + Σ_e η_e* (d/dw Σ_i l_i)² + λ Σ_e Σ_i ρ*(x_i) ‖∇ₓf(x_i)‖²"""
    rho = state["rho"][batch.domain, batch.stratum]
    return lipirm(net, params, batch, hp, eta=state["eta"], rho=rho, lam=state["lam"], centre=state["centre"])


@_algorithm_1(
    "rpo-pen",
    prepare=algorithm_1,
    summary="RPO-Pen: RPO's invariance penalties by domain, uniform smoothness penalties (ablation).",
)
def rpo_pen(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""Σ_e Σ_i l_i + Σ_e η_e* (d/dw Σ_i l_i)² + λ Σ_e Σ_i ‖∇ₓf(x_i)‖²"""
    return lipirm(net, params, batch, hp, eta=state["eta"], rho=1.0, lam=state["lam"], centre=state["centre"])


@_algorithm_1(
    "rpo-lip",
    prepare=algorithm_1,
    summary="RPO-Lip: uniform invariance penalties, RPO's smoothness penalties by stratum (ablation).",
)
def rpo_lip(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""Σ_e Σ_i l_i + Σ_e (d/dw Σ_i l_i)² + λ Σ_e Σ_i ρ*(x_i) ‖∇ₓf(x_i)‖²"""
    rho = state["rho"][batch.domain, batch.stratum]
    return lipirm(net, params, batch, hp, eta=hp.strength, rho=rho, lam=state["lam"], centre=state["centre"])


@_algorithm_1(
    "rpo-permuted",
    prepare=permuted,
    cite="control",
    reference=CONTROL,
    summary="RPO-permuted: RPO's penalties permuted over strata and domains (control: does it matter where they are?).",
)
def rpo_permuted(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""RPO's loss with π(η*) and π(ρ*) in place of η* and ρ*, π a random permutation"""
    terms: Terms = rpo(net, params, state, batch, hp)
    return terms


@_algorithm_1(
    "rpo-uniform",
    prepare=evened_out,
    cite="control",
    reference=CONTROL,
    summary="RPO-uniform: the means of RPO's penalties everywhere (control: is it only their strength?).",
)
def rpo_uniform(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""RPO's loss with mean η* and mean ρ* in place of η* and ρ*

    Calibrated, without folds and with `centre="zero"` it is IRM + lip with η = `strength` and λ by formula, unless
    `unharmed` lowers η.
    """
    terms: Terms = rpo(net, params, state, batch, hp)
    return terms
