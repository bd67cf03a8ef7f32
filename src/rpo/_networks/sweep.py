"""Training of many hyper-parameters and seeds in one stack, with a table of scores."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from torch import Tensor

from rpo._networks.base import DomainEstimator
from rpo._networks.domain_estimators import NESTED
from rpo._networks.fetched import Inputs, as_source
from rpo._networks.ready import Ready, split_validation
from rpo._public import public
from rpo.engine.data import Data, assign_folds
from rpo.exceptions import InputError
from rpo.functional.domains import domain_mean
from rpo.functional.losses import sample_loss

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]
Validation = tuple[Inputs, ArrayLike] | tuple[Inputs, ArrayLike, ArrayLike]
PARTS = 5  # one of so many parts of the rows is held out


@public
def sweep(
    model: DomainEstimator,
    X: Inputs,
    y: ArrayLike | None = None,
    *,
    grid: Grid,
    seeds: int | Sequence[int] = 3,
    domains: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    validation: Validation | None = None,
) -> pd.DataFrame:
    """Train every combination of a grid with every seed in one stack, and score each model on held-out rows.

    Parameters
    ----------
    model : RPORegressor, RPOClassifier, DomainRegressor or DomainClassifier
        The estimator to train.
    X, y : array or Dataset, array
        Inputs and target; `y` may be part of the dataset.
    grid : dict or list of dict
        Values for each hyper-parameter of the method (see `rpo methods NAME`), or a list of combinations.
    seeds : int or sequence of int
        The number of seeds, or a list of them.
    domains, strata, sample_weight : array, optional
        One value per row, as in `fit`.
    validation : tuple (X, y) or (X, y, domains), optional
        Rows to score on, from the same or other domains. By default a fifth of the rows, chosen by their content, is
        held out.

    Returns
    -------
    DataFrame
        One row per combination and seed: the hyper-parameters, `seed`, `risk` (mean squared error or log loss, the mean
        over domains), `worst` (that of the worst domain), `accuracy` for classification, and `failure`, the reason if
        a training failed. With these values and `random_state=seed`, `fit` gives the same model on the same rows.

    Examples
    --------
    >>> import numpy as np, rpo
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 2))
    >>> model = rpo.DomainRegressor("coral", steps=30)
    >>> table = rpo.sweep(model, X, X[:, 0], domains=np.arange(90) % 3, grid={"gamma": [0.1, 1.0]}, seeds=2)
    >>> table.columns.tolist(), len(table)
    (['gamma', 'seed', 'risk', 'worst', 'failure'], 4)
    """
    combinations = _combinations(grid)
    numbers = list(range(seeds)) if isinstance(seeds, int) else [int(seed) for seed in seeds]
    if not numbers:
        raise InputError("seeds is empty: pass a number or a list of seeds")
    model, weight, kept = clone(model), sample_weight, None
    if validation is None:
        kept = hold_out(X, sample_weight)
        weight = np.where(kept, 0.0, 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=float))
    ready = model.ready(X, y, weight, domains=domains, strata=strata)
    rows = _same_rows(ready.data, kept) if kept is not None else _other_rows(model, ready.data, validation)
    tables = [
        _score_stack(ready, model, [combinations[place] for place in places], numbers, rows).assign(
            place=places * len(numbers)
        )
        for places in _by_options(ready, model, combinations)
    ]
    table = pd.concat(tables).sort_values(["place", "seed"], kind="stable", ignore_index=True).drop(columns="place")
    names = list(dict.fromkeys(name for values in combinations for name in values))
    return table[[*names, *(name for name in table.columns if name not in names)]]


def _combinations(grid: Grid) -> list[dict[str, Any]]:
    """List every combination of a grid, by the hyper-parameter's own name."""
    parts = [grid] if isinstance(grid, Mapping) else list(grid)
    listed = [
        {name: value if isinstance(value, list | tuple | np.ndarray) else [value] for name, value in part.items()}
        for part in parts
    ]
    combinations = [dict(values) for values in ParameterGrid(listed)] if listed else []
    if not combinations:
        raise InputError("grid is empty: pass values for each hyper-parameter, such as {'gamma': [0.1, 1.0]}")
    return [{name.removeprefix(NESTED): value for name, value in values.items()} for values in combinations]


def hold_out(X: Inputs, weight: ArrayLike | None) -> NDArray[np.bool_]:
    """Select a fifth of the rows for validation, by their content."""
    source = as_source(X)
    rows = torch.as_tensor(np.asarray(X, dtype=np.float64)) if source is None else source
    ones = torch.ones(len(rows)) if weight is None else torch.as_tensor(np.asarray(weight, dtype=float))
    held: NDArray[np.bool_] = (assign_folds(rows, ones, PARTS) == 0).numpy()
    return held


def _same_rows(data: Data, held: NDArray[np.bool_]) -> Data:
    return data.with_weight(torch.from_numpy(held).to(data.weight))


def _other_rows(model: DomainEstimator, data: Data, validation: Validation | None) -> Data:
    """Convert the user's validation rows for the model."""
    return model.rows_like(data, *split_validation(validation))


def _by_options(ready: Ready, model: DomainEstimator, combinations: list[dict[str, Any]]) -> list[list[int]]:
    """Group combinations that can share a stack: numbers may differ, options may not."""
    groups: dict[str, list[int]] = {}
    for place, values in enumerate(combinations):
        groups.setdefault(repr(sorted(_fill(ready, model, values)[1].items(), key=str)), []).append(place)
    return list(groups.values())


def _fill(ready: Ready, model: DomainEstimator, values: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    return model.with_values(ready.method, values)


def _score_stack(
    ready: Ready, model: DomainEstimator, combinations: list[dict[str, Any]], seeds: list[int], held: Data
) -> pd.DataFrame:
    """Train one stack and return its table of scores, seed after seed."""
    filled = [_fill(ready, model, values) for values in combinations]
    names = filled[0][0]
    trained = ready.train(
        [seed for seed in seeds for _ in combinations],
        {name: [numbers[name] for _ in seeds for numbers, _ in filled] for name in names},
        filled[0][1],
    )
    output = trained.output(held.x).cpu()
    unit = getattr(model, "y_scale_", 1.0) ** 2
    lines = []
    for k, failure in enumerate(trained.failures):
        scores = {"risk": np.nan, "worst": np.nan} if failure else _scores(output[k], held, unit)
        values, seed = combinations[k % len(combinations)], seeds[k // len(combinations)]
        lines.append({**values, "seed": seed, **scores, "failure": failure or ""})
    return pd.DataFrame(lines)


def _scores(output: Tensor, held: Data, unit: float) -> dict[str, float]:
    """Compute risk, risk of the worst domain, and accuracy, all domains weighted equally."""
    y, domain, weight = (column.cpu() for column in (held.y, held.domain, held.weight))
    here = torch.bincount(domain, weight, minlength=held.n_domains) > 0

    def by_domain(values: Tensor) -> Tensor:
        return domain_mean(values, domain, weight.to(values), held.n_domains)[here]

    risk = unit * by_domain(sample_loss(output, y, held.task))
    scores = {"risk": float(risk.mean()), "worst": float(risk.max())}
    if held.task != "regression":
        guess = output.argmax(1) if held.task == "multiclass" else (output[:, 0] > 0).long()
        scores["accuracy"] = float(by_domain((guess == y.long()).to(output)).mean())
    return scores
