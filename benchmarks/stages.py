"""What finding the noise costs: the first stage of quality weights, three λ by four folds, over one training."""

from collections.abc import Callable

import torch

from benchmarks.timing import Row, medians, row
from rpo.engine import Config, mlp, train
from rpo.engine.training import first_stage
from rpo.methods import get_method
from rpo.studies.problems import load
from rpo.studies.specification import DataSpec


def rows(quick: bool = False) -> list[Row]:
    """On the tables of the study, at the size of its networks."""
    torch.set_num_threads(1)
    return [line for table in ("cigar", "wage") for line in _on(table, 3 if quick else 5)]


def _on(table: str, rounds: int) -> list[Row]:
    data = load(DataSpec(name="confounded", options={"table": table}), seed=0).train
    config = Config(steps=400, dtype=torch.float64, device="cpu", progress=False)
    weights = get_method("rpo-weights")

    def build() -> torch.nn.Module:
        return mlp(data.row_shape[0], 1, (16,))

    runs: dict[str, Callable[[], object]] = {
        "stage": lambda: first_stage(weights, build, data, seeds=[0], numbers={}, options={}, config=config),
        "one": lambda: train("irm-lip", build, data, seeds=[0], numbers={"lam": 0.1, "eta": 0.1}, config=config),
    }
    time = medians(runs, rounds)
    return [
        row(
            f"stages: first stage of quality weights over one training, {table}",
            time["stage"] / time["one"],
            aim="at most 3",
        ),
        row(f"stages: one training, {data.n_rows:,} rows, {table}", time["one"], "s"),
    ]
