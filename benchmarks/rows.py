"""More rows than memory: rows per second of every pass over a dataset beside pyarrow's own reading, and memory.

`python -m benchmarks.rows MILLIONS [FOLDER]` makes a dataset of as many million rows × 20 columns (a folder that has it
already is used as it is) and prints what `rpo quality` takes on it with one process and with two, and `rpo fit`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.timing import Row, row
from rpo._io import one_thread
from rpo._judging.measuring import Measuring
from rpo._judging.sums import Sums
from rpo._streaming import draw, measuring_of
from rpo._table.dataset import Dataset, open_dataset
from rpo._table.passes import Running, passed
from rpo._table.sampling import Counting, Drawing

FILE_ROWS = 1_000_000
COMMAND = [sys.executable, "-c", "from rpo.cli import main; main()"]


def rows(quick: bool = False) -> list[Row]:
    """CPU time of each pass, in turn with reading alone; then two workers over one."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = open_dataset(str(made(Path(folder), 1, 200_000 if quick else FILE_ROWS)))
        return [*per_pass(dataset, 1 if quick else 3), *workers(dataset, quick)]


def made(folder: Path, files: int, file_rows: int = FILE_ROWS) -> Path:
    """Files of 18 numbers, one with gaps, a category, fifty sites of which five are noisy, and the target."""
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(files):
        path = folder / f"part-{k:03d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(k)
        site, x = rng.integers(0, 50, file_rows), rng.normal(size=(18, file_rows))
        x[0] += site * 0.05
        y = x[0] + np.sin(2 * x[1]) + x[2] * x[3] / 2
        y += rng.normal(size=file_rows) * np.where(site < 5, 2.0, 0.7)
        gap = np.where((site == 7) | (rng.uniform(size=file_rows) < 0.02), np.nan, rng.normal(size=file_rows))
        columns: dict[str, Any] = {f"x{j}": one for j, one in enumerate(x)}
        colour = np.array(["red", "green", "blue", "grey", "black", "white"])[rng.integers(0, 6, file_rows)]
        columns |= {"gap": gap, "colour": colour, "site": np.char.add("site", site.astype(str)), "y": y}
        unfinished = path.with_suffix(".unfinished")
        pd.DataFrame(columns).to_parquet(unfinished, index=False)
        os.replace(unfinished, path)
    return folder


def per_pass(dataset: Dataset, rounds: int) -> list[Row]:
    """Rows per second of CPU time, and each as a share of reading alone."""
    quiet = Running(progress=False)
    with one_thread():
        sample = draw(dataset, target="y", domain="site", rows=20_000, running=quiet)
        full = measuring_of(sample)
    columns = Measuring(full.dataset, full.roles, None, full.columns, None)
    names = tuple(dataset.columns)
    share = dict.fromkeys(sample.rows, 0.004)  # as of 50 million rows
    passes: dict[str, Callable[[Any], object]] = {
        "pyarrow alone": lambda part: [batch.num_rows for batch in dataset.batches(part)],
        "counting rows of domains": Counting(dataset, "y", "site"),
        "drawing a sample": Drawing(dataset, "y", "site", share, names, 0),
        "statistics of columns by domain": columns,
        "residuals by models, with these": full,
    }
    times: dict[str, list[float]] = {name: [] for name in passes}
    for turn in range(rounds + 1):
        for name, work in passes.items():
            start = time.process_time()
            for part in dataset.parts:
                work(part)
            if turn:  # the first round brings the file into memory
                times[name].append(time.process_time() - start)
    rate = {name: dataset.rows / min(some) for name, some in times.items()}
    found = [row(f"rows: {name}", rate[name] / 1e6, "million rows a second") for name in passes]
    aims = {"statistics of columns by domain": "at least 1/3"}
    for name in list(passes)[1:]:
        found.append(row(f"rows: {name}, of reading alone", rate[name] / rate["pyarrow alone"], aim=aims.get(name, "")))
    return found


def workers(dataset: Dataset, quick: bool) -> list[Row]:
    """Two processes over one on eight parts, each pass over all columns; no more can be had than cores are idle."""
    from functools import partial

    from rpo._workers import shared

    times = range(4 if quick else 16)
    many = replace(dataset, parts=tuple(replace(part, offset=k) for k in times for part in dataset.parts))
    sample = draw(dataset, target="y", domain="site", rows=20_000, running=Running(progress=False))
    full = measuring_of(sample)
    passes = {"statistics": Measuring(full.dataset, full.roles, None, full.columns, None), "residuals": full}
    aim, found = f"at least 1.7 on idle cores; the load is {os.getloadavg()[0]:.1f}", []
    for name, work in passes.items():
        elapsed = {}
        for jobs in (2, 1, 2):  # the first time workers start
            start = time.perf_counter()
            passed(name, work, many, Sums(), _forget, Running(partial(shared, jobs=jobs), progress=False))
            elapsed[jobs] = time.perf_counter() - start
        found.append(row(f"rows: {name}, two processes over one, elapsed", elapsed[1] / elapsed[2], "times", aim))
    return found


def _forget(whole: Sums, given: Any) -> Sums:  # noqa: ARG001 (as of any pass)
    return whole


def taken(*words: object) -> tuple[str, dict[str, float]]:
    """What a command printed, and what it took: elapsed and CPU seconds, and the largest memory of a process in GB."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([*COMMAND, *map(str, words)], stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        elapsed = time.perf_counter() - start
        assert status == 0, words
        out.seek(0)
        return out.read(), {
            "elapsed s": round(elapsed, 1),
            "CPU s": round(used.ru_utime + used.ru_stime, 1),
            "GB": round(used.ru_maxrss / 2**20, 2),
        }


def quality(folder: Path, jobs: int) -> dict[str, float]:
    """`rpo quality`, which finds the five noisy sites."""
    words = ("quality", folder, "-t", "y", "-d", "site", "--jobs", jobs, "--json")
    out, used = taken(*words)
    found = json.loads(out)
    noisy = sorted(one["domain"] for one in found["domains"] if one["noisy"])
    assert noisy == [f"site{k}" for k in range(5)], noisy
    return {"rows": found["overview"]["rows"], **used}


def fit(folder: Path, jobs: int) -> dict[str, float]:
    """`rpo fit --method trees`."""
    with tempfile.TemporaryDirectory() as place:
        words = ("fit", folder, "-t", "y", "-d", "site", "--method", "trees", "--jobs", jobs)
        return taken(*words, "--out", Path(place) / "model", "--json")[1]


if __name__ == "__main__":
    millions = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        given = made(Path(sys.argv[2] if len(sys.argv) > 2 else place), millions)
        for number in (1, 2):
            print("quality,", number, "processes:", quality(given, number), "load", os.getloadavg()[0], flush=True)
        print("fit --method trees:", fit(given, 1), flush=True)
