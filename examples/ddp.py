"""One model on several processes: the LipIRM loss under `DistributedDataParallel`.

    torchrun --standalone --nproc-per-node 2 examples/ddp.py

Each process holds rows of its own; the means over domains inside the loss, and their squares, are over all of them.
Started without `torchrun` it is one process with all rows: the same training, the same numbers.
"""

import os

import torch
from torch import Tensor, distributed
from torch.nn.parallel import DistributedDataParallel

from rpo.datasets import load_cigar
from rpo.engine import mlp
from rpo.functional import Sloped, lipirm_loss, optimal_lambda

STEPS, DOMAINS = 200, 4


def my_rows(rank: int, ranks: int) -> tuple[Tensor, Tensor, Tensor]:
    """Every `ranks`-th row of the Cigar panel, standardised; a domain is a quarter of the states."""
    cigar = load_cigar()
    x, y = (torch.tensor(values.to_numpy(), dtype=torch.float64) for values in (cigar.X, cigar.y))
    x, y = (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()
    domain = torch.tensor(cigar.frame["state"].to_numpy(), dtype=torch.long) % DOMAINS
    return x[rank::ranks], y[rank::ranks], domain[rank::ranks]


def main() -> None:
    """Train, and print the loss of all rows together."""
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        distributed.init_process_group("gloo")  # "nccl" on GPUs
    rank, group = (distributed.get_rank(), distributed.group.WORLD) if ranks > 1 else (0, None)
    x, y, domain = my_rows(rank, ranks)
    torch.manual_seed(0)
    model = Sloped(mlp(x.shape[1], 1, (32,)).double())
    network = DistributedDataParallel(model) if ranks > 1 else model
    # η and λ are of the whole data, the same on every process; ρ has a value for each of this process's rows.
    rows = torch.bincount(my_rows(0, 1)[2], minlength=DOMAINS).double()
    eta, rho, lam = torch.ones(DOMAINS, dtype=x.dtype), torch.ones_like(y), 0.1 * optimal_lambda(rows.numpy())
    adam = torch.optim.Adam(network.parameters(), lr=1e-2)
    for step in range(STEPS + 1):
        loss = lipirm_loss(network, x, y, domain, eta=eta, rho=rho, lam=lam, task="regression", group=group)
        if rank == 0 and step % 50 == 0:
            print(f"step {step:3d}  loss {loss.item():.12f}  ({len(x)} rows in this process of {ranks})", flush=True)
        adam.zero_grad()
        torch.autograd.backward(loss)
        adam.step()
    if ranks > 1:
        distributed.barrier()  # a process that ends while another still talks to it can abort
        del network
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
