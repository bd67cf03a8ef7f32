"""How far a row of a table and a run of a study travel: files and functions of `rpo` that a command enters.

    python -m benchmarks.journeys

Each command runs in a process of its own, networks cut down to two steps of training, which changes nothing about its
way. Counted are the functions that it calls, not those that importing a module calls, and the files they stand in.
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

FIT = ["fit", "table.csv", "--target", "sales", "--domain", "state", "--out", "model"]
RPO = [*FIT, "--method", "rpo", "--steps", "2"]
TABLE1 = ["bench", "table1", "--profile", "quick", "--seeds", "2", "--jobs", "1", "--out", "out"]
JOURNEYS = {"rpo fit": FIT, "rpo fit --method rpo": RPO, "rpo bench table1": TABLE1}
# Files and functions at the commit before the packages were parted, by this script; `rpo fit` fitted RPO then.
BEFORE = {"rpo fit": (48, 226), "rpo fit --method rpo": (48, 226), "rpo bench table1": (66, 311)}


def journey(words: list[str]) -> tuple[int, int]:
    """The files and the functions that a command enters, counted in this process."""
    import rpo
    from rpo.cli import main
    from rpo_lab.table1 import PROFILES

    for module in walk_packages(rpo.__path__, "rpo."):  # so that nothing is imported on the way
        import_module(module.name)
    PROFILES["quick"] = replace(PROFILES["quick"], steps=2)
    root = str(Path(rpo.__file__).parent)
    entered: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and not code.co_name.startswith("<"):
            entered.add((code.co_filename, code.co_qualname))

    sys.argv = ["rpo", *words]
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
    return len({file for file, _ in entered}), len(entered)


def write_table(path: Path) -> None:
    """Cigar as somebody's own table."""
    from rpo.datasets import load_cigar

    load_cigar().frame.to_csv(path, index=False)


def measured() -> dict[str, tuple[int, int]]:
    """Files and functions of every journey."""
    found = {}
    for name, words in JOURNEYS.items():
        with tempfile.TemporaryDirectory() as folder:
            write_table(Path(folder) / "table.csv")
            command = [sys.executable, str(Path(__file__).resolve()), *words]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        files, functions = json.loads(done.stdout.splitlines()[-1])
        found[name] = (files, functions)
    return found


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(journey(sys.argv[1:])))
    else:
        for name, (files, functions) in measured().items():
            before = "{} files, {} functions".format(*BEFORE[name])
            print(f"{name}: {files} files, {functions} functions (before: {before})")
