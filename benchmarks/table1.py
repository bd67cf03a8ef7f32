"""CPU time of Table 1 by our study against the field's way: a process a training, a forward a domain, double backward.

The field's way is written here as its codebases do it, and favoured where there is a choice: one thread, single
precision, data read ready-made from a file, nothing imported but numpy and torch, nothing measured or saved.
"""

import copy
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.timing import Row, row

if TYPE_CHECKING:
    from torch import Tensor, nn

    from rpo_lab.runner.specification import Run

STEPS = 400
LIPSCHITZ, INVARIANT = ("erm-lip", "irm-lip", "rpo"), ("irm-l2", "irm-lip", "rpo", "har")
# Rows of the table that cost the field the same: controls and ablations train as the method they vary.
SAME_COST = {"rpo-pen": "rpo", "rpo-lip": "rpo", "rpo-permuted": "rpo", "rpo-uniform": "rpo"}


def rows(quick: bool = False) -> list[Row]:
    """The ratio for the `paper` profile, from one sample of each kind of run, weighted by how many there are."""
    from rpo_lab.runner.stacks import pack, run_stack
    from rpo_lab.table1 import table1

    study = table1("paper")
    kinds: dict[tuple[str, str, bool], list[Run]] = {}
    for run in study.runs():
        if run.method != "mean":
            method = SAME_COST.get(run.method, run.method)
            kinds.setdefault((method, str(run.data.options["table"]), run.leave_one_out), []).append(run)
    if quick:
        kinds = {kind: runs for kind, runs in kinds.items() if kind[:2] in (("irm-lip", "cigar"), ("rpo", "cigar"))}
    field = ours = 0.0
    result: list[Row] = []
    for (method, table, leave_one_out), runs in kinds.items():
        sample = pack([run for run in runs if run.method == method and run.data.options["columns"] == "all"])[0]
        # With leave-one-domain-out a run is four trainings, three of them on two domains.
        alone = _field(method, sample[0], 3) + (3 * _field(method, sample[0], 2) if leave_one_out else 0)
        stacked = run_stack(sample)[0].seconds
        field, ours = field + alone * len(runs), ours + stacked * len(runs)
        name = f"table 1: {method}, {table}, {'four trainings' if leave_one_out else 'one training'} a run"
        result.append(row(name, alone / stacked, aim="shown by method"))
    # The command and its two workers start once each, whatever the number of runs; a sample pays its share.
    share = sum(map(len, kinds.values())) / len(study.runs())
    ours += 3 * share * _cpu([sys.executable, "-c", "import rpo_lab.runner.runner"])
    name = f"table 1, {'two kinds of runs' if quick else 'paper profile'}: CPU of one process a training over ours"
    return [row(name, field / ours, aim="at least 10"), *result]


def _field(method: str, run: "Run", domains: int) -> float:
    """CPU seconds of one training on so many domains in a process of its own."""
    from rpo_lab.runner.problems import load

    train = load(run.data, run.seed).train
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        kept = train.domain < domains
        columns = {name: getattr(train, name)[kept].numpy() for name in ("x", "y", "domain", "stratum")}
        np.savez(path, **columns)
        return _cpu([sys.executable, "-m", "benchmarks.table1", method, str(path)])


def _cpu(command: list[str]) -> float:
    """CPU seconds of a process, its own start included."""
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=os.environ | threads, cwd=Path(__file__).parents[1])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


# From here on: the field's way.


class Domain:
    """The rows of one domain, and the penalties of its own."""

    def __init__(self, data: Any, e: int) -> None:
        import torch

        mine = data["domain"] == e
        self.x = torch.from_numpy(data["x"][mine]).float()
        self.y = torch.from_numpy(data["y"][mine]).float()
        self.stratum = torch.from_numpy(data["stratum"][mine])
        self.eta, self.rho, self.weight = 1.0, torch.ones(len(self.y)), torch.ones(len(self.y))


def loss_of(model: "nn.Sequential", domain: Domain, method: str, lam: float) -> "Tensor":
    """The loss of one domain, every penalty by autograd."""
    import torch

    x = domain.x.clone().requires_grad_(method in LIPSCHITZ)
    hidden = model[0](x)
    output = model[2](model[1](hidden))[:, 0]
    each = (output - domain.y).square()
    loss = each.mean()
    if method in INVARIANT:
        w = torch.ones((), requires_grad=True)
        (slope,) = torch.autograd.grad((w * output - domain.y).square().mean(), w, create_graph=True)
        loss = loss + domain.eta * slope.square()
    if method in LIPSCHITZ:
        (gradient,) = torch.autograd.grad(output.sum(), x, create_graph=True)
        loss = loss + lam * (domain.rho * gradient.square().sum(1)).mean()
    if method == "har":
        slopes = torch.autograd.grad(each.sum(), [hidden, output], create_graph=True)
        norms = sum((slope.reshape(len(each), -1).square().sum(1) + 1e-12).sqrt() for slope in slopes)
        loss = loss + 0.1 * (domain.weight * norms).mean()
    result: Tensor = loss
    return result


def update(model: "nn.Sequential", domains: Sequence[Domain], method: str, lam: float) -> None:
    """Leave the gradient of one step in the parameters."""
    import torch

    parameters = list(model.parameters())
    if method == "andmask":
        gradients = [torch.autograd.grad(loss_of(model, domain, method, lam), parameters) for domain in domains]
        for place, p in enumerate(parameters):
            stacked = torch.stack([gradient[place] for gradient in gradients])
            kept = (stacked.sign().mean(0).abs() >= 1).float()
            p.grad = kept * stacked.mean(0) / (1e-10 + kept.mean())
        return
    if method == "mldg":
        total = [torch.zeros_like(p) for p in parameters]
        for domain, other in zip(domains, [*domains[1:], domains[0]], strict=True):
            inner = copy.deepcopy(model)
            adam = torch.optim.Adam(inner.parameters(), lr=1e-2)
            adam.zero_grad()
            loss_of(inner, domain, method, lam).backward()  # type: ignore[no-untyped-call]
            adam.step()
            tested = torch.autograd.grad(loss_of(inner, other, method, lam), list(inner.parameters()))
            for gradient, p, g in zip(total, inner.parameters(), tested, strict=True):
                gradient += ((p.grad if p.grad is not None else 0) + g) / len(domains)
        for p, gradient in zip(parameters, total, strict=True):
            p.grad = gradient
        return
    loss = torch.stack([loss_of(model, domain, method, lam) for domain in domains]).mean()
    if method not in LIPSCHITZ:
        loss = loss + 1e-3 * torch.stack([p.square().sum() for p in parameters]).sum()
    loss.backward()  # type: ignore[no-untyped-call]


def fit(domains: Sequence[Domain], method: str, lam: float) -> "nn.Sequential":
    """One training."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(domains[0].x.shape[1], 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, STEPS)
    for _ in range(STEPS):
        adam.zero_grad()
        update(model, domains, method, lam)
        adam.step()
        schedule.step()
    return model


def cells(domain: Domain, strata: int, model: Callable[["Tensor"], "Tensor"]) -> tuple["Tensor", "Tensor"]:
    """Mean squared residual and number of rows of each stratum."""
    import torch

    square = (model(domain.x)[:, 0] - domain.y).detach().square()
    count = torch.bincount(domain.stratum, minlength=strata).clamp_min(1)
    return torch.bincount(domain.stratum, square, strata) / count, count


def main(method: str, path: str) -> None:
    """One run in one process: RPO's and HAR's first trainings, then the training proper."""
    import torch

    torch.set_num_threads(1)
    data = np.load(path)
    strata = int(data["stratum"].max()) + 1
    domains = [Domain(data, e) for e in range(int(data["domain"].max()) + 1)]
    lam = sum(1 / len(domain.y) for domain in domains) ** 0.4
    if method == "rpo":
        first = fit(domains, "irm-lip", lam)
        for domain in domains:
            error, count = cells(domain, strata, first)
            difficulty = (error.sqrt() * len(domain.y) / count) ** 0.8
            domain.rho = 4**-0.4 * difficulty[domain.stratum]
            domain.eta = float(len(domain.y) * 4**-1.4 / difficulty.sum())
    if method == "har":
        for _ in range(2):  # each half in its turn
            first = fit(domains, "erm-l2", lam)
        for domain in domains:
            error, count = cells(domain, strata, first)
            weight = error**0.6 / count**0.4
            domain.weight = (weight / weight.max())[domain.stratum]
    fit(domains, method, lam)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
