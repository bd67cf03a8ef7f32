"""A sweep of 20 models on two cores: two processes with ten stacked models each, against a process a model."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks.timing import Row, row

MODELS, CORES = 20, 2
STEPS = 5_000  # what the field trains for


def rows(quick: bool = False) -> list[Row]:
    """Wall time of both, two processes at a time: measured on fewer steps, scaled to 5,000."""
    steps = 60 if quick else 300
    theirs_wall, theirs_cpu = _run("benchmarks.field", [str(steps)], 4 if quick else 8)
    ours_wall, ours_cpu = _run("benchmarks.ours", [str(steps), str(MODELS // CORES)], CORES)
    theirs_step = sum(cpu[0] for cpu in theirs_cpu) / len(theirs_cpu) / steps
    ours_step = sum(cpu[1] for cpu in ours_cpu) / len(ours_cpu) / steps / (MODELS // CORES)
    # What is not steps: starting Python, importing torch, for ours compiling too.
    theirs_start = theirs_wall / (len(theirs_cpu) / CORES) - theirs_step * steps
    ours_start = ours_wall - ours_step * steps * MODELS / CORES
    theirs, ours = (MODELS / CORES * each * STEPS for each in (theirs_step, ours_step))
    with_start = (theirs + MODELS / CORES * theirs_start) / (ours + ours_start)
    # Two processes of ours must start too: with nothing to compile, and starts as short as the field's.
    bound = (theirs + MODELS / CORES * theirs_start) / (ours + theirs_start)
    return [
        row("sweep of 20: model-step, the field's way", 1e3 * theirs_step, "ms"),
        row("sweep of 20: model-step, ours", 1e3 * ours_step, "ms"),
        row("sweep of 20: start of a process, the field's way", theirs_start, "s"),
        row("sweep of 20: start of a process and compilation, ours", ours_start, "s"),
        row("sweep of 20, 5,000 steps, without start-up: the field's way over ours", theirs / ours, aim="at least 15"),
        row("sweep of 20, 5,000 steps, with start-up and compilation", with_start, aim="at least 30"),
        row("sweep of 20, 5,000 steps, with start-up, had we nothing to compile", bound),
    ]


def _run(module: str, arguments: list[str], times: int) -> tuple[float, list[list[float]]]:
    """Wall seconds of all runs, two at a time, and the numbers each printed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}

    def one(_: int) -> list[float]:
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return [float(word) for word in done.stdout.split()]

    start = time.perf_counter()
    with ThreadPoolExecutor(CORES) as pool:
        printed = list(pool.map(one, range(times)))
    return time.perf_counter() - start, printed
