"""ERM-screened: ERM on the features whose slope on the target is the same in every domain (control, tables only)."""

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from rpo.engine.data import Batch
from rpo.engine.method import BOTH, State, Terms, Values, method, uniform
from rpo.engine.nets import Net, Params
from rpo.exceptions import InputError
from rpo.functional.heterogeneity import screen
from rpo.methods.terms import L2, risk, squared_norm

if TYPE_CHECKING:
    from rpo.engine.training import Preparation


def kept_features(run: "Preparation", alpha: Tensor, importance: Tensor | None = None) -> Tensor:
    """Which features stay, as ones and zeros, for every model, `(K, d)`; `alpha` is the test's, one a model, and
    `importance` of rows `(K, n)`, which are then compared within their stratum."""
    data = run.data
    kept = []
    for model in range(run.models):
        domain, stratum, weight = run.rows(model)
        x = (data.tensor[model] if data.stacked else data.tensor).cpu().numpy()
        y = (data.y[model] if data.stacked else data.y).cpu().numpy()
        targets = y[:, None] if data.task != "multiclass" else np.eye(data.n_classes)[y]
        trust = None if importance is None else importance[model].cpu().numpy()
        cell = None if trust is None else domain * data.n_strata + stratum
        stays = screen(x, targets, domain, weight, alpha=float(alpha[model]), importance=trust, cell=cell)
        kept.append(stays.astype(float))
    return run.tensor(kept)


def prepare(run: "Preparation") -> State:
    """The features that stay."""
    shape = run.data.row_shape
    if len(shape) != 1:
        raise InputError(f"method 'erm-screened' needs a table of features: the rows given have shape {shape}")
    return {"kept": kept_features(run, run.number("alpha"))}


def predict(net: Net, params: Params, state: State, x: Tensor) -> Tensor:
    """The output for rows without the features that were dropped."""
    return net(params, x * state["kept"])


@method(
    "erm-screened",
    tasks=BOTH,
    space={
        "c": L2,
        "alpha": uniform(0.001, 0.0001, 0.01, "Level of the test by which features are dropped; 0 drops none."),
    },
    prepare=prepare,
    predict=predict,
    at_once=True,
    cite="control",
    reference="A control of this library: Cochran. The Combination of Estimates from Different Experiments. "
    "Biometrics 10(1), 1954.",
)
def erm_screened(net: Net, params: Params, state: State, batch: Batch, hp: Values) -> Terms:
    r"""mean_e R_e + c‖θ‖² on the features that pass Cochran's Q at α/d"""
    output = predict(net, params, state, batch.x)
    return {"risk": risk(output, batch, hp.task), "l2": hp.c * squared_norm(params)}
