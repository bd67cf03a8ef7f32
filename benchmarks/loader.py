"""Training from pictures on disk: a step over that of a plain PyTorch loop, and memory with 200,000 pictures.

`python -m benchmarks.loader FILE` trains RPO, both stages, from such a file and prints its peak memory in MB.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

from benchmarks.timing import Row, medians, row
from rpo import RPOClassifier, Source
from rpo.engine import Config, cnn, make_data
from rpo.engine.stack import Stack
from rpo.engine.training import Preparation, begin, make_net
from rpo.methods import get_method

SHAPE, DOMAINS, BATCH = (3, 32, 32), 3, 32
BYTES = 3 * 32 * 32
MANY = 200_000


class Pictures(Dataset[tuple[Tensor, float, int]]):
    """Pictures of bytes, one behind the other in a file; each is read when it is asked for."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_RDONLY)
        number = os.path.getsize(path) // BYTES
        self.targets = np.arange(number) % 2
        self.domains = np.arange(number) % DOMAINS

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Tensor, float, int]:
        """One picture, its label and its domain."""
        read = np.frombuffer(os.pread(self.file, BYTES, index * BYTES), np.uint8)
        x = torch.from_numpy(read.astype(np.float32)).reshape(SHAPE) / 255
        return x, float(self.targets[index]), int(self.domains[index])


def rows(quick: bool = False) -> list[Row]:
    """A step of ERM and of its plain loop in turn, CPU time, nothing fetched ahead; then memory, in its own process."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pictures")
        number = 20_000 if quick else MANY
        with open(path, "wb") as file:
            rng = np.random.default_rng(0)
            for _ in range(number // 1000):
                file.write(rng.integers(0, 256, 1000 * BYTES, dtype=np.uint8).tobytes())
        found = []
        for name, build in (("cnn", partial(cnn, SHAPE, 1)), ("wider cnn", partial(cnn, SHAPE, 1, (32, 64, 128)))):
            seconds = medians(
                {"ours": _ours(path, build), "plain": _plain(path, build)}, 5 if quick else 25, calls=4, warm=2
            )
            words = f"pictures on disk, {name}, 3 × {BATCH}: step of ERM over that of a plain PyTorch loop"
            found.append(row(words, seconds["ours"] / seconds["plain"], aim="at most 1.5"))
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.loader", path], capture_output=True, text=True, check=True
        )
        words = f"RPO, both stages, {number:,} pictures on disk: peak memory"
        found.append(row(words, float(done.stdout), "MB", aim="below 1000"))
        found.append(row("the same: time, mostly two passes over all pictures", time.monotonic() - start, "s"))
    return found


def _ours(path: str, build: Callable[[], nn.Module]) -> Callable[[], None]:
    """A step of the engine from a source."""
    pictures = Pictures(path)
    source = Source(pictures)
    y, domain = torch.from_numpy(pictures.targets).float(), torch.from_numpy(pictures.domains)
    data = make_data(source, y, domain, task="binary")
    method, config = get_method("erm-l2"), Config(steps=10**6, batch_size=BATCH, progress=False)
    numbers, options = method.fill({})
    hp = {name: torch.full((1,), value) for name, value in numbers.items()}
    net = make_net(method, build, data.n_domains, data.n_classes, options)
    held = begin(method, net, Preparation(data, [0], hp, options, build, config))
    stack = Stack(method, net, data, [0], hp, options, config)
    batches = stack.batches(0)

    def step() -> None:
        held.flat, held.adam, held.state, _ = stack.step(held.flat, held.adam, held.state, next(batches))

    return step


def _plain(path: str, build: Callable[[], nn.Module]) -> Callable[[], None]:
    """A step as anybody writes it: a loader, a loss, an optimiser."""
    pictures, model = Pictures(path), build()
    sampler = RandomSampler(pictures, replacement=True, num_samples=10**9)
    loader: DataLoader[Any] = DataLoader(pictures, batch_size=DOMAINS * BATCH, sampler=sampler)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    batches = iter(loader)

    def step() -> None:
        x, y, _ = next(batches)
        optimiser.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], y.float())
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def main(path: Path) -> None:
    """Train from a file and print the peak memory of this process."""
    torch.set_num_threads(1)
    model = RPOClassifier(module=partial_cnn, steps=20, batch_size=BATCH, folds=2, lam=0.01, verbose=False)
    model.fit(Source(Pictures(str(path))))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in kilobytes; on macOS in bytes
    print(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def partial_cnn(row_shape: tuple[int, ...], n_outputs: int) -> nn.Module:
    """The small network of convolutions."""
    return cnn(row_shape, n_outputs)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
