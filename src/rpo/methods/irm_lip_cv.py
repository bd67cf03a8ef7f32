"""IRM + lip, λ chosen by held-out rows: the formula's λ, a tenth or a hundredth of it, whichever predicts best."""

from dataclasses import replace
from typing import TYPE_CHECKING

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, Choice, State, Terms, Values, log_uniform, method
from rpo.engine.nets import Net, Params
from rpo.methods.rpo import LAM_FRACTIONS, residuals
from rpo.methods.terms import ANNEAL, ETA, IRM_ESTIMATOR, REDUCTION, RESCALE, lipirm

if TYPE_CHECKING:
    from rpo.engine.training import Preparation


def prepare(run: "Preparation") -> State:
    """λ as given, else by ERM + lip of half the steps: three λ by four folds in one stack, one to three trainings."""
    if not bool(run.number("lam").isnan().any()):
        return {"lam": run.number("lam")}
    half = replace(run, config=replace(run.config, steps=-(-run.config.steps // 2)))
    found = residuals(half, "erm-lip", LAM_FRACTIONS if run.option("folds") >= 2 else (1.0,))
    run.failures = half.failures
    return {"lam": found["lam"]}


@method(
    "irm-lip-cv",
    tasks=BOTH,
    space={
        "eta": ETA,
        "anneal": ANNEAL,
        "lam": log_uniform(None, 1e-4, 1.0, "Strength λ of the Lipschitz penalty; by default chosen by held-out rows."),
    },
    options={
        "reduction": REDUCTION,
        "folds": Choice(4, words="Number of folds for choosing λ; 0 uses the paper's formula."),
        "irm_estimator": IRM_ESTIMATOR,
        "rescale": RESCALE,
    },
    prepare=prepare,
    per_row=True,
    cite="this library",
    reference="Of this library: IRM + lip with the paper's formula for λ and two fractions of it tried.",
)
def irm_lip_cv(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + η mean_e (d/dw R_e(w f))² + λ̂ mean_e mean_i ‖∇ₓf(x_i)‖², λ̂ by cross-validation"""
    return lipirm(net, params, batch, hp, eta=hp.eta, rho=1.0, lam=state["lam"])
