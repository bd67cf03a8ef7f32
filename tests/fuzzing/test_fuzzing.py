"""The fuzzers: no traceback, no hang, no silent difference, no memory beyond a gigabyte; few inputs fast, many slow."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("kind, count", [("tables", 25), ("folders", 60)])
def test_a_few_spoiled_inputs(kind, count):
    assert findings(kind, 1_000_000, count) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_five_thousand_spoiled_tables(part):
    assert findings("tables", part * 1_250, 1_250) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_two_thousand_spoiled_folders(part):
    assert findings("folders", part * 1_000, 1_000) == []
