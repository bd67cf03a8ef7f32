"""Shared by all tests: one thread a process, so that results and times do not depend on the neighbours."""

import os

import numpy as np
import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("rpo", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("rpo")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def double():
    """Tests that compare with autograd work in double precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
