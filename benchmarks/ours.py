"""Steps of our engine, to be measured."""

import sys
import time
from collections.abc import Callable

import torch

from rpo.engine import cost, make_data
from rpo.engine.data import Data
from rpo.methods import get_method


def table(n_inputs: int, rows: int, domains: int) -> Data:
    """Rows of a binary task, spread evenly over the domains."""
    x = torch.randn(rows, n_inputs, generator=torch.Generator().manual_seed(0))
    return make_data(x, (x[:, 0] > 0).float(), torch.arange(rows) % domains, task="binary")


def make_stepper(
    method: str,
    data: Data,
    hidden: tuple[int, ...],
    models: int = 1,
    *,
    batch_size: int | None = None,
    compiled: bool = False,
) -> Callable[[], None]:
    """A function that makes one step of a stack of models."""
    return cost.make_stepper(get_method(method), data, hidden, models, batch_size=batch_size, compiled=compiled)


def main() -> None:
    """`python -m benchmarks.ours STEPS MODELS`: train a compiled stack, print CPU seconds to compile, and of steps."""
    torch.set_num_threads(1)
    steps, models = int(sys.argv[1]), int(sys.argv[2])
    start = time.process_time()
    step = make_stepper("irm-lip", table(10, 3 * 64 * 20, 3), (64, 64), models, batch_size=64, compiled=True)
    for _ in range(3):
        step()
    ready = time.process_time()
    for _ in range(steps):
        step()
    print(ready - start, time.process_time() - ready)


if __name__ == "__main__":
    main()
