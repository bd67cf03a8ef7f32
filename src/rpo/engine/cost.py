"""The cost of a method's step relative to plain training, measured on this machine."""

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import torch

from rpo.engine.config import Config, threads_for
from rpo.engine.data import Data, make_data
from rpo.engine.method import Method, get_method
from rpo.engine.nets import mlp
from rpo.engine.stack import Stack
from rpo.engine.training import Preparation, begin, make_net

PLAIN = "erm-l2"
ROWS, INPUTS, HIDDEN, DOMAINS = 2048, 100, (64, 64), 3
WARM, ROUNDS = 3, 15


def step_cost(method: Method, rounds: int = ROUNDS) -> float:
    """Measure the CPU time of a method's step, relative to a step of ERM.

    It is the median ratio over rounds in which both take turns, on one thread, for one model: an MLP 100-64-64-1 on
    2,048 rows of three domains. A first stage is not counted.

    >>> step_cost(get_method("erm-l2"), rounds=3) > 0
    True
    """
    task = next(task for task in ("binary", "regression") if task in method.tasks)
    x = torch.randn(ROWS, INPUTS, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] > 0).float() if task == "binary" else x[:, 0]
    data = make_data(x, y, torch.arange(ROWS) % DOMAINS, task=task)
    with threads_for(1):
        ratios = []
        ours, plain = make_stepper(method, data, HIDDEN), make_stepper(get_method(PLAIN), data, HIDDEN)
        for _ in range(WARM):
            ours(), plain()
        for _ in range(rounds):
            ratios.append(_seconds(ours) / max(_seconds(plain), 1e-9))
    return median(ratios)


def _seconds(step: Callable[[], None]) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def make_stepper(
    method: Method,
    data: Data,
    hidden: tuple[int, ...],
    models: int = 1,
    *,
    batch_size: int | None = None,
    compiled: bool = False,
) -> Callable[[], None]:
    """Return a function that makes one training step of a stack of models."""
    config = Config(steps=10**6, batch_size=batch_size, compile=compiled, progress=False)
    # The first stage of a two-stage method is another training: only steps of the second are measured.
    short = Config(steps=1, batch_size=batch_size, progress=False)
    numbers, options = method.fill({})
    hp = {name: torch.full((models,), value) for name, value in numbers.items()}
    build = partial(mlp, data.row_shape[0], 1, hidden)
    net = make_net(method, build, data.n_domains, data.n_classes, options)
    seeds = list(range(models))
    snapshot = begin(method, net, Preparation(data, seeds, hp, options, build, short))
    stack = Stack(method, net, data, seeds, hp, options, config)
    batches = stack.batches(0)

    def step() -> None:
        snapshot.flat, snapshot.adam, snapshot.state, _ = stack.step(
            snapshot.flat, snapshot.adam, snapshot.state, next(batches)
        )

    return step
