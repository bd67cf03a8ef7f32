"""Beyond one process: what sending a stack costs, two workers over one, and how a fit grows with rows and domains."""

import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import torch
from distributed import LocalCluster

from benchmarks.ours import make_stepper, table
from benchmarks.timing import Row, medians, row
from rpo._cluster import connect, on_cluster
from rpo.engine.adam import start_adam
from rpo.engine.checkpoint import Checkpoint, write_checkpoint
from rpo.engine.fingerprint import digest
from rpo.engine.trained import Snapshot
from rpo_lab.runner.runner import execute, plan
from rpo_lab.runner.specification import DataSpec, Run, Training
from rpo_lab.runner.stacks import run_stack
from rpo_lab.runner.store import Record, Store

WIDTH = 4  # runs of a stack


def rows(quick: bool = False) -> list[Row]:
    """Everything of docs/scale.md, the load of the machine first: with other work on it the ratios say little."""
    torch.set_num_threads(1)
    found = [row("scale: load of the machine at the start", os.getloadavg()[0], "processes")]
    found += cores(quick) + on_a_cluster(quick) + runs_and_workers(quick)
    found += fits("rows", [10_000, 100_000] if quick else [10_000, 100_000, 1_000_000], quick)
    found += fits("domains", [10, 100] if quick else [10, 100, 1_000], quick)
    return found + bookkeeping() + steps(quick) + checkpoints()


def runs_of(number: int, steps: int, first: int = 0) -> list[Run]:
    """Runs on Cigar that differ in their seed."""
    training = Training(hidden=(16,), steps=steps)
    data = DataSpec(name="confounded")
    seeds = range(first, first + number)
    return [Run(data=data, method="irm-lip", numbers={"eta": 10.0}, seed=seed, training=training) for seed in seeds]


def steps_for(seconds: float) -> int:
    """How many steps a stack may make to compute for so long."""
    run_stack(runs_of(WIDTH, 5))
    start = time.process_time()
    run_stack(runs_of(WIDTH, 50))
    return max(1, round(50 * seconds / (time.process_time() - start)))


def timed(stack: list[Run]) -> float:
    """Seconds that a worker had a stack for."""
    start = time.perf_counter()
    run_stack(stack)
    return time.perf_counter() - start


def cores(quick: bool) -> list[Row]:
    """What two cores of this machine are worth: stacks in two processes that share nothing and write nothing, over one.

    Two workers cannot be more than that times one, whoever hands out the stacks.
    """
    stack, times = runs_of(WIDTH, steps_for(1.0)), {1: list[float](), 2: list[float]()}
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as one, context.Pool(2) as two:
        for _ in range(1 + (1 if quick else 5)):
            for processes, pool in ((1, one), (2, two)):
                times[processes] += pool.map(timed, [stack] * (2 * processes), chunksize=1)
    alone, together = median(times[1][2:]), median(times[2][4:])  # the first round imports, and builds the data
    return [row("scale: two cores of this machine over one, nothing shared", 2 * alone / together)]


def on_a_cluster(quick: bool) -> list[Row]:
    """What a stack costs beside its computing, with one worker; and how much of their time two workers compute.

    The second does not depend on what else the machine does: two workers that compute all the time are twice one,
    given a core each.
    """
    work = [runs_of(WIDTH, steps_for(1.0))] * (4 if quick else 10)
    empty = [[Run(data=DataSpec(name="confounded"), method="mean", seed=0)]] * 200
    with _cluster(1) as cluster:
        inside, outside = _times(cluster, work)
        within, without = _times(cluster, empty)
    with _cluster(2) as cluster:
        each, both = _times(cluster, work * 2)
    share = 100 * (outside - sum(inside)) / sum(inside)
    return [
        row(f"scale: a stack of {median(inside):.2g} s: what sending it adds", share, "%", "under 2"),
        row("scale: sending an empty stack and its record", 1e3 * (without - sum(within)) / len(empty), "ms"),
        row("scale: time that two workers compute, of all they have", 100 * sum(each) / (2 * both), "%", "at least 90"),
    ]


def _times(cluster: LocalCluster, stacks: list[list[Run]]) -> tuple[list[float], float]:
    """Seconds that workers had each stack for, and seconds until all were back."""
    with connect(cluster.scheduler_address) as client:
        client.gather(client.map(timed, [runs_of(WIDTH, 2)] * 4, pure=False))  # everything imported, data built
        start = time.perf_counter()
        inside: list[float] = client.gather(client.map(timed, stacks, pure=False))
        return inside, time.perf_counter() - start


def runs_and_workers(quick: bool) -> list[Row]:
    """A study that is all computing: by one and two workers of a cluster, by one and two local processes.

    Each round has seeds of its own: a worker keeps the data that it built, and one worker has built all of them. There
    are many stacks, as in a study: at the end of sixteen a worker may be idle for an eighth of the time.
    """
    number, rounds = (12, 1) if quick else (40, 2)
    stack = steps_for(1.0)
    times: dict[str, list[float]] = {name: [] for name in ("worker 1", "worker 2", "process 1", "process 2")}
    with _cluster(1) as one, _cluster(2) as two:
        for cluster in (one, two):  # everything imported, data built
            list(on_cluster(cluster.scheduler_address)(run_stack, [runs_of(1, 2)] * 8))
        for turn in range(rounds):
            runs = runs_of(number * WIDTH, stack, 1 + turn * number * WIDTH)
            for name in times:
                kind, jobs = name.split()
                address = (one if jobs == "1" else two).scheduler_address
                where = address if kind == "worker" else None
                with tempfile.TemporaryDirectory() as folder:
                    start = time.perf_counter()
                    store = Store(Path(folder))
                    execute(runs, store, jobs=int(jobs), cluster=where, width=WIDTH, progress=False)
                    times[name].append(time.perf_counter() - start)
    best = {name: min(values) for name, values in times.items()}
    return [
        row(f"scale: {len(runs)} runs in {number} stacks, one process", best["process 1"], "s"),
        row("scale: two workers of a cluster over one", best["worker 1"] / best["worker 2"], aim="at least 1.8"),
        row("scale: two local processes over one", best["process 1"] / best["process 2"]),
        row("scale: one worker of a cluster over one process", best["worker 1"] / best["process 1"]),
    ]


def _cluster(workers: int) -> LocalCluster:
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1, "processes": True}
    return LocalCluster(n_workers=workers, **options)  # type: ignore[no-untyped-call]


FIT = """
import re, sys, threading, time
anonymous = lambda: int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
most = [0.0]
def watch():
    while True:
        most[0] = max(most[0], anonymous())
        time.sleep(0.01)
import torch, rpo._models.table_model, rpo._table.reading
from rpo.cli import main
rpo._table.reading.MANY_ROWS = int(sys.argv.pop())
before = anonymous()
threading.Thread(target=watch, daemon=True).start()
start, used = time.perf_counter(), time.process_time()
try:
    main()
finally:
    print("took", time.perf_counter() - start, time.process_time() - used, most[0] - before)
"""


def fits(what: str, sizes: list[int], quick: bool) -> list[Row]:
    """`rpo fit` on a Parquet file of twenty columns, features in memory and in a file."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / "table.parquet"
            _table(path, size if what == "rows" else 100_000, 10 if what == "rows" else size)
            if what == "rows":
                found.append(row(f"scale: {size:,} rows as Parquet", path.stat().st_size / 2**20, "MB"))
            for way, many in (("memory", 10**9), ("a file", 0)):
                if what == "domains" and way == "memory":
                    continue
                name = f"scale: rpo fit, {size:,} {what}, features in {way}"
                wall, used, peak = _fit(path, Path(folder) / "model", 50 if quick else 400, many)
                found += [row(f"{name}: time", wall, "s"), row(f"{name}: CPU time", used, "s")]
                found.append(row(f"{name}: memory", peak, "MB"))
    return found


def _table(path: Path, size: int, domains: int) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(size, 20)), columns=[f"x{i}" for i in range(20)])
    frame["site"] = rng.integers(0, domains, size)
    frame["y"] = frame["x0"] - frame["x1"] / 2 + rng.normal(size=size) * np.where(frame["site"] == 0, 2.0, 0.3)
    frame.to_parquet(path)


def _fit(table: Path, out: Path, steps: int, many: int) -> tuple[float, float, float]:
    """Seconds, CPU seconds, and megabytes of memory that is no file's."""
    words = ["fit", table, "-t", "y", "-d", "site", "--steps", steps, "--out", out, many]
    command = [sys.executable, "-c", FIT, *map(str, words)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    numbers = re.search(r"took (\S+) (\S+) (\S+)", done.stdout)
    assert numbers is not None
    return float(numbers[1]), float(numbers[2]), float(numbers[3])


def bookkeeping() -> list[Row]:
    """What the driver does for each run, however many workers there are: look, plan, write, read."""
    runs = runs_of(2_000, 1)
    record = run_stack(runs[:1])[0]
    records = [record.model_copy(update={"run": run}) for run in runs[:200]]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        with store.lock():
            start = time.perf_counter()
            plan(runs, store)
            planned = time.perf_counter()
            for first in range(0, len(records), 25):
                store.write_all(records[first : first + 25])
            written = time.perf_counter()
            for each in records:
                store.read(each.run)
            read = time.perf_counter()
        size = sum(path.stat().st_size for path in store.runs.iterdir()) / len(records)
    plain = record.model_dump(mode="json")
    tracemalloc.start()
    held = [Record.model_validate(plain) for _ in range(500)]
    memory = tracemalloc.get_traced_memory()[0] / len(held)
    tracemalloc.stop()
    return [
        row("scale: planning a run", 1e3 * (planned - start) / len(runs), "ms"),
        row("scale: writing a record of a stack of 25, to the disk", 1e3 * (written - planned) / len(records), "ms"),
        row("scale: reading a record", 1e3 * (read - written) / len(records), "ms"),
        row("scale: a record on disk", size, "bytes"),
        row("scale: a record in memory", memory, "bytes"),
    ]


def steps(quick: bool) -> list[Row]:
    """CPU time a row of one LipIRM step of a network 20-64-64-1, on as many rows as the estimators draw."""
    step = make_stepper("irm-lip", table(20, 2_048, 4), (64, 64))
    time_of_one = medians({"step": step}, 3 if quick else 9, calls=10)["step"]
    return [row("scale: a LipIRM step, 20-64-64-1, 2,048 rows", 1e6 * time_of_one / 2_048, "µs a row")]


def checkpoints() -> list[Row]:
    """What it takes to write a checkpoint, and to tell one training from another."""
    generator = torch.Generator().manual_seed(0)
    flat = torch.randn(1, 1_000_000, generator=generator)
    now = Checkpoint(Snapshot(flat, start_adam(flat), {}, 1), flat[:, :0], [])
    with tempfile.TemporaryDirectory() as folder:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            write_checkpoint(Path(folder) / "now", now, {})
            times.append(time.perf_counter() - start)
    x = torch.randn(1_000_000, 20, generator=generator)
    start = time.process_time()
    digest(x)
    return [
        row("scale: a checkpoint of a million parameters", 1e3 * median(times), "ms"),
        row("scale: the fingerprint of a million rows of twenty numbers", time.process_time() - start, "s"),
    ]
