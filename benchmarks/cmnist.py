"""Colored-MNIST: RPO's two stages over ERM, a full-size step over its arithmetic, and the quick profile."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.ours import make_stepper, table
from benchmarks.timing import Row, medians, row
from rpo.engine import Config, mlp, train
from rpo.exceptions import InputError

PIXELS, ROWS = 392, 48_000  # 14 × 14 in two colours; the training rows of all domains


def rows(quick: bool = False) -> list[Row]:
    """All of it on one thread; inputs are random but for the last line."""
    torch.set_num_threads(1)
    return two_stages(3 if quick else 5, 100 if quick else 500) + full_size(15 if quick else 60) + profile()


def two_stages(rounds: int, steps: int) -> list[Row]:
    """Whole trainings, MLP 392-64-64-1, 3 × 512 rows a step; RPO's include the residuals of all rows."""
    data = table(PIXELS, ROWS, 3)
    config = Config(steps=steps, batch_size=512, device="cpu", progress=False)

    def training(method: str) -> Callable[[], object]:
        return lambda: train(method, lambda: mlp(PIXELS, 1, (64, 64)), data, seeds=[0], config=config)

    time = medians({name: training(name) for name in ("erm-l2", "irm-lip", "rpo")}, rounds)
    name = f"cmnist: {steps} steps of"
    return [
        row(f"{name} RPO's both stages over {steps} of ERM", time["rpo"] / time["erm-l2"], aim="at most 3"),
        row(f"{name} LipIRM over {steps} of ERM", time["irm-lip"] / time["erm-l2"]),
        row(f"{name} ERM, MLP 392-64-64-1, 3 × 512 rows", time["erm-l2"], "s"),
    ]


def full_size(rounds: int) -> list[Row]:
    """A whole step of LipIRM, MLP 392-256-256-1, 3 × 256 rows, over its matrix products alone."""
    n, d, h = 768, PIXELS, 256
    # Products (m × k) (k × n) of one step, forward then backward: outputs; masks back to the first layer and the Gram
    # matrix; gradients of both layers by the outputs, of the Gram matrix, and of both layers by it.
    shapes = [(n, d, h), (n, h, h), (n, h, h), (h, d, h), (n, h, h)]
    shapes += [(h, n, h), (n, h, h), (h, n, d), (h, n, h), (h, h, d), (h, h, d), (h, n, h)]
    pairs = [(torch.ones(m, k), torch.ones(k, p)) for m, k, p in shapes]
    work = 2e-9 * sum(m * k * p for m, k, p in shapes)

    def products() -> None:
        for a, b in pairs:
            torch.mm(a, b)

    data = table(d, ROWS, 3)
    ways = {"compiled": True, "eager": False}
    runs = {
        way: make_stepper("irm-lip", data, (h, h), batch_size=256, compiled=compiled) for way, compiled in ways.items()
    }
    time = medians({**runs, "products": products}, rounds, calls=4, warm=5)
    name = "cmnist: full-size LipIRM step"
    return [
        row(f"{name} over its matrix products, compiled", time["compiled"] / time["products"], aim="at most 1.5"),
        row(f"{name} over its matrix products, eager", time["eager"] / time["products"]),
        row(f"{name}, compiled, MLP 392-256-256-1, 3 × 256 rows", 1e3 * time["compiled"], "ms"),
        row(f"cmnist: matrix products of the same shapes ({work:.2f} GFLOP)", work / time["products"], "GFLOP/s"),
    ]


def profile() -> list[Row]:
    """What `rpo bench cmnist --dry-run` says of the quick profile; nothing if MNIST is not to be had."""
    from rpo_lab.cmnist import cmnist
    from rpo_lab.runner.runner import plan
    from rpo_lab.runner.store import Store

    runs = {run.digest: run for view in cmnist("quick") for run in view.study.runs()}
    try:
        with tempfile.TemporaryDirectory() as folder:
            seconds = plan(list(runs.values()), Store(Path(folder))).seconds(2)
    except InputError as error:
        return [row(f"cmnist: quick profile not estimated: {error}", float("nan"))]
    return [
        row("cmnist: quick profile of three settings on two cores, estimated", seconds / 60, "min", aim="about five")
    ]
