"""RPO-weights: rows weighted by the quality of their cell, in the risks and in the invariance penalty."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from rpo.engine.data import COLUMNS, Batch, Data
from rpo.engine.method import BOTH, Choice, State, Terms, Values, log_uniform, method, uniform
from rpo.engine.nets import Net, Params
from rpo.functional.statistics import Array, borrow, shrink
from rpo.functional.weights import CLIP, beyond_ordinary, clip_ratio, informativeness, mean_one, precision, spread
from rpo.mapped import blocks, on_disk
from rpo.methods.erm_screened import kept_features
from rpo.methods.rpo import LAM_FRACTIONS, noise_of, residuals
from rpo.methods.terms import ANNEAL, IRM_ESTIMATOR, REDUCTION, RESCALE, lipirm

if TYPE_CHECKING:
    from rpo.engine.training import Preparation

ETA = 0.1  # little is left to penalise once features that differ by domain are gone
LARGE = 64 * 2**20  # bytes of features from which on a second copy goes to disk

# Each step can be switched off, so that its worth can be shown: `alpha` = 0 screens nothing, `power` = 0 weighs all
# rows alike, `folds` = 0 takes the residuals of the rows trained on, `clip` = 0 leaves the weights as they come.
SPACE = {
    "eta": log_uniform(ETA, 0.01, 1e3, "Strength η of the IRM penalty after annealing."),
    "anneal": ANNEAL,
    "lam": log_uniform(None, 1e-4, 1.0, "Strength λ of the Lipschitz penalty; by default chosen by held-out rows."),
    "alpha": uniform(0.001, 0.0001, 0.01, "Level of the test by which features are dropped; 0 drops none."),
    "power": uniform(1.0, 0.5, 1.0, "Power of 1/σ² in the weights; 0 gives all rows the same weight."),
}
AFTER = {
    "irm_estimator": IRM_ESTIMATOR,
    "rescale": RESCALE,
    "screen": Choice("twice", "once", "first", words="How often features are tested, and with which weights."),
    "shrink": Choice("on", "off", words="Whether the noise of small cells is shrunk towards the common level."),
    "gate": Choice("on", "off", words="Whether only cells that are clearly noisier than the others lose weight."),
    "clip": Choice(CLIP, words="Largest ratio between two weights; 0 for no limit."),
    "weigh": Choice("all", "risk", words="Whether the weights apply to every term of the loss or only to the risk."),
    "placement": Choice("estimated", "permuted", words="The cells' own weights, or those of other cells as a control."),
}


def first_stage(run: "Preparation") -> State:
    """The features that stay, and squared residuals of ERM + lip on them, each from a model that never saw the row.

    Models of half the steps do for that: three λ by four folds, in one stack, cost one to three trainings.
    """
    kept = _kept(run)
    half = replace(run.config, steps=-(-run.config.steps // 2))
    masked = replace(run, data=_masked(run.data, kept), config=half)
    first = residuals(masked, "erm-lip", LAM_FRACTIONS if run.option("folds") >= 2 else (1.0,))
    run.failures = masked.failures
    return {**first, "kept": kept}


def _kept(run: "Preparation") -> Tensor:
    """Ones and zeros by feature, `(K, d)`; a one for all where rows are not a table of features."""
    data, alpha = run.data, run.number("alpha")
    if len(data.row_shape) != 1:
        return data.tensor.new_ones(run.models, 1)
    if data.stacked or data.weight.dim() == 2 or bool((alpha != alpha[0]).any()):
        return _most(kept_features(run, alpha))
    return _most(kept_features(run.part(slice(1)), alpha)).expand(run.models, -1).contiguous()  # all the same


def _most(kept: Tensor, instead: Tensor | None = None) -> Tensor:
    """What is kept if that is at least half of the features: where most differ, to differ is these domains' nature."""
    enough = 2 * kept.sum(1, keepdim=True) >= kept.shape[1]
    return torch.where(enough, kept, torch.ones_like(kept) if instead is None else instead)


def _masked(data: Data, kept: Tensor) -> Data:
    """The data without the features that were dropped: one copy for all models that share it, none if all stay."""
    if bool((kept == 1).all()):
        return data
    if data.stacked or bool((kept != kept[0]).any()):
        x = data.tensor if data.stacked else data.tensor.expand(len(kept), *data.tensor.shape)
        shared = (
            {} if data.stacked else {name: getattr(data, name).expand(len(kept), -1) for name in COLUMNS if name != "x"}
        )
        return replace(data, x=x * kept[:, None], **shared)
    if data.tensor.nbytes < LARGE or data.tensor.device.type != "cpu":
        return replace(data, x=data.tensor * kept[0])
    masked = torch.from_numpy(on_disk(tuple(data.tensor.shape), data.tensor.numpy().dtype))
    for rows in blocks(len(masked)):
        torch.mul(data.tensor[rows], kept[0], out=masked[rows])
    return replace(data, x=masked)


def prepare(run: "Preparation") -> State:
    """Noise of every cell from the first stage, and the weights that follow."""
    first = first_stage(run) if run.first is None else run.first
    cells = [cells_of(run, model, first["residual"][model]) for model in range(run.models)]
    weight = run.tensor([weights_of(run, model, *cells[model]) for model in range(run.models)])
    # η and ρ are the same everywhere; they stand here for those who look at the penalties of any RPO.
    return {
        "weight": weight,
        "sigma": run.tensor([np.nan_to_num(noise) for noise, _ in cells]),
        "kept": _kept_in_the_end(run, first["kept"], weight),
        "eta": run.number("eta")[:, None].expand(-1, run.data.n_domains).contiguous(),
        "rho": torch.ones_like(weight),
        "lam": first["lam"],
    }


def cells_of(run: "Preparation", model: int, residual: Tensor) -> tuple[Array, Array]:
    r"""σ_ek of one model, borrowed where a cell is too small and shrunk if asked for, and N_ek."""
    noise, count = noise_of(run, model, residual)
    noise = borrow(noise, count)
    return shrink(noise, count) if run.option("shrink") == "on" else noise, count


def _by_row(run: "Preparation", weight: Tensor) -> Tensor:
    """The weight of each row's cell, `(K, n)`."""
    domain, stratum = run.data.domain.expand(run.models, -1), run.data.stratum.expand(run.models, -1)
    return weight[torch.arange(run.models, device=weight.device)[:, None], domain, stratum]


def _kept_in_the_end(run: "Preparation", kept: Tensor, weight: Tensor) -> Tensor:
    """What the second stage sees: all features, those that passed, or that pass again where noisy rows say less."""
    data = run.data
    if run.option("screen") == "first":
        return torch.ones_like(kept)
    if run.option("screen") == "once" or len(data.row_shape) != 1:
        return kept
    return _most(kept * kept_features(run, run.number("alpha"), _by_row(run, weight)), kept)


def weights_of(run: "Preparation", model: int, noise: Array, count: Array) -> Array:
    r"""w_ek of one model: inverse variances, or for classes 1 − σ²/σ_0²; beyond the ordinary, clipped, of mean one."""

    def worth(sigma: Array) -> Array:
        return precision(sigma) if run.data.task == "regression" else informativeness(sigma, _null(run, model))

    raw = worth(noise)
    if run.option("gate") == "on":
        low, high = spread(noise, count)
        raw = beyond_ordinary(worth(low), worth(high))
    powered = clip_ratio(raw, run.option("clip")) ** float(run.number("power")[model])
    placed = mean_one(powered, count)
    return _permuted(placed, count, run.seeds[model]) if run.option("placement") == "permuted" else placed


def _null(run: "Preparation", model: int) -> float:
    """The squared error of a guess by the shares of the classes: ½(1 − Σ_c q_c²)."""
    y = (run.data.y[model] if run.data.stacked else run.data.y).cpu().numpy().astype(int)
    _, _, weight = run.rows(model)
    share = np.bincount(y, weight, minlength=run.data.n_classes) / weight.sum()
    return float(max(1e-12, (1 - (share**2).sum()) / 2))


def _permuted(weight: Array, count: Array, seed: int) -> Array:
    """The same weights on other cells of the same domain, of mean one again."""
    rng = np.random.default_rng([seed, 3])
    dealt = weight.copy()
    for e in range(len(weight)):
        there = np.flatnonzero(count[e] > 0)
        dealt[e, there] = weight[e, rng.permutation(there)]
    return mean_one(dealt, count)


def predict(net: Net, params: Params, state: State, x: Tensor) -> Tensor:
    """The output for rows without the features that were dropped."""
    return net(params, x * state["kept"])


@method(
    "rpo-weights",
    tasks=BOTH,
    space=SPACE,
    options={
        "reduction": REDUCTION,
        "folds": Choice(4, words="Number of folds for out-of-fold residuals in the first stage; 0 for none."),
        **AFTER,
    },
    prepare=prepare,
    first_stage=first_stage,
    later=("eta", "anneal", "power", *AFTER),
    predict=predict,
    at_once=True,
    per_row=True,
    version=2,
    cite="this library",
    reference="Of this library.",
)
def rpo_weights(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + η mean_e (d/dw R_e(w f))² + λ mean_e S_e, R_e and S_e means of l and ‖∇ₓf‖² under weights ∝ 1/σ̃²"""
    plain = batch._replace(x=batch.x * state["kept"])
    weighted = plain._replace(weight=batch.weight * state["weight"][batch.domain, batch.stratum])
    terms = lipirm(net, params, weighted, hp, eta=hp.eta, rho=1.0, lam=state["lam"])
    if hp.weigh == "risk":
        terms["irm"] = lipirm(net, params, plain, hp, eta=hp.eta, rho=1.0, lam=state["lam"])["irm"]
    return terms
