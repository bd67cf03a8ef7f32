"""One stacked, functional trainer for every method: K models at once, K = 1 being the ordinary case."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rpo.engine.adam import adam_start
from rpo.engine.config import Config, pick_device
from rpo.engine.data import Data
from rpo.engine.folds import fold_of_rows
from rpo.engine.nets import Net
from rpo.engine.progress import Bar
from rpo.engine.stack import Stack
from rpo.engine.trained import Snapshot, Trained, cut, join
from rpo.exceptions import InputError
from rpo.functional.losses import squared_residual
from rpo.methods.registry import Method, get_method

# Above this, eager tensors of a stack leave the allocator's cache and every step pays for fresh pages.
STACK_BYTES = 32 * 2**20


@dataclass
class Preparation:
    """What a method may use before its training proper: the data, its hyper-parameters, and other trainings."""

    data: Data
    seeds: Sequence[int]
    numbers: Mapping[str, Tensor]
    options: Mapping[str, Any]
    build: Callable[[], nn.Module]
    config: Config
    failures: list[str | None] = field(init=False)

    def __post_init__(self) -> None:
        self.failures = [None] * len(self.seeds)

    @property
    def models(self) -> int:
        """K, the number of models in the stack."""
        return len(self.seeds)

    def number(self, name: str) -> Tensor:
        """A hyper-parameter of every model, `(K,)`."""
        return self.numbers[name]

    def option(self, name: str) -> Any:
        """An option, the same for the whole stack."""
        return self.options[name]

    def tensor(self, values: Sequence[Any]) -> Tensor:
        """One array a model, as a tensor of the training's type."""
        return torch.as_tensor(np.stack(values), dtype=self.config.dtype, device=self.data.x.device)

    def rows(self, model: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Domain, stratum and weight of one model's rows."""
        data = self.data
        columns = (
            data.domain[model] if data.stacked else data.domain,
            data.stratum[model] if data.stacked else data.stratum,
            data.weight[model] if data.weight.dim() == 2 else data.weight,
        )
        return tuple(column.cpu().numpy() for column in columns)  # type: ignore[return-value]

    def squared_residuals(self, method: str, *, folds: int = 0, **numbers: Tensor | float) -> Tensor:
        """(y − f(x))² of each row under a first training, `(K, n)`; with `folds` ≥ 2, f never saw the row.

        The folds of all models are one stack. Numbers and options not given are this method's own where the other
        method has them too.
        """
        stage = get_method(method)
        fold = None if folds < 2 else self._folds(folds)
        copies = 1 if fold is None else folds
        shared = {name: value for name, value in self.numbers.items() if name in stage.space}
        own = {
            name: torch.as_tensor(value, dtype=self.config.dtype).expand(self.models) for name, value in numbers.items()
        }
        data = self.data
        if fold is not None:
            weight = data.weight.expand(self.models, -1)
            kept = torch.stack([weight * (fold != f) for f in range(folds)], 1).flatten(0, 1)
            data = data.repeat(folds).with_weight(kept)
        first = train(
            stage,
            self.build,
            data,
            seeds=[_stage_seed(seed, 1 + copy) for seed in self.seeds for copy in range(copies)],
            numbers={n: v.repeat_interleave(copies) for n, v in (_defaults(stage, self.models) | shared | own).items()},
            options={name: self.options.get(name, values[0]) for name, values in stage.options.items()},
            config=self.config,
            label="stage 1",
        )
        output = first.output(data.x, stacked=data.stacked)
        output = output.reshape(self.models, copies, *output.shape[1:])
        chosen = output[:, 0] if fold is None else _take_fold(output, fold)
        self._note(first.failures, copies)
        y = self.data.y if self.data.stacked else self.data.y.expand(self.models, -1)
        return torch.stack([squared_residual(chosen[m], y[m], self.data.task) for m in range(self.models)])

    def _folds(self, folds: int) -> Tensor:
        x, weight = self.data.x, self.data.weight
        fold = [
            fold_of_rows(x[m] if self.data.stacked else x, weight[m] if weight.dim() == 2 else weight, folds)
            for m in range(self.models if self.data.stacked or weight.dim() == 2 else 1)
        ]
        return torch.stack(fold).expand(self.models, -1)

    def _note(self, failures: list[str | None], copies: int) -> None:
        for model in range(self.models):
            found = [f for f in failures[model * copies : (model + 1) * copies] if f is not None]
            if found and self.failures[model] is None:
                self.failures[model] = f"stage 1: {found[0]}"


def _take_fold(output: Tensor, fold: Tensor) -> Tensor:
    """Each row's output from the model that did not see it: `(K, F, n, c)` and `(K, n)` to `(K, n, c)`."""
    place = fold[:, None, :, None].expand(-1, 1, -1, output.shape[-1])
    return output.gather(1, place)[:, 0]


def _defaults(method: Method, models: int) -> dict[str, Tensor]:
    return {name: torch.full((models,), value) for name, value in method.fill({})[0].items()}


def _stage_seed(seed: int, stage: int) -> int:
    return int(np.random.SeedSequence([seed, stage]).generate_state(1)[0])


def train(
    method: Method | str,
    build: Callable[[], nn.Module],
    data: Data,
    *,
    seeds: Sequence[int],
    numbers: Mapping[str, Tensor | float | Sequence[float]] | None = None,
    options: Mapping[str, Any] | None = None,
    config: Config | None = None,
    start: Snapshot | None = None,
    until: int | None = None,
    label: str = "training",
) -> Trained:
    """Train one model a seed, all at once; `numbers` are hyper-parameters, one value or one a model.

    Seed, data and hyper-parameters decide a model, not the stack it is in. `start` goes on from a snapshot, `until`
    stops before the last step. A model whose loss is not finite is left alone and its reason kept; the others go on.

    >>> from rpo.engine import make_data, mlp
    >>> x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    >>> data = make_data(x, x[:, 0], torch.arange(60) % 3, task="regression")
    >>> trained = train("erm-l2", lambda: mlp(2, 1, (8,)), data, seeds=[0, 1], config=Config(steps=200))
    >>> bool((trained.curve[-1] < 0.1).all())
    True
    """
    method = get_method(method) if isinstance(method, str) else method
    config = config or Config()
    method.check_task(data.task)
    data = data.to(pick_device(config.device), config.dtype)
    filled_numbers, filled_options = method.fill(options or {})
    given = {name: (numbers or {}).get(name, value) for name, value in filled_numbers.items()}
    unknown = set(numbers or {}) - set(given)
    if unknown:
        raise InputError(f"method {method.name!r} has no hyper-parameter {unknown.pop()!r}: it has {', '.join(given)}")
    hp = {
        name: torch.as_tensor(value, dtype=config.dtype, device=data.x.device).expand(len(seeds)).contiguous()
        for name, value in given.items()
    }
    net = Net(build, None if method.parts is None else lambda net: method.parts(net, data))  # type: ignore[misc]
    width = stack_width(net, data, config)
    parts = []
    with Bar(config.steps * len(range(0, len(seeds), width)), f"{method.name}: {label}", config.progress) as bar:
        for first in range(0, len(seeds), width):
            chosen = slice(first, first + width)
            some = {name: value[chosen] for name, value in hp.items()}
            run = Preparation(data.models(chosen), seeds[chosen], some, filled_options, build, config)
            stack = Stack(method, net, run.data, run.seeds, some, filled_options, config)
            now = _begin(method, net, run) if start is None else cut(start, chosen)
            parts.append(stack.run(now, config.steps if until is None else until, run.failures, bar))
    return join(parts)


def _begin(method: Method, net: Net, run: Preparation) -> Snapshot:
    """Random parameters, nothing learned, and whatever the method prepares."""
    state = {} if method.prepare is None else method.prepare(run)
    flat = torch.stack([net.init([seed, 0]) for seed in run.seeds]).to(run.data.x.device, run.config.dtype)
    return Snapshot(flat, adam_start(flat), state, 0)


def stack_width(net: Net, data: Data, config: Config) -> int:
    """How many models to train at once, so that no tensor of the stack passes `STACK_BYTES`."""
    rows = data.n_rows if config.batch_size is None else config.batch_size * data.n_domains
    widest = max(max(shape[0] for shape in net.shapes.values()), data.x.shape[-1], 1)
    return max(1, STACK_BYTES // (rows * widest * config.dtype.itemsize))
