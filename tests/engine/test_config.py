"""One thread for small work, and no other training hears of it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from rpo.engine.config import WORTH_SHARING, threads_for


def elsewhere():
    """The number of threads of a Python thread that has just begun."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.get_num_threads).result()


@pytest.fixture
def _two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize("numbers, here", [(WORTH_SHARING - 1, 1), (WORTH_SHARING, 2)])
def test_small_work_has_one_thread_and_other_python_threads_keep_theirs(numbers, here):
    with threads_for(numbers):
        assert torch.get_num_threads() == here
        assert elsewhere() == 2
    assert torch.get_num_threads() == 2
    assert elsewhere() == 2
