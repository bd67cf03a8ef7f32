"""Steps of our engine, to be measured."""

import sys
import time
from collections.abc import Callable
from functools import partial

import torch

from rpo.engine import Config, make_data, mlp
from rpo.engine.data import Data
from rpo.engine.stack import Stack
from rpo.engine.training import Preparation, begin, net_of
from rpo.methods import get_method


def table(n_inputs: int, rows: int, domains: int) -> Data:
    """Rows of a binary task, spread evenly over the domains."""
    x = torch.randn(rows, n_inputs, generator=torch.Generator().manual_seed(0))
    return make_data(x, (x[:, 0] > 0).float(), torch.arange(rows) % domains, task="binary")


def stepper(
    method: str,
    data: Data,
    hidden: tuple[int, ...],
    models: int = 1,
    *,
    batch_size: int | None = None,
    compiled: bool = False,
) -> Callable[[], None]:
    """A function that makes one step of a stack of models."""
    chosen = get_method(method)
    config = Config(steps=10**6, batch_size=batch_size, compile=compiled, progress=False)
    # The first stage of methods in two is another training: here only steps of the second are measured.
    short = Config(steps=1, batch_size=batch_size, progress=False)
    numbers, options = chosen.fill({})
    hp = {name: torch.full((models,), value) for name, value in numbers.items()}
    build = partial(mlp, data.row_shape[0], 1, hidden)
    net = net_of(chosen, build, data.n_domains, data.n_classes, options)
    seeds = list(range(models))
    held = begin(chosen, net, Preparation(data, seeds, hp, options, build, short))
    stack = Stack(chosen, net, data, seeds, hp, options, config)
    batches = stack.batches(0)

    def step() -> None:
        held.flat, held.adam, held.state, _ = stack.step(held.flat, held.adam, held.state, next(batches))

    return step


def main() -> None:
    """`python -m benchmarks.ours STEPS MODELS`: train a compiled stack, print CPU seconds to compile, and of steps."""
    torch.set_num_threads(1)
    steps, models = int(sys.argv[1]), int(sys.argv[2])
    start = time.process_time()
    step = stepper("irm-lip", table(10, 3 * 64 * 20, 3), (64, 64), models, batch_size=64, compiled=True)
    for _ in range(3):
        step()
    ready = time.process_time()
    for _ in range(steps):
        step()
    print(ready - start, time.process_time() - ready)


if __name__ == "__main__":
    main()
