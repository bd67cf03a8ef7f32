"""How all benchmarks measure: interleaved rounds, CPU time of this process, medians."""

import time
from collections.abc import Callable, Mapping
from statistics import median

Row = dict[str, object]


def medians(
    runs: Mapping[str, Callable[[], object]], rounds: int, *, calls: int = 1, warm: int = 1
) -> dict[str, float]:
    """Seconds of CPU time a call of each, as the median over rounds in which each had its turn."""
    for run in runs.values():
        for _ in range(warm):
            run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            for _ in range(calls):
                run()
            times[name].append((time.process_time() - start) / calls)
    return {name: median(values) for name, values in times.items()}


def row(name: str, value: float, unit: str = "ratio", aim: str = "") -> Row:
    """One line of the table."""
    return {"name": name, "value": float(f"{value:.4g}"), "unit": unit, "aim": aim}
