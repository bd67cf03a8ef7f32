"""Workers of this machine: one that dies is replaced; what kills every worker ends in one line."""

import os
import signal
from collections import deque
from functools import partial
from pathlib import Path

import pytest

from rpo._workers import MOST_DEATHS, shared
from rpo.exceptions import TrainingError


def dies_once(folder, piece):
    """The square of a number; the first worker that is given a 3 dies of it."""
    with open(Path(folder, str(piece)), "a") as file:
        file.write("x")
    if piece == 3 and Path(folder, str(piece)).stat().st_size == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return piece**2


def dies_always(folder, piece):
    if piece == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return dies_once(folder, piece)


def test_a_worker_that_dies_is_replaced_and_nothing_is_lost_or_doubled(tmp_path):
    found = list(shared(partial(dies_once, tmp_path), range(8), jobs=2))
    assert sorted(found) == [(k, k**2) for k in range(8)]
    assert (tmp_path / "3").stat().st_size == 2


def test_what_kills_every_worker_ends_in_one_line_and_the_rest_is_done(tmp_path):
    found = []
    work = shared(partial(dies_always, tmp_path), range(6), jobs=2)
    with pytest.raises(TrainingError, match=f"{MOST_DEATHS} worker processes were killed one after another"):
        deque(map(found.append, work))
    assert sorted(found) == [(k, k**2) for k in range(6) if k != 3]
