"""Training data as tensors, and the batches drawn from it.

A stack of K models may share one data set (tensors without a leading axis) or have one each (all fields with a leading
axis of K). A row of weight zero does not count; folds, halves and padding are made in this way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rpo._mapped import blocks
from rpo.engine.source import Source
from rpo.functional.losses import Task
from rpo.grouping.folds import folds_by_content

COLUMNS = ("x", "y", "domain", "stratum", "weight")


class Batch(NamedTuple):
    """The rows that one model uses in one step."""

    x: Tensor
    """Inputs `(n, ...)`."""
    y: Tensor
    """Targets `(n,)`: floats, or class numbers for several classes."""
    domain: Tensor
    """Domain of each row, numbered from zero."""
    stratum: Tensor
    """Stratum of each row, numbered from zero."""
    weight: Tensor
    """Weight of each row; zero excludes it."""
    row: Tensor
    """Index of each row in the whole data set, for methods with a state per row."""
    size: Tensor
    """Weight of each domain in the whole data set, `(E,)`."""
    step: Tensor
    """Number of the step, from zero."""
    steps: Tensor
    """Total number of steps."""
    draw: dict[str, Tensor]
    """Random numbers of this step, for methods that draw some."""


@dataclass(frozen=True)
class Data:
    """Rows with target, domain, stratum and weight; `x`, `y`, `domain`, `stratum` shared by the stack or one each."""

    x: Tensor | Source
    y: Tensor
    domain: Tensor
    stratum: Tensor
    weight: Tensor
    task: Task
    n_domains: int
    n_strata: int
    n_classes: int = 0

    @property
    def tensor(self) -> Tensor:
        """The inputs, if they are in memory."""
        assert isinstance(self.x, Tensor), "a method that looks at all inputs says so by `at_once`"
        return self.x

    @property
    def stacked(self) -> bool:
        """Whether each model has rows of its own."""
        return self.domain.dim() == 2

    @property
    def n_rows(self) -> int:
        """Number of rows of one model's data set, including padding."""
        return self.domain.shape[-1]

    @property
    def n_outputs(self) -> int:
        """Number of columns of the model's output: the classes, or one."""
        return self.n_classes if self.task == "multiclass" else 1

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(self.x.shape[2 if self.stacked else 1 :])

    def with_weight(self, weight: Tensor) -> "Data":
        """Return the same rows with other weights, `(n,)` or `(K, n)`."""
        return replace(self, weight=weight)

    def size(self, models: int) -> Tensor:
        """Return the total weight of each domain for each model, `(K, E)`."""
        domain = self.domain.expand(models, -1)
        weight = self.weight.expand(models, -1)
        return weight.new_zeros(models, self.n_domains).scatter_add(1, domain, weight)

    def models(self, part: slice) -> "Data":
        """Return the data of a slice of the stack's models."""
        if not self.stacked and self.weight.dim() == 1:
            return self
        names = COLUMNS if self.stacked else ("weight",)
        return replace(self, **{name: getattr(self, name)[part] for name in names})

    def repeat(self, times: int) -> "Data":
        """Repeat each model's data: models m·times … m·times + times − 1 use the data of model m."""
        if not self.stacked and self.weight.dim() == 1:
            return self
        names = COLUMNS if self.stacked else ("weight",)
        return replace(self, **{name: getattr(self, name).repeat_interleave(times, 0) for name in names})

    def to(self, device: torch.device, dtype: torch.dtype) -> "Data":
        """Move the data to a device, real numbers converted to `dtype`."""
        y = self.y.to(device) if self.task == "multiclass" else self.y.to(device, dtype)
        return replace(
            self,
            x=self.x.to(device, dtype),
            y=y,
            domain=self.domain.to(device),
            stratum=self.stratum.to(device),
            weight=self.weight.to(device, dtype),
        )


def make_data(
    x: Tensor | Source,
    y: Tensor,
    domain: Tensor,
    *,
    task: Task,
    stratum: Tensor | None = None,
    weight: Tensor | None = None,
    n_classes: int = 0,
) -> Data:
    """Make a data set from tensors, or from inputs that are loaded on demand.

    Parameters
    ----------
    x : Tensor or Source
        The inputs.
    y : Tensor
        The target: floats, or numbers of classes.
    domain : Tensor
        The number of each row's domain, from zero.
    task : "regression", "binary" or "multiclass"
        What the target is.
    stratum, weight : Tensor, optional
        Stratum and weight of every row; by default one stratum, and weights of one.
    n_classes : int
        For `"multiclass"`.

    Returns
    -------
    Data
        The data set.

    Examples
    --------
    >>> import torch
    >>> from rpo.engine import make_data
    >>> data = make_data(torch.zeros(3, 2), torch.zeros(3), torch.tensor([0, 0, 1]), task="regression")
    >>> data.n_rows, data.n_domains, data.row_shape, data.size(1)
    (3, 2, (2,), tensor([[2., 1.]]))
    """
    stratum = torch.zeros_like(domain) if stratum is None else stratum
    weight = torch.ones(len(x), dtype=x.dtype) if weight is None else weight
    classes = n_classes or (int(y.max()) + 1 if task == "multiclass" else 2 if task == "binary" else 0)
    return Data(x, y, domain, stratum, weight, task, int(domain.max()) + 1, int(stratum.max()) + 1, classes)


def stack_data(sets: Sequence[Data]) -> Data:
    """Stack one data set per model, padded with rows of weight zero to the longest.

    >>> short = make_data(torch.zeros(2, 1), torch.zeros(2), torch.tensor([0, 1]), task="regression")
    >>> long = make_data(torch.zeros(3, 1), torch.zeros(3), torch.tensor([0, 1, 1]), task="regression")
    >>> stack_data([short, long]).weight
    tensor([[1., 1., 0.],
            [1., 1., 1.]])
    """
    if len(sets) == 1:  # nothing to pad, nothing to copy
        return replace(sets[0], **{name: getattr(sets[0], name)[None] for name in COLUMNS})
    longest = max(data.n_rows for data in sets)

    def column(name: str) -> Tensor:
        values = [getattr(data, name) for data in sets]
        padded = [torch.cat([v, v.new_zeros(longest - len(v), *v.shape[1:])]) for v in values]
        return torch.stack(padded)

    first = sets[0]
    return Data(
        x=column("x"),
        y=column("y"),
        domain=column("domain"),
        stratum=column("stratum"),
        weight=column("weight"),
        task=first.task,
        n_domains=max(data.n_domains for data in sets),
        n_strata=max(data.n_strata for data in sets),
        n_classes=max(data.n_classes for data in sets),
    )


BLOCK = 32  # steps whose rows are drawn at once: one call of the generator instead of 32


def draw_rows(data: Data, seeds: Sequence[int], batch_size: int, first: int = 0) -> Iterator[Tensor]:
    """Yield the rows of each step from step `first` on, `(K, E·batch_size)`: `batch_size` rows per domain, in turn.

    Rows are drawn with replacement; −1 stands for the rows of an empty domain. The draw depends only on the model's
    seed and the number of the step, neither on the stack nor on whether the training was interrupted.
    """
    own = data.stacked or data.weight.dim() == 2
    tables = [_DomainTable(data, model) for model in range(len(seeds) if own else 1)]
    for block in count(first // BLOCK):
        uniform = [
            np.random.default_rng([seed, 1, block]).random((BLOCK, data.n_domains, batch_size)) for seed in seeds
        ]
        rows = np.stack([tables[k % len(tables)].rows(u) for k, u in enumerate(uniform)], 1)
        yield from torch.from_numpy(rows).to(data.domain.device)[max(0, first - block * BLOCK) :]


class _DomainTable:
    """The rows with positive weight of each domain, one domain after another."""

    def __init__(self, data: Data, model: int) -> None:
        domain = (data.domain[model] if data.stacked else data.domain).cpu().numpy()
        weight = (data.weight[model] if data.weight.dim() == 2 else data.weight).cpu().numpy()
        present = np.flatnonzero(weight > 0)
        self.order = np.append(present[np.argsort(domain[present], kind="stable")], -1)
        self.count = np.bincount(domain[present], minlength=data.n_domains)[:, None]
        self.start = np.cumsum(self.count)[:, None] - self.count

    def rows(self, uniform: NDArray[np.float64]) -> NDArray[np.intp]:
        place = self.start + (uniform * self.count).astype(np.intp)
        return self.order[np.where(self.count > 0, place, -1)].reshape(len(uniform), -1)


def draw_batches(data: Data, seeds: Sequence[int], batch_size: int, first: int = 0) -> Iterator[dict[str, Tensor]]:
    """Return an iterator over the columns of each step's batch, from step `first` on.

    Rows are drawn by `draw_rows`; inputs are gathered from memory or fetched from a source.
    """
    draws = draw_rows(data, seeds, batch_size, first)
    if isinstance(data.x, Source):
        return (gather(data, rows, x) for rows, x in data.x.stream(draws, seeds, first))
    return (gather(data, rows) for rows in draws)


def gather(data: Data, rows: Tensor, x: Tensor | None = None) -> dict[str, Tensor]:
    """Gather the columns of a batch for the drawn `rows` of each model, `(K, n, ...)`; row −1 has weight zero.

    `x` holds their inputs if they were already fetched.
    """
    place = rows.clamp_min(0)
    start = data.n_rows * torch.arange(len(rows), device=rows.device)[:, None]

    def take(column: Tensor, own: bool) -> Tensor:
        # `index_select` copies whole rows, twice as fast as indexing if rows have hundreds of numbers.
        whole, at = (column.flatten(0, 1), place + start) if own else (column, place)
        return whole.index_select(0, at.flatten()).reshape(*place.shape, *whole.shape[1:])

    batch = {name: take(getattr(data, name), data.stacked) for name in ("y", "stratum")}
    if isinstance(data.x, Tensor):
        x = take(data.x, data.stacked)
    assert x is not None
    weight = take(data.weight, data.weight.dim() == 2)
    per_domain = rows.shape[1] // data.n_domains
    return batch | {
        "x": x,
        "domain": torch.arange(data.n_domains, device=rows.device).repeat_interleave(per_domain).expand_as(rows),
        "weight": torch.where(rows < 0, 0, weight),
        "row": place,
    }


def assign_folds(x: Tensor | Source, weight: Tensor, folds: int) -> Tensor:
    """Assign each row to a fold, `(n,)`, by `folds_by_content`.

    >>> assign_folds(torch.tensor([[1.0], [2.0], [1.0]]), torch.ones(3), 2).tolist() in ([0, 1, 0], [1, 0, 1])
    True
    """
    # A source is fetched by its workers; a tensor, which may be a file, is faster in large blocks.
    parts = x.pieces() if isinstance(x, Source) else (x[rows] for rows in blocks(len(x)))
    pieces = (part.detach().cpu().float().flatten(1).numpy() for part in parts)
    return torch.from_numpy(folds_by_content(pieces, weight.cpu().numpy(), folds)).to(x.device)
