"""How time and memory grow: with rows, models and domains; and what a stack too wide costs."""

import os
import subprocess
import sys

import torch

from benchmarks.ours import make_stepper, table
from benchmarks.timing import Row, medians, row
from rpo.engine.training import STACK_BYTES
from rpo.methods import methods

HIDDEN = (64, 64)
GRADIENT_PER_DOMAIN = ("andmask", "iga", "mldg")


def rows(quick: bool = False) -> list[Row]:
    """Ratios to the smallest; linear growth is the ratio of the sizes or less."""
    torch.set_num_threads(1)
    rounds = 3 if quick else 9
    found = []
    sizes = {n: make_stepper("irm-lip", table(20, n, 3), HIDDEN) for n in (4_000, 40_000, 400_000)}
    time = medians({str(n): run for n, run in sizes.items()}, rounds)
    found += [
        row(f"growth: step on {n:,} rows over 4,000", time[str(n)] / time["4000"], aim=f"at most {n // 4000}")
        for n in sizes
    ]
    data = table(10, 192 * 20, 3)
    stacks = {k: make_stepper("irm-lip", data, HIDDEN, k, batch_size=64) for k in (5, 50, 200)}
    time = medians({str(k): run for k, run in stacks.items()}, rounds)
    found += [
        row(f"growth: step of {k} models over 5", time[str(k)] / time["5"], aim=f"at most {k // 5}") for k in stacks
    ]
    return found + domains(rounds) + many_domains(rounds) + cap(rounds) + memory()


def domains(rounds: int) -> list[Row]:
    """A step of every method with 400 domains over one with 4, on the same rows."""
    few, many = table(10, 8_000, 4), table(10, 8_000, 400)
    found = []
    for name in sorted(m.name for m in methods("binary") if m.name not in GRADIENT_PER_DOMAIN):
        time = medians({"4": make_stepper(name, few, HIDDEN), "400": make_stepper(name, many, HIDDEN)}, rounds)
        found.append(
            row(f"growth: step of {name} with 400 domains, same rows, over 4", time["400"] / time["4"], aim="at most 2")
        )
    return found


def many_domains(rounds: int) -> list[Row]:
    """CORAL, which has a covariance a domain, where domains are more than features."""
    found = []
    for n, words in ((4_000, "4,000 rows in all"), (65 * 4_000, "4,000 rows each")):
        data = table(10, n, 65)
        time = medians({name: make_stepper(name, data, HIDDEN) for name in ("erm-l2", "coral")}, min(rounds, 5))
        found.append(
            row(f"step of coral over ERM, 65 domains, {words}", time["coral"] / time["erm-l2"], aim="at most 5")
        )
    return found


def cap(rounds: int) -> list[Row]:
    """CPU time a model-step against the size of the stack's largest tensor, K·N·h·4 bytes, around the cap."""
    rows_each = 3 * 512
    data = table(10, rows_each, 3)
    found = []
    per_model = rows_each * 64 * 4
    runs = {}
    for megabytes in (4, 16, 32, 64, 128):
        models = max(1, megabytes * 2**20 // per_model)
        runs[megabytes] = (models, make_stepper("irm-lip", data, HIDDEN, models))
    time = medians({str(m): run for m, (_, run) in runs.items()}, rounds)
    best = min(time[str(m)] / k for m, (k, _) in runs.items())
    for megabytes, (models, _) in runs.items():
        mark = " (the cap)" if megabytes * 2**20 == STACK_BYTES else ""
        value = time[str(megabytes)] / models / best
        found.append(row(f"stack of {models} models, {megabytes} MB a tensor{mark}: model-step over the best", value))
    return found


def memory() -> list[Row]:
    """Peak memory of a process that trains a stack at the cap, over one that only imports."""
    code = (
        "import re, torch; torch.set_num_threads(1)\n"
        "from benchmarks.ours import make_stepper, table\n"
        # The kernel's own mark: what `resource` tells is inherited from the parent process.
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "before = peak()\n"
        "step = make_stepper('irm-lip', table(10, 1536, 3), (64, 64), {models})\n"
        "for _ in range(3): step()\n"
        "print((peak() - before) / 1024)"
    )
    models = STACK_BYTES // (1536 * 64 * 4)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code.replace("{models}", str(models))],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [row(f"peak memory of a stack at the cap ({models} models, 1,536 rows, 64-64)", float(done.stdout), "MB")]
