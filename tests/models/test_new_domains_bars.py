"""What must hold on real tables with domains held out, twenty splits each: coverage, width, alarms, adapting."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.data.real import fetch_tables

ROOT = Path(__file__).parents[2]
LEVELS = ("0.8", "0.9")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    try:
        fetch_tables()
    except InputError as error:
        pytest.skip(f"real tables: {error}")
    out = tmp_path_factory.mktemp("study") / "found.json"
    subprocess.run([sys.executable, "-m", "benchmarks.new_domains", "--out", out], cwd=ROOT, check=True)
    return json.loads(out.read_text())


@pytest.mark.long
def test_held_out_domains_are_covered_and_not_too_much(found):
    for level in LEVELS:
        covered = {name: row[level]["ours"][0] for name, row in found["tables"].items() if level in row}
        assert len(covered) >= 10
        assert {name: share for name, share in covered.items() if share < float(level) - 0.01} == {}
        assert np.mean(list(covered.values())) <= float(level) + 0.05


@pytest.mark.long
def test_local_noise_makes_intervals_no_wider_on_three_tables_of_four(found):
    tables = [row for row in found["tables"].values() if not row["classes"]]
    for level in LEVELS:
        rows = [row[level] for row in tables if level in row]
        assert np.mean([row["ours"][1] <= row["unscaled"][1] * (1 + 1e-9) for row in rows]) >= 0.75


@pytest.mark.long
def test_p_values_are_uniform_and_trouble_is_flagged(found):
    every = found["all"]
    assert {name: p for name, (p, _) in every["uniform"].items() if p <= 0.01} == {}
    for name in ("shuffled, can tell", "swapped", "swapped, with target"):
        share, number = every[name]
        assert number > 200
        assert share >= 0.9, name
    assert every["unlabelled"][0] < 0.15


@pytest.mark.long
def test_adapting_does_no_harm_and_helps_where_domains_differ_in_level(found):
    for name, row in found["tables"].items():
        for rows in (10, 30, 100):
            if f"adapt {rows}" in row:
                assert row[f"adapt {rows}"][0] < 1.01, (name, rows)
        if row["level"] > 0.05 and "adapt 100" in row:
            assert row["adapt 100"][0] < 1, name
