"""Lets the tests here import the module `trees` beside them; a wheel of two tiny tables in place of the true one."""

import sys
from pathlib import Path

import pytest

from tests.lab.data.small_wheel import small_wheel

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    return small_wheel(tmp_path, monkeypatch)
