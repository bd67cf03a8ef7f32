"""Your own table: how `rpo quality` and `rpo fit` grow with the rows."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.timing import Row, row

PEAK = """
import re, sys, time
from rpo.cli import main
start = time.process_time()
sys.argv = ["rpo", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
print("\\n", time.process_time() - start, peak)
"""


def rows(quick: bool = False) -> list[Row]:
    """CPU seconds and peak memory of the commands on tables of 20 columns."""
    sizes = (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            path = Path(folder, f"{n}.csv")
            large(n).to_csv(path, index=False)
            found.append(row(f"reading {n:,} rows × 20 columns", _reading(path), "CPU s"))
            for command in ("quality", "fit"):
                options = ["--out", f"{folder}/{n}"] if command == "fit" else []
                seconds, peak = _run(command, str(path), "-t", "y", "-d", "site", *options)
                aim = "below 3,000" if n == max(sizes) else ""
                found.append(
                    row(f"rpo {command}, {n:,} rows × 20 columns", seconds, "CPU s", "grows no faster than rows")
                )
                found.append(row(f"rpo {command}, {n:,} rows × 20 columns: peak memory", peak, "MB", aim))
    return found


def large(n: int) -> pd.DataFrame:
    """Numbers, categories, dates; noise four times as large where x2 > 1."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 16)).round(4), columns=[f"x{i}" for i in range(16)])
    frame["kind"] = np.array(list("abcdefgh"))[rng.integers(0, 8, n)]
    frame["day"] = np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]")
    frame["site"] = rng.integers(0, 50, n)
    noise = rng.normal(size=n) * np.where(frame["x2"] > 1, 2.0, 0.5)
    return frame.assign(y=(frame["x0"] + np.sin(frame["x1"]) + noise).round(4))


def _reading(path: Path) -> float:
    from rpo._table.reading import read_table

    start = time.process_time()
    read_table(path)
    return time.process_time() - start


def _run(*words: str) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *words], capture_output=True, text=True, check=True, env=os.environ
    )
    seconds, peak = map(float, done.stdout.splitlines()[-1].split())
    return seconds, peak
