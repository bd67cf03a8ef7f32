"""Inputs that do not fit into memory: a map-style dataset, fetched a batch at a time.

A source replaces the tensor of inputs. The rows of a step are drawn as for a tensor (`engine.data.draw_rows`); targets,
domains, strata and weights are always in memory.
"""

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from rpo._io import Bar, Show
from rpo._public import public
from rpo.engine.drawing import Seeded
from rpo.exceptions import InputError, TrainingError

PIECE = 256  # rows fetched at once when all rows are read
SAMPLE = 64  # rows that represent all of them in the fingerprint of a training
# Position of each label in an item, and the attribute of a dataset that holds it for all items.
LABELS = {"y": (1, "targets"), "domains": (2, "domains"), "strata": (3, "strata")}


class Key(NamedTuple):
    """An item to fetch: its row; and, to train on, the seed, step and place that its augmentation draws from."""

    row: int
    drawn: tuple[int, int, int] | None = None


@public
@dataclass(frozen=True, eq=False)
class Source:
    """A `torch.utils.data.Dataset` with a target, a domain and, optionally, a stratum for each item.

    Parameters
    ----------
    dataset : map-style Dataset
        `dataset[i]` is the input or a tuple that begins with it: `(x, y)`, `(x, y, domain)`, `(x, y, domain, stratum)`.
    y, domains, strata : array-like or None
        One label per item. By default the attributes `targets`, `domains` and `strata` of the dataset are used, and
        missing ones are read from the items in one pass.
    augment : callable or None
        Applied to the input of each training item, but not in evaluation. Random numbers it draws from torch depend
        only on the model's seed and the step.
    workers : int
        Number of data-loading processes; 0 loads in this process. The model does not depend on it.
    device, dtype : torch.device, torch.dtype
        Device and precision of the batches; set by the estimator.

    Examples
    --------
    >>> import torch
    >>> from torch.utils.data import TensorDataset
    >>> from rpo import Source
    >>> source = Source(TensorDataset(torch.arange(6.0)[:, None], torch.arange(6.0)), domains=[0, 0, 0, 1, 1, 1])
    >>> source.shape, source[2:4].flatten().tolist(), source.labels("y")[:2].tolist()
    ((6, 1), [2.0, 3.0], [0.0, 1.0])
    """

    dataset: Dataset[Any]
    y: ArrayLike | None = None
    domains: ArrayLike | None = None
    strata: ArrayLike | None = None
    augment: Callable[[Tensor], Tensor] | None = None
    workers: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        if not isinstance(self.dataset, Sized) or not hasattr(self.dataset, "__getitem__"):
            kind = type(self.dataset).__name__
            raise InputError(f"the dataset must be map-style, with __len__ and __getitem__, got a {kind}")
        if not len(self.dataset):
            raise InputError("the dataset is empty: at least two items are needed")
        if isinstance(self.workers, bool) or not isinstance(self.workers, int) or self.workers < 0:
            raise InputError(f"workers must be a non-negative number of processes, got {self.workers!r}")

    def __len__(self) -> int:
        assert isinstance(self.dataset, Sized)
        return len(self.dataset)

    @cached_property
    def example(self) -> Tensor:
        """The first input, as the dataset has it."""
        return _input(self.dataset[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """Items, and the shape of one input."""
        return len(self), *self.example.shape

    def to(self, device: torch.device, dtype: torch.dtype) -> "Source":
        """Return the same source with its batches on a device and of a type."""
        return replace(self, device=device, dtype=dtype)

    def __getitem__(self, rows: slice) -> Tensor:
        """Return the inputs of a slice of items, without augmentation."""
        keys = [Key(row) for row in range(*rows.indices(len(self)))]
        return self._move(_stack(_Items(self.dataset, None).__getitems__(keys)))

    def pieces(self, size: int = PIECE) -> Iterator[Tensor]:
        """Yield all inputs in order, without augmentation, `size` at a time."""
        keys = ([Key(row) for row in range(start, min(start + size, len(self)))] for start in range(0, len(self), size))
        for piece in self._loader(keys, None):
            yield self._move(piece)

    def sample(self) -> Tensor:
        """Return up to 64 evenly spaced inputs, on the CPU; data that agree in them count as the same data."""
        rows = np.unique(np.linspace(0, len(self) - 1, SAMPLE).astype(int))
        return _stack(_Items(self.dataset, None).__getitems__([Key(int(row)) for row in rows]))

    def stream(self, draws: Iterator[Tensor], seeds: Sequence[int], first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the rows of each step from `first` on, `(K, n)`, and their augmented inputs, `(K, n, ...)`."""
        waiting: deque[Tensor] = deque()  # rows that are being fetched

        def keys() -> Iterator[list[Key]]:
            for step, rows in enumerate(draws, first):
                waiting.append(rows)
                yield [
                    Key(max(0, row), (seed, step, place))
                    for seed, own in zip(seeds, rows.tolist(), strict=True)
                    for place, row in enumerate(own)
                ]

        for x in self._loader(keys(), self.augment):
            rows = waiting.popleft()
            yield rows, self._move(x).reshape(*rows.shape, *x.shape[1:])

    def labels(self, name: str, show: Show = "auto") -> NDArray[Any] | None:
        """Return `y`, `domains` or `strata` of every item, or None if there are none."""
        place, attribute = LABELS[name]
        values = getattr(self, name)
        values = getattr(self.dataset, attribute, None) if values is None else values
        if values is None:
            item = self.dataset[0]
            if not isinstance(item, tuple | list) or len(item) <= place:
                return None
            with Bar(len(self), f"reading {name}", show) as bar:
                values = []
                for row in range(len(self)):
                    values.append(_plain(self.dataset[row][place]))
                    bar.advance()
        labels = np.asarray(values)
        if labels.shape != (len(self),):
            raise InputError(f"{name} must have one label for each of the {len(self)} items, got shape {labels.shape}")
        return labels

    def _move(self, x: Tensor) -> Tensor:
        return x.to(self.device, self.dtype, non_blocking=True)

    def _loader(self, keys: Iterator[list[Key]], augment: Callable[[Tensor], Tensor] | None) -> Iterator[Tensor]:
        """Yield the inputs for lists of keys, fetched ahead by workers if there are some."""
        loader = DataLoader(
            _Items(self.dataset, augment),
            batch_sampler=keys,
            num_workers=self.workers,
            collate_fn=_stack,
            worker_init_fn=_ignore_sigterm if self.workers else None,
            pin_memory=self.device.type == "cuda",
            generator=torch.Generator(),  # otherwise the seeds of workers, which are not used, change the global one
        )
        try:
            yield from loader
        except InputError as error:  # from a worker, its message includes the traceback
            raise InputError(str(error).strip().splitlines()[-1].removeprefix("rpo.exceptions.InputError: ")) from None
        except RuntimeError as error:
            if "exited unexpectedly" not in str(error) and "killed by signal" not in str(error):
                raise
            raise TrainingError("a data-loading process was killed, possibly because memory ran out") from None


class _Items(Dataset[Tensor]):
    """The inputs of a dataset by key, several at once if the dataset supports it."""

    def __init__(self, dataset: Dataset[Any], augment: Callable[[Tensor], Tensor] | None) -> None:
        self.dataset, self.augment = dataset, augment

    def __getitem__(self, key: Key) -> Tensor:
        return _augment(_input(self.dataset[key.row]), key, self.augment)

    def __getitems__(self, keys: list[Key]) -> list[Tensor]:
        together = getattr(self.dataset, "__getitems__", None)
        if together is None:
            return [self[key] for key in keys]
        items = together([key.row for key in keys])
        return [_augment(_input(item), key, self.augment) for key, item in zip(keys, items, strict=True)]


def _augment(x: Tensor, key: Key, augment: Callable[[Tensor], Tensor] | None) -> Tensor:
    if augment is None or key.drawn is None:
        return x
    seed, step, place = key.drawn
    state = np.random.SeedSequence([seed, 4, step, place]).generate_state(1, np.uint64)[0]
    with Seeded(int(state >> np.uint64(1))):
        return augment(x)


def _input(item: Any) -> Tensor:
    x = item[0] if isinstance(item, tuple | list) else item
    try:
        return x if isinstance(x, Tensor) else torch.as_tensor(np.asarray(x))
    except (TypeError, ValueError):
        raise InputError(
            f"the first element of an item must be a tensor or a numeric array, got a {type(x).__name__}"
        ) from None


def _stack(items: list[Tensor]) -> Tensor:
    try:
        return torch.stack(items)
    except RuntimeError:
        shapes = sorted({tuple(item.shape) for item in items})
        raise InputError(f"the inputs of the dataset have different shapes ({shapes[0]} and {shapes[1]})") from None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _ignore_sigterm(_: int) -> None:
    """Let a worker ignore SIGTERM: the training process finishes its step and ends the workers itself."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    torch.set_num_threads(1)
