"""Shared by all tests: one thread a process, so that results and times do not depend on the neighbours."""

import os

import numpy as np
import pytest
import torch
from hypothesis import settings

from rpo.exceptions import InputError
from rpo.paper.data.mnist import fetch_mnist

torch.set_num_threads(1)
settings.register_profile("rpo", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("rpo")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def mnist() -> None:
    """MNIST in the cache, fetched if it is not there; where it is not to be had, tests that need it say so and stop."""
    try:
        fetch_mnist()
    except InputError as error:
        pytest.skip(f"MNIST: {error}")


@pytest.fixture
def double():
    """Tests that compare with autograd work in double precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
