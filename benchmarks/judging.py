"""What a judgement costs: CPU of `rpo.quality` over that of one fit of boosted trees to the same table."""

import subprocess
import sys
import time
from statistics import median

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import rpo
from benchmarks.timing import Row, row

KINDS = ("linear", "curved", "classes")
AIMS = {10_000: "at most 15", 1_000_000: "at most 4"}


def rows(quick: bool = False) -> list[Row]:
    """Ratios in one process, the two in turn; peak memory of the largest in a process of its own."""
    found = []
    for n in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        for kind in KINDS:
            rounds = 1 if quick or n > 10_000 else 3
            found.append(
                row(
                    f"rpo.quality, {n:,} × 20, {kind}: fits of boosted trees",
                    ratio(n, kind, rounds),
                    aim=AIMS.get(n, ""),
                )
            )
    if not quick:
        done = subprocess.run([sys.executable, "-m", "benchmarks.judging"], capture_output=True, text=True, check=True)
        found.append(row("rpo.quality, 1,000,000 × 20: peak memory", float(done.stdout), "MB", "at most 2,000"))
    return found


def table(n: int, kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Ten domains, one of them noisy: straight, curved, or two classes."""
    rng = np.random.default_rng(0)
    x, site = rng.normal(size=(n, 20)), rng.integers(0, 10, n)
    signal = x[:, 0] - x[:, 1] / 2
    if kind == "curved":
        signal = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + (x[:, 3] > 0)
    if kind != "classes":
        return x, signal + rng.normal(size=n) * np.where(site == 0, 2.0, 0.3), site
    y = rng.uniform(size=n) < 1 / (1 + np.exp(-2 * signal))
    return x, np.where((site == 0) & (rng.uniform(size=n) < 0.3), ~y, y).astype(float), site


def ratio(n: int, kind: str, rounds: int) -> float:
    """The median over rounds in which each has its turn."""
    x, y, site = table(n, kind)
    classes = kind == "classes"
    trees = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    rpo.quality(x[:500], y[:500], domains=site[:500], verbose=False)  # everything imported
    found = []
    for _ in range(rounds):
        start = time.process_time()
        trees(random_state=0).fit(x, y)
        fitted = time.process_time()
        rpo.quality(x, y, domains=site, task="classification" if classes else "regression", verbose=False)
        found.append((time.process_time() - fitted) / (fitted - start))
    return median(found)


def main() -> None:
    """Print the peak memory of a judgement of a million rows, in megabytes."""
    import resource

    x, y, site = table(1_000_000, "curved")
    rpo.quality(x, y, domains=site, verbose=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
