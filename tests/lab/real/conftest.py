"""Small tables in the place of the real ones."""

import runpy
from pathlib import Path

import pytest

from rpo_lab.real import folds

SMALL = runpy.run_path(str(Path(__file__).with_name("small.py")))


@pytest.fixture
def small(monkeypatch):
    """A table of 180 rows in ten domains, whatever the name."""
    monkeypatch.setattr(folds, "load_real", SMALL["small_table"])
    for cached in (folds.real_table, folds.make_fold):
        cached.cache_clear()
    yield SMALL
    for cached in (folds.real_table, folds.make_fold):
        cached.cache_clear()
