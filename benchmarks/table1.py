"""CPU time of Table 1 by our study against the field's way: a process a training, a forward a domain, double backward.

The field's way is written here as its codebases do it, and favoured where there is a choice: one thread, single
precision, data read ready-made from a file, nothing imported but numpy and torch, nothing measured or saved.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, row

LIPSCHITZ, INVARIANT = ("ERM + lip", "IRM + lip", "RPO"), ("IRM + l2", "IRM + lip", "RPO")
METHODS = ("ERM + l2", "ERM + lip", "IRM + l2", "IRM + lip", "RPO")


def rows(quick: bool = False) -> list[Row]:
    """The ratio over a sample of the `paper` profile's runs, each weighted by how often the profile has its like."""
    from rpo.experiments.stacks import pack, run_stack
    from rpo.experiments.table1 import table1

    study = table1("paper")
    chosen = METHODS[-2:] if quick else METHODS
    settings = study.settings[:1] if quick else study.settings[::2]
    start_ours = _cpu([sys.executable, "-c", "import rpo.experiments.runner"])
    field = ours = 0.0
    result: list[Row] = []
    for setting in settings:
        for line in (line for line in study.rows if line.label in chosen):
            runs = [run for seed in study.seeds for run in study.candidates(line, setting, seed)]
            trainings = 4 if runs[0].leave_one_out else 1  # with leave-one-domain-out, one more for each domain
            stack = pack(runs)[0]
            stacked = run_stack(stack)[0].seconds
            alone = trainings * _field(line.label, setting.data.options, stack[:1] if quick else stack[:2])
            field, ours = field + alone * len(runs), ours + stacked * len(runs)
            name = f"table 1: CPU of one process a run over ours, {line.label}, {setting.label}"
            result.append(row(name, alone / stacked, aim="shown by method"))
    # Ours pays its start three times in all (the command and two workers), and here for the sample's share of the runs.
    share = len(settings) * len(chosen) / (len(study.settings) * len(study.rows))
    ratio = field / (ours + 3 * start_ours * share)
    name = f"table 1: CPU of one process a run over ours, {len(chosen)} methods, {len(settings)} sets, weighted"
    return [row(name, ratio, aim="at least 10"), *result]


def _field(label: str, options: Mapping[str, object], runs: Sequence[object]) -> float:
    """Mean CPU seconds of one training in a process of its own."""
    from rpo.datasets import make_confounded

    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(len(runs)):
            part = make_confounded(**options, seed=seed).train  # type: ignore[arg-type]
            path = Path(folder) / f"{seed}.npz"
            np.savez(path, x=part.X, y=part.y, domain=part.domain, stratum=part.stratum)
            seconds.append(_cpu([sys.executable, "-m", "benchmarks.table1", label, str(path)]))
    return sum(seconds) / len(seconds)


def _cpu(command: list[str]) -> float:
    """CPU seconds of a process, its own start included."""
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=os.environ | threads, cwd=Path(__file__).parents[1])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with code {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def train_as_the_field(label: str, path: str, steps: int = 400) -> None:
    """One run in one process; RPO's two trainings one after the other."""
    import torch

    torch.set_num_threads(1)
    data = np.load(path)
    domains, strata = int(data["domain"].max()) + 1, int(data["stratum"].max()) + 1
    sets = []
    for e in range(domains):
        mine = data["domain"] == e
        sets.append((torch.from_numpy(data["x"][mine]).float(), torch.from_numpy(data["y"][mine]).float()))
    eta, rho = [1.0] * domains, [torch.ones(len(y)) for _, y in sets]
    lam = sum(1 / len(y) for _, y in sets) ** 0.4
    for stage in range(2 if label == "RPO" else 1):
        model = torch.nn.Sequential(torch.nn.Linear(sets[0][0].shape[1], 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
        adam = torch.optim.Adam(model.parameters(), lr=1e-2)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
        for _ in range(steps):
            losses = []
            for e, (x, y) in enumerate(sets):
                x = x.clone().requires_grad_(label in LIPSCHITZ)
                output = model(x)[:, 0]
                loss = (output - y).square().mean()
                if label in INVARIANT:
                    w = torch.ones((), requires_grad=True)
                    risk = (w * output - y).square().mean()
                    (slope,) = torch.autograd.grad(risk, w, create_graph=True)
                    loss = loss + eta[e] * slope.square()
                if label in LIPSCHITZ:
                    (gradient,) = torch.autograd.grad(output.sum(), x, create_graph=True)
                    loss = loss + lam * (rho[e] * gradient.square().sum(1)).mean()
                losses.append(loss)
            total = torch.stack(losses).mean()
            if label not in LIPSCHITZ:
                total = total + 1e-3 * sum(p.square().sum() for p in model.parameters())
            adam.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            adam.step()
            schedule.step()
        if label == "RPO" and stage == 0:
            for e, (x, y) in enumerate(sets):
                stratum = torch.from_numpy(data["stratum"][data["domain"] == e])
                square = (model(x)[:, 0] - y).detach().square()
                count = torch.bincount(stratum, minlength=strata).clamp_min(1)
                cell = ((torch.bincount(stratum, square, strata) / count).sqrt() * len(y) / count) ** 0.8
                rho[e], eta[e] = 4**-0.4 * cell[stratum], float(len(y) * 4**-1.4 / cell.sum())


if __name__ == "__main__":
    train_as_the_field(sys.argv[1], sys.argv[2])
