"""`python -m tests.fuzzing tables|folders --count N --seed S`: spoiled inputs, one after another; what must not be.

Each finding is a line of JSON on standard output, with the number of its case; the last line counts them all. A case is
repeated by `--first NUMBER --count 1`, and kept in a folder by `--keep DIR`. Cases run in a process that may die of
them: it is started again behind the case that killed it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

EVERY = 250  # cases between two words about how far it is
ROOT = Path(__file__).parents[2]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("kind", choices=["tables", "folders"])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="copy the files of every finding here")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def inside(given: argparse.Namespace) -> None:
    """The cases in this process: before each its number, afterwards what was found."""
    from tests.fuzzing import folders, tables
    from tests.fuzzing.harness import limit_memory, place, worst

    module = {"tables": tables, "folders": folders}[given.kind]
    with place() as own:
        module.prepare(own)
        limit_memory()
        for number in range(given.first, given.first + given.count):
            print(f"case {number}", flush=True)
            start = time.process_time()
            with place() as folder:
                found = module.attack(module.case(given.seed, number), folder)
                if found and given.keep is not None:
                    shutil.copytree(folder, given.keep / str(number), symlinks=True, dirs_exist_ok=True)
            taken = round(time.process_time() - start, 3)
            print(json.dumps({"found": found, "seconds": taken, "worst": worst}), flush=True)


def main() -> int:
    """All cases, in processes of their own; how many have a finding."""
    given = arguments()
    if given.inside:
        inside(given)
        return 0
    first, last, findings, kinds, seconds = given.first, given.first + given.count, 0, dict[str, int](), 0.0
    worst = {"seconds": 0.0, "memory": 0.0, "code 0": 0}
    while first < last:
        words = [given.kind, "--seed", str(given.seed), "--first", str(first), "--count", str(last - first)]
        words += ["--keep", str(given.keep)] if given.keep else []
        command = [sys.executable, "-m", "tests.fuzzing", *words, "--inside"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            number, told = first - 1, True
            for line in process.stdout:
                if line.startswith("case "):
                    number, told = int(line.split()[1]), False
                    if number % EVERY == 0:
                        print(f"case {number}", file=sys.stderr, flush=True)
                    continue
                result, told = json.loads(line), True
                seconds += result["seconds"]
                worst = {name: max(worst[name], value) for name, value in result["worst"].items()}
                for problem in result["found"]:
                    print(json.dumps({"case": number, "problem": problem}), flush=True)
                    kind = problem.split(":")[0][:60]
                    kinds[kind] = kinds.get(kind, 0) + 1
                findings += bool(result["found"])
        if not told or number < first:
            print(json.dumps({"case": number, "problem": f"the process died (code {process.returncode})"}), flush=True)
            findings += 1
            kinds["died"] = kinds.get("died", 0) + 1
            if number < first:
                break
        first = number + 1
    done = first - given.first
    print(
        json.dumps(
            {"kind": given.kind, "seed": given.seed, "cases": done, "findings": findings, **kinds, "worst": worst}
        )
    )
    print(f"{done} cases, {findings} with a finding, {seconds:.0f} s of CPU time", file=sys.stderr)
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
