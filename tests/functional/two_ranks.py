"""Gradients of the LipIRM loss on several processes: `two_ranks.py RANK RANKS STORE FOLDER` is one of them."""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from rpo.engine.drawing import Seeded
from rpo.engine.nets import mlp
from rpo.functional import Sloped, lipirm_loss

COMMON = {"eta": torch.tensor([0.5, 2.0, 3.0, 1.0], dtype=torch.float64), "lam": 0.3, "reduction": "mean"}
# What is asked of the loss, and how many of the 31 rows the first process gets.
CASES = {
    "regression": {"first": 7},
    "binary": {"first": 20},
    "multiclass": {"first": 11},
    "regression sums": {"first": 12, "reduction": "sum"},
    "regression weighted": {"first": 16, "weighted": True},
    "regression split": {"first": 13, "estimator": "split"},
    "regression tanh": {"first": 9, "tanh": True},
    "binary one eta": {"first": 5, "eta": 2.0},
    "regression no rows": {"first": 0, "eta": 2.0},
}


def example(name, dtype):
    """Model and rows; domain 0 is in the first four rows only, domain 3 in the last nine: each is absent somewhere."""
    g = torch.Generator().manual_seed(5)
    task, n = name.split()[0], 31
    x = torch.randn(n, 4, dtype=dtype, generator=g)
    domain = torch.cat([torch.zeros(4, dtype=torch.long), 1 + torch.arange(18) % 2, torch.full((9,), 3)])
    y = {"regression": x[:, 0].sin(), "binary": (x[:, 0] > 0).to(dtype), "multiclass": torch.arange(n) % 3}[task]
    outputs = 3 if task == "multiclass" else 1
    with Seeded(5):
        tanh = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, outputs))
        model = tanh if CASES[name].get("tanh") else mlp(4, outputs, (6, 5))
    weight = (torch.arange(n) % 4).to(dtype) if CASES[name].get("weighted") else torch.ones(n, dtype=dtype)
    rho = torch.rand(n, dtype=dtype, generator=g)
    return model.to(dtype), {"x": x, "y": y, "domain": domain, "rho": rho, "weight": weight}


def gradients(name, dtype, rows, wrap=Sloped, group=None):
    """The loss and its gradients on some of the rows."""
    model, columns = example(name, dtype)
    options = COMMON | {"task": name.split()[0]} | CASES[name]
    options = {k: v for k, v in options.items() if k in ("eta", "lam", "reduction", "task", "estimator")}
    if isinstance(options["eta"], torch.Tensor):
        options["eta"] = options["eta"].to(dtype)
    wrapped = wrap(model)  # kept until after the backward pass: DDP works through it
    loss = lipirm_loss(wrapped, **{k: v[rows] for k, v in columns.items()}, **options, group=group)
    loss.backward()
    return {"loss": loss.detach()} | {k: p.grad for k, p in model.named_parameters()}


def main(rank, ranks, store, folder):
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    found = {}
    for dtype in (torch.float32, torch.float64):
        for name, case in CASES.items():
            rows = slice(0, case["first"]) if rank == 0 else slice(case["first"], None)
            group = distributed.group.WORLD
            some = gradients(name, dtype, rows, lambda model: DistributedDataParallel(Sloped(model)), group)
            found |= {f"{name}/{dtype}/{k}": v for k, v in some.items()}
    save_file(found, Path(folder) / f"{rank}.safetensors")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
