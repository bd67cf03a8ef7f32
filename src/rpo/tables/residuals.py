"""Every row of a table judged by models that have not seen it: the first stage of Algorithm 1, with its predictions."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rpo.engine import Config, Data, mlp, predict, train
from rpo.engine.data import fold_of_rows, make_data
from rpo.engine.trained import Trained, cut
from rpo.estimators.base import DOUBLE_ROWS, FULL_BATCH_ROWS
from rpo.estimators.inputs import weighted_moments
from rpo.frames.columns import Array
from rpo.frames.preparing import Prepared
from rpo.functional.losses import Task, probability, squared_residual
from rpo.functional.penalties import optimal_lambda
from rpo.methods.rpo import LAM_FRACTIONS
from rpo.progress import Show

FOLDS = 4
HIDDEN = (64,)
STEPS = 400


@dataclass(frozen=True, eq=False)
class Residuals:
    """Squared residuals of models that did not see the row, in the target's unit squared; codes of the domains; λ."""

    squared: Array
    expected: NDArray[Any]
    """What these models say: the target of each row `(n,)`, or the probability of each class `(n, classes)`."""
    domain: NDArray[np.intp]
    domains: NDArray[np.str_]
    scale: float
    """The deviation of the target: what a noise of one would be without a model. One for classes."""
    lam: float


def residuals(ready: Prepared, *, seed: int = 0, steps: int = STEPS, progress: Show = "auto") -> Residuals:
    """Cross-fitted in four folds by LipIRM with η = ρ = 1 and the best of three λ, as RPO's first stage is.

    >>> import pandas as pd
    >>> from rpo.frames import prepare
    >>> x = np.linspace(0, 1, 80)
    >>> table = pd.DataFrame({"x": x, "y": x + 5 * (np.arange(80) == 7), "d": np.arange(80) % 2})
    >>> found = residuals(prepare(table, target="y", domain="d"), steps=100)
    >>> int(found.squared.argmax()), bool(found.expected[7] < 2)
    (7, True)
    """
    domains, domain = np.unique(ready.domains, return_inverse=True)
    mean, deviation = weighted_moments(ready.X, np.ones(len(ready.X)))
    y, task, classes, scale = encoded(ready)
    dtype = torch.float64 if len(y) <= DOUBLE_ROWS else torch.float32
    x = torch.from_numpy((ready.X - mean) / deviation).to(dtype)
    data = make_data(
        x,
        torch.from_numpy(y) if task == "multiclass" else torch.from_numpy(y).to(dtype),
        torch.from_numpy(domain.astype(np.int64)),
        task=task,
        n_classes=classes,
    )
    batch = None if len(y) <= FULL_BATCH_ROWS else max(8, FULL_BATCH_ROWS // 2 // len(domains))
    config = Config(steps=steps, batch_size=batch, dtype=dtype, progress=progress)
    output, lam = _cross_fit(data, config, seed)
    squared = squared_residual(output, data.y, task).numpy().astype(np.float64) * scale**2
    expected: NDArray[Any] = probability(output, task).numpy()
    if task == "regression":
        expected = expected[:, 0].astype(np.float64) * scale + ready.y.mean()
    return Residuals(squared, expected, domain, domains, scale, lam)


def _cross_fit(data: Data, config: Config, seed: int) -> tuple[Tensor, float]:
    """f(x_i) of a model that did not see row i `(n, c)`, and λ: all folds and values of λ are one stack."""
    fold = fold_of_rows(data.x, data.weight, FOLDS)
    lam = optimal_lambda(data.size(1)[0].numpy()) * torch.tensor(LAM_FRACTIONS, dtype=config.dtype)
    kept = torch.stack([(fold != f).to(config.dtype) for f in range(FOLDS)] * len(lam))
    trained = train(
        "irm-lip",
        partial(mlp, data.x.shape[1], data.n_outputs, HIDDEN),
        data.with_weight(kept),
        seeds=[int(np.random.SeedSequence([seed, 1 + f]).generate_state(1)[0]) for f in range(FOLDS)] * len(lam),
        numbers={"eta": 1.0, "anneal": 0.0, "lam": lam.repeat_interleave(FOLDS)},
        config=config,
        label="judging rows",
    ).check()
    output = _held_out(trained, data, fold)
    best = int(torch.stack([squared_residual(one, data.y, data.task).sum() for one in output]).argmin())
    return output[best], float(lam[best])


def _held_out(trained: Trained, data: Data, fold: Tensor) -> Tensor:
    """Each row's output from the models that did not see it, one for every λ, `(λ, n, c)`."""
    output = data.x.new_empty(len(trained.failures) // FOLDS, data.n_rows, data.n_outputs)
    for f in range(FOLDS):
        part, rows = cut(trained.snapshot, slice(f, None, FOLDS)), (fold == f).nonzero()[:, 0]
        output[:, rows] = predict(trained.method, trained.net, part.flat, part.state, data.x[rows])
    return output


def encoded(ready: Prepared) -> tuple[NDArray[np.float64] | NDArray[np.int64], Task, int, float]:
    """The target as the engine wants it, the engine's task, the number of classes, and the target's deviation.

    >>> import pandas as pd
    >>> from rpo.frames import prepare
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
