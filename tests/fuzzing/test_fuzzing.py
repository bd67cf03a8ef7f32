"""The fuzzers: no traceback, no hang, no silent difference, no memory beyond a gigabyte; and they would notice."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.fuzzing import tables
from tests.fuzzing.cells import damaged
from tests.fuzzing.harness import BEYOND, Ended, watched

ROOT = Path(__file__).parents[2]
SEED = os.environ.get("FUZZ_SEED", "0")


def findings(kind, first, count):
    """What the fuzzer says of so many cases."""
    words = [kind, "--seed", SEED, "--first", str(first), "--count", str(count)]
    command = [sys.executable, "-m", "tests.fuzzing", *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    *problems, total = [json.loads(line) for line in done.stdout.splitlines()]
    assert total["cases"] == count
    return problems


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_five_thousand_spoiled_tables(part):
    assert findings("tables", part * 1_250, 1_250) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(2))
def test_two_thousand_spoiled_folders(part):
    assert findings("folders", part * 1_000, 1_000) == []


@pytest.mark.parametrize(
    "ended, words",
    [
        (Ended(70, "", "Traceback", 0, 0), "exit code 70"),
        (Ended(2, "", "rpo: no\nsecond line\n", 0, 0), "not one line"),
        (Ended(2, "", "rpo: " + "x" * 900, 0, 0), "not one line"),
        (Ended(2, "half a table", "rpo: no\n", 0, 0), "results beside an error"),
        (Ended(0, "", "RuntimeWarning: overflow\n", 0, 0), "words of a library"),
        (Ended(0, "\x1b[2J", "", 0, 0), "control character"),
        (Ended(0, "", "", 61, 0), "it took 61 s"),
        (Ended(0, "", "", 0, BEYOND + 2), "it took 1024 MB"),
    ],
)
def test_what_must_not_be_is_noticed(ended, words):
    assert any(words in problem for problem in ended.problems(own=1))


def test_what_may_be_is_no_finding():
    assert Ended(2, "", "rpo: there is no file\n", 1, 1).problems() == []
    assert Ended(0, "a table\n", "note: the target is numbers\n", 1, 1).problems() == []


def test_hangs_tracebacks_and_memory_are_measured():
    def hang():
        while True:
            pass

    def grow():
        return np.ones(30 << 20).sum() and None

    start = time.process_time()
    assert watched(hang, seconds=1).problems()[0].startswith("exit code 124")
    assert time.process_time() - start < 10
    assert "ZeroDivisionError" in watched(lambda: 1 / 0).err
    assert watched(grow).memory > 200 << 20


def test_cases_are_the_same_for_the_same_seed():
    for number in range(20):
        assert tables.case(5, number) == tables.case(5, number)
    assert damaged(np.random.default_rng(3), b"abc" * 50) == damaged(np.random.default_rng(3), b"abc" * 50)
