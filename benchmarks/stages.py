"""What choosing λ by held-out rows costs: three values by four folds, over one training."""

from collections.abc import Callable

import torch

from benchmarks.timing import Row, medians, row
from rpo.engine import Config, mlp, train
from rpo_lab.runner.problems import load
from rpo_lab.runner.specification import DataSpec


def rows(quick: bool = False) -> list[Row]:
    """On the tables of the study, at the size of its networks."""
    torch.set_num_threads(1)
    return [line for table in ("cigar", "wage") for line in _on(table, 3 if quick else 5)]


def _on(table: str, rounds: int) -> list[Row]:
    data = load(DataSpec(name="confounded", options={"table": table}), seed=0).train
    config = Config(steps=400, dtype=torch.float64, device="cpu", progress=False)

    def build() -> torch.nn.Module:
        return mlp(data.row_shape[0], 1, (16,))

    def trained(**numbers: float) -> Callable[[], object]:
        return lambda: train("irm-lip-cv", build, data, seeds=[0], numbers={"eta": 0.1, **numbers}, config=config)

    time = medians({"chosen": trained(), "given": trained(lam=0.1)}, rounds)
    return [
        row(
            f"stages: choosing λ by held-out rows over one training, {table}",
            time["chosen"] / time["given"] - 1,
            aim="at most 3",
        ),
        row(f"stages: one training, {data.n_rows:,} rows, {table}", time["given"], "s"),
    ]
