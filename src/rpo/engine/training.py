"""One stacked, functional trainer for every method: K models at once, K = 1 being the ordinary case."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rpo._io import Bar, make_folder
from rpo.engine.adam import start_adam
from rpo.engine.checkpoint import Keeper, stopping
from rpo.engine.config import Config, pick_device, threads_for
from rpo.engine.data import Data, assign_folds
from rpo.engine.fingerprint import fingerprint
from rpo.engine.layers import check_norms
from rpo.engine.method import Method, State, get_method
from rpo.engine.monitor import Watch
from rpo.engine.nets import Net
from rpo.engine.source import Source
from rpo.engine.stack import Stack
from rpo.engine.trained import Snapshot, Trained, join
from rpo.exceptions import InputError, OneRowWarning, TrainingError
from rpo.functional.losses import squared_residual
from rpo.functional.rows import check_module

# The largest tensor of a stack, K·N·h numbers. Measured (`python -m benchmarks growth`): a model-step costs the same up
# to 32 MB; beyond, the C library takes new pages for every tensor: 1.4 times as much at 64 MB, 1.8 times at 128 MB.
STACK_BYTES = 16 * 2**20


@dataclass
class Preparation:
    """What a method may use before its main training: the data, its hyper-parameters, and other trainings."""

    data: Data
    seeds: Sequence[int]
    numbers: Mapping[str, Tensor]
    options: Mapping[str, Any]
    build: Callable[[], nn.Module]
    config: Config
    first: State | None = None
    """The result of a first stage that was trained before."""
    failures: list[str | None] = field(init=False)

    def __post_init__(self) -> None:
        self.failures = [None] * len(self.seeds)

    @property
    def net(self) -> Net:
        """The network as the user gave it, without a method's further modules."""
        return Net(self.build)

    @property
    def models(self) -> int:
        """K, the number of models in the stack."""
        return len(self.seeds)

    def part(self, models: slice) -> "Preparation":
        """Return the preparation of a slice of the stack's models."""
        return replace(
            self,
            data=self.data.models(models),
            seeds=self.seeds[models],
            numbers={name: value[models] for name, value in self.numbers.items()},
            first=None if self.first is None else {name: value[models] for name, value in self.first.items()},
        )

    def number(self, name: str) -> Tensor:
        """Return a hyper-parameter of every model, `(K,)`."""
        return self.numbers[name]

    def option(self, name: str) -> Any:
        """Return an option, the same for the whole stack."""
        return self.options[name]

    def tensor(self, values: Sequence[Any]) -> Tensor:
        """Stack one array per model into a tensor of the training's type."""
        return torch.as_tensor(np.stack(values), dtype=self.config.dtype, device=self.data.x.device)

    def rows(self, model: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return domain, stratum and weight of one model's rows."""
        data = self.data
        columns = (
            data.domain[model] if data.stacked else data.domain,
            data.stratum[model] if data.stacked else data.stratum,
            data.weight[model] if data.weight.dim() == 2 else data.weight,
        )
        return tuple(column.cpu().numpy() for column in columns)  # type: ignore[return-value]

    def squared_residuals(self, method: str, *, folds: int = 0, **numbers: Tensor | float) -> Tensor:
        """Train another method first, and compute its squared residuals, `(K, G, n)`.

        With `folds` ≥ 2 they are out-of-fold. A number given as `(K, G)` is tried at G values (else G is one). All
        values and folds of all models are one stack. Numbers and options not given are this method's own if the other
        method has them, too.
        """
        stage = get_method(method)
        shared = {name: value for name, value in self.numbers.items() if name in stage.space}
        own = {name: torch.as_tensor(value, dtype=self.config.dtype) for name, value in numbers.items()}
        n_values = max((value.shape[1] for value in own.values() if value.dim() == 2), default=1)
        copies, fold = max(folds, 1), self._folds(folds)
        expanded = {name: _spread(value, self.models, n_values) for name, value in (shared | own).items()}
        data = self.data
        if folds >= 2:
            weight = data.weight.expand(self.models, -1)
            weights = torch.stack([weight * (fold != f) for f in range(folds)] * n_values, 1).flatten(0, 1)
            data = data.repeat(n_values * copies).with_weight(weights)
        else:
            data = data.repeat(n_values)
        first = train(
            stage,
            self.build,
            data,
            seeds=[
                _stage_seed(seed, 1 + copy) for seed in self.seeds for _ in range(n_values) for copy in range(copies)
            ],
            numbers={name: value.repeat_interleave(copies) for name, value in expanded.items()},
            options={name: self.options.get(name, values[0]) for name, values in stage.options.items()},
            config=replace(self.config, monitor=None),  # only for the main training
            label="stage 1",
        )
        output = first.output(data.x, stacked=data.stacked)
        output = output.reshape(self.models, n_values, copies, *output.shape[1:])
        # The output of each row from the model that was not trained on it.
        place = fold[:, None, None, :, None].expand(-1, n_values, 1, -1, output.shape[-1])
        output = output.gather(2, place)[:, :, 0]
        self._note(first.failures, n_values * copies)
        # Failed models are noted and not trained further; their outputs are set to one, so that residuals stay finite.
        failed = torch.tensor([failure is not None for failure in self.failures], device=output.device)
        output = torch.where(failed[:, None, None, None], 1, output)
        y = self.data.y.expand(self.models, -1)
        residuals = [[squared_residual(c, y[m], self.data.task) for c in output[m]] for m in range(self.models)]
        return torch.stack([torch.stack(rows) for rows in residuals])

    def _folds(self, folds: int) -> Tensor:
        """Return the fold of each row, `(K, n)`; zero for all if there are none."""
        x, weight = self.data.x, self.data.weight
        if folds < 2:
            return torch.zeros(self.models, self.data.n_rows, dtype=torch.long, device=x.device)
        fold = [
            assign_folds(
                self.data.tensor[m] if self.data.stacked else x, weight[m] if weight.dim() == 2 else weight, folds
            )
            for m in range(self.models if self.data.stacked or weight.dim() == 2 else 1)
        ]
        return torch.stack(fold).expand(self.models, -1)

    def _note(self, failures: list[str | None], copies: int) -> None:
        for model in range(self.models):
            reasons = [f for f in failures[model * copies : (model + 1) * copies] if f is not None]
            if reasons and self.failures[model] is None:
                self.failures[model] = f"stage 1: {reasons[0]}"


def _spread(value: Tensor, models: int, n_values: int) -> Tensor:
    """Expand a number, `()`, `(K,)` or `(K, G)`, to one value per model and tried value, `(K·G,)`."""
    while value.dim() < 2:
        value = value[..., None]
    return value.expand(models, n_values).reshape(-1)


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
    until: int | None = None,
    first: State | None = None,
    label: str = "training",
) -> Trained:
    """Train one model per seed, all at once.

    A model depends on its seed, data and hyper-parameters, not on the stack it is trained in. If the loss of a model is
    not finite, its training stops and the reason is kept; the others continue.

    Parameters
    ----------
    method : str or Method
        The method (`rpo.methods`).
    build : function
        Returns a new network.
    data : Data
        The rows (`make_data`).
    seeds : sequence of int
        One model is trained per seed.
    numbers : dict, optional
        Hyper-parameters: one value for all models, or one per model.
    options : dict, optional
        Options of the method.
    config : Config, optional
        Steps, batches, precision, checkpoints.
    until : int, optional
        Stop before this step.
    first : dict, optional
        The result of a first stage that was trained before.
    label : str
        Text for the progress bar.

    Returns
    -------
    Trained
        The models, their loss curves, and the reasons of failures.

    Examples
    --------
    >>> import torch
    >>> from rpo.engine import Config, make_data, mlp, train
    >>> x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    >>> data = make_data(x, x[:, 0], torch.arange(60) % 3, task="regression")
    >>> trained = train("erm-l2", lambda: mlp(2, 1, (8,)), data, seeds=[0, 1], config=Config(steps=200))
    >>> bool((trained.curve[-1] < 0.1).all())
    True
    """
    method = get_method(method) if isinstance(method, str) else method
    config = config or Config()
    run = _prepare_run(method, build, data, seeds, numbers or {}, options or {}, config, first)
    net = make_net(method, build, data.n_domains, data.n_classes, run.options)
    if method.per_row:
        check_module(net.module, method.name)
    check_norms(net.module, config.batch_size)
    width = stack_width(net, run.data, config)
    trained = []
    watch = _watch(method, net, run)
    end = config.steps if until is None else until
    total = config.steps * len(range(0, len(seeds), width))
    with Bar(total, f"{method.name}: {label}", config.progress) as bar, ExitStack() as closing:
        stop = closing.enter_context(stopping()) if config.checkpoint is not None else None
        for number, lower in enumerate(range(0, len(seeds), width)):
            models = slice(lower, lower + width)
            part, keeper = run.part(models), None
            if stop is not None:
                part, keeper = _keeper(method, net, part, f"{label} {number}", stop)
            stack = Stack(method, net, part.data, part.seeds, part.numbers, part.options, config)
            checkpoint = None if keeper is None else keeper.load(part.data.x.device)
            if checkpoint is not None:
                now, part.failures = checkpoint.snapshot, checkpoint.failures
                bar.advance(now.step)
            else:
                now = begin(method, net, part)
            with threads_for(len(part.seeds) * largest_tensor(net, part.data, config)):
                result = stack.run(now, end, part.failures, bar, keeper, watch)
            trained.append(result if keeper is None else keeper.finish(result))
    joined = join(trained)
    if watch is not None:
        watch.end(joined)
    return joined


def _watch(method: Method, net: Net, run: Preparation) -> Watch | None:
    """Return the monitor at work, its validation rows on the device, or None if there is no monitor."""
    monitor = run.config.monitor
    if monitor is None:
        return None
    if monitor.validation is not None:
        monitor = replace(monitor, validation=monitor.validation.to(run.data.x.device, run.config.dtype))
    return Watch(monitor, method, net)


def _keeper(
    method: Method, net: Net, part: Preparation, name: str, stop: Callable[[], bool]
) -> tuple[Preparation, Keeper]:
    """Return the keeper of one stack's checkpoints, and the preparation with a checkpoint folder of its own."""
    assert part.config.checkpoint is not None
    folder = Path(part.config.checkpoint)
    own = folder / name.replace(" ", "-")
    make_folder(folder)
    keeper = Keeper(folder / f"{own.name}.safetensors", fingerprint(method, net, part), part.config.every, stop)
    return replace(part, config=replace(part.config, checkpoint=own)), keeper


def first_stage(
    method: Method,
    build: Callable[[], nn.Module],
    data: Data,
    *,
    seeds: Sequence[int],
    numbers: Mapping[str, Any],
    options: Mapping[str, Any],
    config: Config,
) -> State:
    """Run the first stage of a two-stage method: squared `residual`, `(K, n)`, and more."""
    if method.first_stage is None:
        raise InputError(f"method {method.name!r} has only one stage, so it does not use strata")
    run = _prepare_run(method, build, data, seeds, numbers, options, config, None)
    first = method.first_stage(run)
    for failure in run.failures:
        if failure is not None:
            raise TrainingError(failure)
    return first


def _prepare_run(
    method: Method,
    build: Callable[[], nn.Module],
    data: Data,
    seeds: Sequence[int],
    numbers: Mapping[str, Any],
    options: Mapping[str, Any],
    config: Config,
    first: State | None,
) -> Preparation:
    """Check a training's arguments, complete them by defaults, and move the data to the device."""
    method.check_task(data.task)
    if isinstance(data.x, Source):
        _check_fetched(method, config)
    device = pick_device(config.device)
    if device.type == "mps" and config.dtype == torch.float64:
        raise InputError("device 'mps' does not support double precision: use dtype='float32'")
    if method.own_gradient and config.accumulate > 1:
        raise InputError(f"method {method.name!r} computes its own update from one batch: use accumulate=1")
    data = data.to(device, config.dtype)
    known, all_options = method.fill(options)
    for name in numbers:
        if name not in known:
            raise InputError(f"method {method.name!r} has no hyper-parameter {name!r}; it has {', '.join(known)}")
    hp = {
        name: torch.as_tensor(value, dtype=config.dtype, device=data.x.device).expand(len(seeds)).contiguous()
        for name, value in (known | dict(numbers)).items()
    }
    if all_options.get("irm_estimator") == "split":
        _warn_of_single_rows(data, config.batch_size)
    return Preparation(data, seeds, hp, all_options, build, config, first)


def _check_fetched(method: Method, config: Config) -> None:
    """Refuse methods and settings that need all inputs in memory."""
    if method.at_once:
        raise InputError(f"method {method.name!r} needs all rows in memory: use an array, or another method")
    if config.batch_size is None:
        raise InputError("batch_size must be set for a dataset: the number of rows per domain in a batch")


def _warn_of_single_rows(data: Data, batch_size: int | None) -> None:
    """Warn of domains with one row in a step; always from this line, so that Python shows it once."""
    models = len(data.weight) if data.weight.dim() == 2 else 1
    rows = data.with_weight((data.weight > 0).to(data.weight.dtype)).size(models)
    if batch_size == 1 or (batch_size is None and bool((rows == 1).any())):
        warnings.warn(
            "a domain has only one row in a step, so its IRM penalty is zero: irm_estimator='split' needs two; "
            "use irm_estimator='square'" + (" or a larger batch_size" if batch_size else ""),
            OneRowWarning,
            stacklevel=1,
        )


def make_net(
    method: Method, build: Callable[[], nn.Module], n_domains: int, n_classes: int, options: Mapping[str, Any]
) -> Net:
    """Return the network with the method's further modules."""
    if method.parts is None:
        return Net(build)
    return Net(build, partial(method.parts, n_domains=n_domains, n_classes=n_classes, options=options))


def begin(method: Method, net: Net, run: Preparation) -> Snapshot:
    """Return the snapshot before the first step: random parameters, and the state that the method prepares."""
    state = {} if method.prepare is None else method.prepare(run)
    flat = torch.stack([net.init([seed, 0]) for seed in run.seeds]).to(run.data.x.device, run.config.dtype)
    net.place(flat)
    net.check_forward(net.unflatten(flat[0]), (run.data.tensor[0] if run.data.stacked else run.data.x)[:2])
    return Snapshot(flat, start_adam(flat), state, 0)


def stack_width(net: Net, data: Data, config: Config) -> int:
    """Return how many models to train at once, so that no tensor of the stack exceeds `STACK_BYTES`.

    Pictures train alone: a convolution of many models is slower than many convolutions.
    """
    if len(data.row_shape) > 1 or net.draws or net.mixes:  # also if layers draw, or mix the rows of a batch
        return 1
    return max(1, STACK_BYTES // (largest_tensor(net, data, config) * config.dtype.itemsize))


def largest_tensor(net: Net, data: Data, config: Config) -> int:
    """Return the size of the largest tensor of a step of one model: rows times the widest layer."""
    rows = data.n_rows if config.batch_size is None else config.batch_size * data.n_domains
    return rows * max(net.width, data.x.shape[-1])
