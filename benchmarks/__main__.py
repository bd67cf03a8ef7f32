"""`python -m benchmarks [NAME …] [--quick] [--out FILE]`: print the measured ratios and write them as JSON."""

import argparse
import json
import os
import platform
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.timing import Row

NAMES = (
    "step",
    "methods",
    "sweep",
    "stages",
    "growth",
    "theory",
    "table1",
    "cmnist",
    "tables",
    "judging",
    "fits",
    "scale",
    "rows",
    "detection",
    "loader",
)


def main() -> None:
    """Run the benchmarks asked for, all by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, nothing compiled")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/latest.json"), help="where to write JSON")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}: use some of {', '.join(NAMES)}")
    console = Console(width=140)
    found: list[Row] = []
    for name in options.names or NAMES:
        with console.status(f"measuring: {name}"):
            rows: list[Row] = import_module(f"benchmarks.{name}").rows(quick=options.quick)
        table = Table(title=name, title_justify="left")
        for column in ("name", "value", "unit", "aim"):
            table.add_column(column, justify="right" if column == "value" else "left")
        for row in rows:
            table.add_row(*(str(row[column]) for column in ("name", "value", "unit", "aim")))
        console.print(table)
        found += rows
    machine = {"cores": os.cpu_count(), "processor": platform.machine(), "torch": version("torch")}
    load = os.getloadavg()[0]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"machine": machine, "load": load, "rows": found}, indent=2, ensure_ascii=False))
    console.print(f"load {load:.2f} on {os.cpu_count()} cores; written to {options.out}")


if __name__ == "__main__":
    main()
