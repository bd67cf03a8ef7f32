"""The first stage of Algorithm 1 on a table: how far each row is from what the other rows say about it."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from rpo.engine import Config, mlp
from rpo.engine.data import make_data
from rpo.engine.progress import Show
from rpo.engine.training import first_stage
from rpo.estimators.base import DOUBLE_ROWS, FULL_BATCH_ROWS
from rpo.estimators.inputs import weighted_moments
from rpo.functional.losses import Task
from rpo.methods import get_method
from rpo.tables.columns import Array
from rpo.tables.preparing import Prepared

FOLDS = 4
HIDDEN = (64,)
STEPS = 400


@dataclass(frozen=True, eq=False)
class Residuals:
    """Squared residuals of models that did not see the row, in the target's unit squared; codes of the domains; λ."""

    squared: Array
    domain: NDArray[np.intp]
    domains: NDArray[np.str_]
    scale: float
    """The deviation of the target: what a noise of one would be without a model. One for classes."""
    lam: float


def residuals(ready: Prepared, *, seed: int = 0, steps: int = STEPS, progress: Show = "auto") -> Residuals:
    """Cross-fitted in four folds by LipIRM with η = ρ = 1 and the best of three λ: what `RPORegressor` does first.

    >>> import pandas as pd
    >>> from rpo.tables import prepare
    >>> x = np.linspace(0, 1, 80)
    >>> table = pd.DataFrame({"x": x, "y": x + 5 * (np.arange(80) == 7), "d": np.arange(80) % 2})
    >>> int(residuals(prepare(table, target="y", domain="d"), steps=100).squared.argmax())
    7
    """
    domains, domain = np.unique(ready.domains, return_inverse=True)
    mean, deviation = weighted_moments(ready.X, np.ones(len(ready.X)))
    y, task, classes, scale = encoded(ready)
    small = len(y) <= DOUBLE_ROWS
    x = torch.from_numpy(((ready.X - mean) / deviation).astype(np.float64 if small else np.float32))
    data = make_data(
        x,
        torch.from_numpy(y),
        torch.from_numpy(domain.astype(np.int64)),
        task=task,
        weight=torch.ones(len(y), dtype=torch.float64),
        n_classes=classes,
    )
    batch = None if len(y) <= FULL_BATCH_ROWS else max(8, FULL_BATCH_ROWS // 2 // len(domains))
    dtype = torch.float64 if small else torch.float32
    method = get_method("rpo")
    numbers, options = method.fill({"scheme": "calibrated", "reduction": "mean", "folds": FOLDS})
    found = first_stage(
        method,
        partial(mlp, x.shape[1], data.n_outputs, HIDDEN),
        data,
        seeds=[seed],
        numbers=numbers,
        options=options,
        config=Config(steps=steps, batch_size=batch, dtype=dtype, progress=progress),
    )
    squared = found["residual"][0].cpu().numpy().astype(np.float64) * scale**2
    return Residuals(squared, domain, domains, scale, float(found["lam"][0]))


def encoded(ready: Prepared) -> tuple[NDArray[np.float64] | NDArray[np.int64], Task, int, float]:
    """The target as the engine wants it, the engine's task, the number of classes, and the target's deviation.

    >>> import pandas as pd
    >>> from rpo.tables import prepare
    >>> table = pd.DataFrame({"x": range(12), "y": ["a", "b", "c"] * 4})
    >>> encoded(prepare(table, target="y"))[1:]
    ('multiclass', 3, 1.0)
    """
    if ready.task == "regression":
        mean, scale = weighted_moments(ready.y[:, None].astype(np.float64), np.ones(len(ready.y)))
        return (ready.y - mean[0]) / scale[0], "regression", 0, float(scale[0])
    classes, code = np.unique(ready.y, return_inverse=True)
    if len(classes) == 2:
        return code.astype(np.float64), "binary", 2, 1.0
    return code.astype(np.int64), "multiclass", len(classes), 1.0
