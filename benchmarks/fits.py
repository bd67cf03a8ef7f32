"""What a Quality model costs: CPU of its fit over that of one fit of boosted trees; growth, memory; a comparison."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

import rpo
from benchmarks.timing import Row, medians, row

AIMS = {"trees": "at most 30", "auto": "at most 80"}
LARGE = 1_000_000


def rows(quick: bool = False) -> list[Row]:
    """Fits of 10,000 rows beside boosted trees in turn; a million rows and a comparison in processes of their own."""
    x, y, site = table(10_000)
    runs = {
        "boosted": lambda: HistGradientBoostingRegressor(random_state=0).fit(x, y),
        **{name: lambda name=name: fit(name, x, y, site) for name in AIMS},  # type: ignore[misc]
    }
    found = medians(runs, 1 if quick else 3, warm=0 if quick else 1)
    made = [
        row(
            f'QualityRegressor("{name}"), 10,000 × 20, 50 domains: fits of boosted trees',
            found[name] / found["boosted"],
            aim=aim,
        )
        for name, aim in AIMS.items()
    ]
    if not quick:
        for name in AIMS:
            words = [sys.executable, "-m", "benchmarks.fits", name]
            seconds, memory = map(
                float, subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
            )
            made.append(
                row(f'QualityRegressor("{name}"), 1,000,000 × 20: CPU over that at 10,000', seconds / found[name])
            )
            made.append(row(f'QualityRegressor("{name}"), 1,000,000 × 20: peak memory', memory, "MB", "at most 3,000"))
        made.append(row("rpo compare, 1,000 × 15, 4 domains, two cores", compared(), "s", "at most 60"))
    return made


def table(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Fifty domains, five of them noisy, each of a level of its own."""
    rng = np.random.default_rng(0)
    x, site = rng.normal(size=(n, 20)), np.arange(n) % 50
    signal = x[:, 0] + np.sin(x[:, 1]) + x[:, 2] * x[:, 3] + 0.3 * rng.normal(size=50)[site]
    return x, signal + rng.normal(size=n) * np.where(site < 5, 2.0, 0.7), site


def fit(name: str, x: NDArray[np.float64], y: NDArray[np.float64], site: NDArray[np.int64]) -> None:
    """One model, judged, decided and fitted."""
    rpo.QualityRegressor(name, verbose=False).fit(x, y, domains=site)


def compared() -> float:
    """Seconds of the command, from its start to the verdict."""
    rng = np.random.default_rng(0)
    frame = (
        pd.DataFrame(rng.normal(size=(1_000, 15)))
        .add_prefix("c")
        .assign(site=np.array(list("abcd"))[np.arange(1_000) % 4])
    )
    frame["y"] = frame["c0"] + np.sin(frame["c1"]) + rng.normal(size=1_000) * np.where(frame["site"] == "d", 1.5, 0.5)
    with tempfile.TemporaryDirectory() as place:
        frame.to_csv(Path(place) / "t.csv", index=False)
        words = ["compare", f"{place}/t.csv", "-t", "y", "-d", "site", "--out", f"{place}/out", "--jobs", "2"]
        start = time.perf_counter()
        code = f"import sys; sys.argv = {['rpo', *words]!r}; from rpo.cli import main; main()"
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        return time.perf_counter() - start


def main() -> None:
    """Print CPU seconds and peak memory in megabytes of one fit to a million rows."""
    import resource

    x, y, site = table(LARGE)
    start = time.process_time()
    fit(sys.argv[1], x, y, site)
    print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
