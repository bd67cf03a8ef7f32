"""One stack of models in training: batches, gradients by `vmap`, Adam."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap
from torch.utils._pytree import tree_map

from rpo._io import Bar
from rpo.engine.adam import AdamState, cosine, step_adam
from rpo.engine.checkpoint import Keeper
from rpo.engine.config import Config, keep_freed_pages
from rpo.engine.data import COLUMNS, Batch, Data, draw_batches
from rpo.engine.drawing import Seeded
from rpo.engine.layers import BUFFER, MEASURED, measure_statistics, twice_differentiable
from rpo.engine.method import Method, State, Values
from rpo.engine.monitor import Watch
from rpo.engine.nets import Net, Params
from rpo.engine.trained import Snapshot, Trained

LAYERS = "layers"  # name of the layers' seed among a batch's random numbers


class Stack:
    """A stack of models in training."""

    def __init__(
        self,
        method: Method,
        net: Net,
        data: Data,
        seeds: Sequence[int],
        numbers: Mapping[str, Tensor],
        options: Mapping[str, Any],
        config: Config,
    ) -> None:
        keep_freed_pages()
        self.method, self.net, self.data, self.seeds = method, net, data, seeds
        self.numbers, self.options, self.config = dict(numbers), dict(options), config
        self.steps = torch.tensor(float(config.steps), dtype=config.dtype, device=data.x.device)
        self.size = data.size(len(seeds))
        # Second derivatives, which not every kernel has.
        self.hard = method.per_row or method.own_gradient or method.second_order
        self.step = torch.compile(self._step) if config.compile else self._step

    def run(
        self,
        now: Snapshot,
        until: int,
        failures: list[str | None],
        bar: Bar,
        keep: Keeper | None = None,
        watch: Watch | None = None,
    ) -> Trained:
        """Train from a snapshot until step `until`; `keep` and `watch` are called after every step.

        A model whose loss is not finite is noted in `failures` and left alone.
        """
        flat, adam, state, memory, stop = now.flat, now.adam, now.state, now.watch, False
        curve = []
        with closing(self.batches(now.step)) as batches:  # stops the workers of a source
            for step in range(now.step, until):
                parts = [next(batches) for _ in range(self.config.accumulate)]
                with twice_differentiable(self.net.attends and (self.hard or len(flat) > 1)):
                    flat, adam, state, terms = self.step(flat, adam, state, *parts)
                total = torch.stack(list(terms.values())).sum(0)
                curve.append(total)
                if not bool(torch.isfinite(total).all()):
                    _note_failures(failures, terms, step)
                    if all(failures):
                        break
                bar.advance()
                if watch is not None:
                    now = Snapshot(flat, adam, state, step + 1, memory)
                    memory, stop = watch.step(now, terms, self.config.steps, self.settle)
                if keep is not None:
                    keep(Snapshot(flat, adam, state, step + 1, memory), curve, failures)
                if stop:
                    break
        loss = torch.stack(curve) if curve else flat.new_zeros(0, len(flat))
        if watch is not None and until == self.config.steps:
            flat, state = watch.select_models(Snapshot(flat, adam, state, until, memory))
        if until == self.config.steps:
            state = self.settle(flat, state)
        return Trained(self.method, self.net, Snapshot(flat, adam, state, until, memory), failures, loss)

    def settle(self, flat: Tensor, state: State) -> State:
        """Return the state to predict with, which includes the statistics of batch norms for these weights."""
        if not self.net.mixes or any(name.startswith(BUFFER) for name in state):
            return state
        number = min(self.config.steps, MEASURED)
        with closing(self.batches(self.config.steps)) as batches:  # batches that no step is trained on
            inputs = (next(batches).x[0] for _ in range(number))
            statistics = measure_statistics(self.net.module, _first(self.net.own(self.net.unflatten(flat)), 0), inputs)
        return {**state, **{f"{BUFFER}{name}": value[None] for name, value in statistics.items()}}

    def batches(self, first: int) -> Generator[Batch, None, None]:
        """Yield the batches from step `first` on, `accumulate` per step; without a batch size all rows each time."""
        data, size = self.data, self.config.batch_size
        everything = {name: getattr(data, name) for name in COLUMNS}
        everything["row"] = torch.arange(data.n_rows, device=data.x.device)
        parts = self.config.accumulate
        drawn = None if size is None else draw_batches(data, self.seeds, size, first * parts)
        for number in count(first * parts):
            columns = everything if drawn is None else next(drawn)
            step = torch.tensor(float(number // parts), dtype=self.config.dtype, device=data.x.device)
            rows = columns["row"].shape[-1]
            yield Batch(**columns, size=self.size, step=step, steps=self.steps, draw=self._draw(number, rows))

    def _draw(self, step: int, rows: int) -> dict[str, Tensor]:
        """Draw the random numbers of a batch for the method and the layers, from the seeds and its number alone."""
        draws = {}
        if self.net.draws:
            states = [np.random.SeedSequence([seed, 5, step]).generate_state(1, np.uint64) for seed in self.seeds]
            draws[LAYERS] = torch.from_numpy((np.concatenate(states) >> np.uint64(1)).astype(np.int64))
        return draws if self.method.draw is None else draws | self._own_draw(self.method.draw, step, rows)

    def _own_draw(self, draw: Callable[..., dict[str, Any]], step: int, rows: int) -> dict[str, Tensor]:
        drawn = [
            draw(
                np.random.default_rng([seed, 2, step]),
                rows,
                self.data.n_domains,
                {name: float(value[k]) for name, value in self.numbers.items()},
            )
            for k, seed in enumerate(self.seeds)
        ]
        stacked = {name: torch.as_tensor(np.stack([d[name] for d in drawn])) for name in drawn[0]}
        return {
            name: value.to(self.data.x.device, self.config.dtype if value.is_floating_point() else value.dtype)
            for name, value in stacked.items()
        }

    def _dims(self, batch: Batch) -> Batch:
        """Return the axis of each field of the batch that runs over models, or None if it is shared."""
        data, drawn = self.data, self.config.batch_size is not None
        own = 0 if drawn or data.stacked else None
        weight = 0 if drawn or data.weight.dim() == 2 else None
        fields: dict[str, Any] = dict.fromkeys(("x", "y", "domain", "stratum"), own)
        fields |= {"weight": weight, "row": 0 if drawn else None, "size": 0, "step": None, "steps": None}
        return Batch(**fields, draw=dict.fromkeys(batch.draw, 0))  # type: ignore[arg-type]

    def _step(
        self, flat: Tensor, adam: AdamState, state: State, batch: Batch, *others: Batch
    ) -> tuple[Tensor, AdamState, State, dict[str, Tensor]]:
        """Make one step of all models: gradients, then Adam."""
        gradient = self._gradient(flat, state, batch)
        for other in others:
            gradient = gradient.plus(self._gradient(flat, gradient.state, other))
        if others:
            gradient = gradient.over(1 + len(others))
        pace = cosine(batch.step, self.steps) if self.config.schedule == "cosine" else torch.ones_like(self.steps)
        if self.options.get("rescale") == "reset":
            adam = _restart(adam, batch.step, self.numbers["anneal"] * self.steps)
        rate = self.numbers["lr"][:, None] * pace
        decay = {name: self.numbers[name][:, None] for name in ("beta1", "beta2") if name in self.numbers}
        new_flat, new_adam = step_adam(flat, gradient.vector, adam, rate, **decay)
        if gradient.moves is not None:
            new_flat = torch.where(gradient.moves, new_flat, flat)
            new_adam = AdamState(
                *(torch.where(gradient.moves, new, old) for new, old in zip(new_adam, adam, strict=True))
            )
        return new_flat, new_adam, gradient.state, gradient.terms

    def _gradient(self, flat: Tensor, state: State, batch: Batch) -> "_Gradient":
        """Compute the gradients of all models as one matrix."""
        if self.method.own_gradient:
            own = self._vectorize(self._objective, batch)(self.net.unflatten(flat), state, batch, self.numbers)
            moves = self.net.flatten(own.moves) if own.moves else None
            return _Gradient(self.net.flatten(own.by_parameter), own.terms, own.state, moves)

        if self.config.compile:  # the compiler cannot follow `autograd.grad`
            vector, (terms, new) = grad(self._total, has_aux=True)(flat, state, batch)
        else:
            leaf = flat.detach().requires_grad_()
            total, (terms, new) = self._total(leaf, state, batch)
            (vector,) = torch.autograd.grad(total, leaf)
            terms, new = _detach(terms), _detach(new)
        return _Gradient(vector, terms, new, None)

    def _total(self, flat: Tensor, state: State, batch: Batch) -> tuple[Tensor, tuple[dict[str, Tensor], State]]:
        """Sum the losses of all models. They are independent: the sum's gradient is the gradient of each."""
        terms, new = self._vectorize(self._terms, batch)(self.net.unflatten(flat), state, batch, self.numbers)
        return torch.stack(list(terms.values())).sum(), (terms, new)

    def _vectorize(self, function: Callable[..., Any], batch: Batch) -> Callable[..., Any]:
        """Vectorise a function of one model over the stack; one model needs no `vmap`, which would double its time."""
        dims = (0, 0, self._dims(batch), 0)
        if len(self.seeds) > 1:
            return vmap(function, in_dims=dims)

        def single(*stacked: Any) -> Any:
            arguments = [_first(argument, dim) for argument, dim in zip(stacked, dims, strict=True)]
            return tree_map(lambda value: value[None], function(*arguments))

        return single

    def _objective(self, params: Params, state: State, batch: Batch, numbers: dict[str, Tensor]) -> Any:
        """Evaluate the method's objective for one model and one batch."""
        hp = Values({**self.options, **numbers, "task": self.data.task, "n_classes": self.data.n_classes})
        if not (self.config.autocast or self.net.draws):  # the usual case, which the compiler can follow
            return self.method.objective(self.net, params, state, batch, hp)
        with ExitStack() as contexts:
            if self.config.autocast:
                contexts.enter_context(torch.autocast(batch.x.device.type, torch.bfloat16))
            if self.net.draws:
                contexts.enter_context(Seeded(int(batch.draw[LAYERS])))
            return self.method.objective(self.net, params, state, batch, hp)

    def _terms(
        self, params: Params, state: State, batch: Batch, numbers: dict[str, Tensor]
    ) -> tuple[dict[str, Tensor], State]:
        result = self._objective(params, state, batch, numbers)
        return result if isinstance(result, tuple) else (result, state)


class _Gradient(NamedTuple):
    """Gradients `(K, P)`, the loss's terms, the new state, and which parameters move if not all, `(K, P)`."""

    vector: Tensor
    terms: dict[str, Tensor]
    state: State
    moves: Tensor | None

    def plus(self, other: "_Gradient") -> "_Gradient":
        """Add the gradient of a later batch; its state is kept."""
        terms = {name: value + other.terms[name] for name, value in self.terms.items()}
        return _Gradient(self.vector + other.vector, terms, other.state, None)

    def over(self, number: int) -> "_Gradient":
        """Divide gradients and terms by a number of batches."""
        terms = {name: value / number for name, value in self.terms.items()}
        return _Gradient(self.vector / number, terms, self.state, None)


def _detach(values: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in values.items()}


def _first(argument: Any, dim: Any) -> Any:
    """Return the slice of the only model."""
    if isinstance(argument, Batch):
        return Batch(*(_first(value, own) for value, own in zip(argument, dim, strict=True)))
    if isinstance(argument, dict):
        return {name: value[0] for name, value in argument.items()}
    return argument if dim is None else argument[0]


def _restart(adam: AdamState, step: Tensor, when: Tensor) -> AdamState:
    """Set Adam's moments and counts to zero for models whose penalty comes into force at this step."""
    unchanged = (step != when.ceil())[:, None]
    return AdamState(*(torch.where(unchanged, moment, 0) for moment in adam))


def _note_failures(failures: list[str | None], terms: dict[str, Tensor], step: int) -> None:
    """Record, for each model that just failed, the step and the first term that is not finite."""
    for model, known in enumerate(failures):
        if known is None:
            bad = [name for name, term in terms.items() if not bool(torch.isfinite(term[model]))]
            if bad:
                failures[model] = (
                    f"the {bad[0]} term of the loss is not finite at step {step}: "
                    "lower the learning rate or the penalty, or standardise the data"
                )
