"""A study of a few seconds, for tests; as a script it is the process that gets killed.

`small.py FOLDER JOBS` runs it once, with `--cluster ADDRESS` on a cluster. With `--fork` it runs in a new process for
every line of standard input, and says that process's number and how it ended: one import of everything for many kills.
"""

import os
import sys
from pathlib import Path

from rpo.exceptions import TrainingError
from rpo_lab.runner.render import to_csv
from rpo_lab.runner.results import make_results
from rpo_lab.runner.runner import cluster_at, execute
from rpo_lab.runner.selection import get_rule
from rpo_lab.runner.specification import DataSpec, Training
from rpo_lab.runner.store import Store
from rpo_lab.runner.study import Row, Setting, Study


def study(steps: int = 20, seeds: int = 2, leave_one_out: bool = False) -> Study:
    return Study(
        name="small",
        rows=(
            Row("ERM", "erm-l2", ({"c": 1e-3}, {"c": 1e-2})),
            Row("IRM", "irm-lip", ({"eta": 10.0, "lam": "formula"},)),
            Row("RPO", "rpo"),
            Row("mean", "mean", ranked=False),
        ),
        settings=tuple(
            Setting(f"Cigar {q}", DataSpec(name="confounded", options={"quality": q})) for q in ("clean", "mix")
        ),
        seeds=tuple(range(seeds)),
        reference="RPO",
        training=Training(hidden=(4,), steps=steps),
        leave_one_out=leave_one_out,
    )


def table(of: Study, records: dict) -> str:
    return to_csv(make_results(of, records, get_rule("validation"), title="small"))


# Long enough to be killed in, one run a stack so that there is much to lose; `--long` for many kills.
KILLED = {"steps": 80, "seeds": 4}
LONG = {"steps": 80, "seeds": 16}


def main(folder: Path, jobs: int, address: str | None = None) -> None:
    killed = study(**(LONG if "--long" in sys.argv else KILLED))
    cluster = cluster_at(address)
    found = execute(killed.runs(), Store(folder), jobs=jobs, cluster=cluster, width=1, progress=False)
    (folder / "table.csv").write_text(table(killed, found))


if __name__ == "__main__":
    arguments = Path(sys.argv[1]), int(sys.argv[2])
    if "--cluster" in sys.argv:
        try:
            main(*arguments, sys.argv[-1])
        except TrainingError as error:
            print(f"rpo: {error}", file=sys.stderr)
            sys.exit(2)
        sys.exit()
    if "--fork" not in sys.argv:
        main(*arguments)
        sys.exit()
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            main(*arguments)
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
