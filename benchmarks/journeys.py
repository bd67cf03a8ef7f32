"""How far a table and a run of a study travel: files and functions of the package that a command enters.

    python -m benchmarks.journeys

Each command runs in a process of its own, networks cut down to two steps of training, which changes nothing about their
way. Counted are the functions that are called, not those that importing a module calls, and the files they stand in.
"""

import json
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import FrameType
from typing import Any

ROLES = ["--target", "sales", "--domain", "state"]
JOURNEYS = {
    "rpo quality": ["quality", "table.parquet", *ROLES, "--report", "page.html"],
    "rpo quality, streamed": ["quality", "table.parquet", *ROLES, "--report", "page.html", "--jobs", "1"],
    "rpo fit": ["fit", "table.parquet", *ROLES, "--out", "model"],
    "rpo fit --method rpo": ["fit", "table.parquet", *ROLES, "--out", "model", "--method", "rpo", "--steps", "2"],
    "rpo bench table1": ["bench", "table1", "--profile", "quick", "--seeds", "2", "--jobs", "1", "--out", "out"],
}
# Files and functions before the tool and its laboratory were parted, by this script.
BEFORE = {
    "rpo quality": (58, 348),
    "rpo quality, streamed": (72, 456),
    "rpo fit": (47, 372),
    "rpo fit --method rpo": (47, 287),
    "rpo bench table1": (87, 587),
}
# Models of many rows as tables over bins: fast, and the price of that.
ASIDE = ("quick.py", "pieces.py", "places.py")
Entered = set[tuple[str, str]]


def enter(name: str) -> Entered:
    """Run a command in this process, and return the files and functions that it enters."""
    import rpo
    import rpo_lab
    from rpo._table import reading
    from rpo.cli import main
    from rpo_lab.table1 import PROFILES

    for package in (rpo, rpo_lab):  # so that nothing is imported on the way
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    PROFILES["quick"] = replace(PROFILES["quick"], steps=2)
    if name.endswith("streamed"):
        reading.STREAMED = 100
    root = str(Path(rpo.__file__).parents[1])
    entered: Entered = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and not code.co_name.startswith("<"):
            entered.add((code.co_filename.removeprefix(f"{root}/"), code.co_qualname))

    sys.argv = ["rpo", *JOURNEYS[name]]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return entered


def write_table(path: Path) -> None:
    """Write Cigar as somebody's own table."""
    from rpo.datasets import load_cigar

    load_cigar().frame.to_parquet(path, index=False)


def measure(name: str) -> Entered:
    """Return the files and functions of a journey, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder) / "table.parquet")
        command = [sys.executable, str(Path(__file__).resolve()), name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return {(file, function) for file, function in json.loads(done.stdout.splitlines()[-1])}


def count(entered: Entered) -> tuple[int, int]:
    """Return the number of files and of functions."""
    return len({file for file, _ in entered}), len(entered)


def only_streamed(journeys: dict[str, Entered]) -> Entered:
    """Return what is entered only when a table is streamed."""
    streamed = journeys["rpo quality, streamed"] - journeys["rpo quality"]
    return {(file, function) for file, function in streamed if Path(file).name not in ASIDE}


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(sorted(enter(sys.argv[1]))))
    else:
        journeys = {name: measure(name) for name in JOURNEYS}
        for name, entered in journeys.items():
            before = "{} files, {} functions".format(*BEFORE[name])
            print("{}: {} files, {} functions (before: {})".format(name, *count(entered), before))
        print(f"only streamed: {len(only_streamed(journeys))} functions (before: 136)")
