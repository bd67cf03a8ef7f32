"""The loss on two processes against one process with all rows: real processes, gloo, loopback."""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from rpo.exceptions import InputError
from rpo.functional import Sloped, lipirm_loss, output_and_slope, sum_over_ranks

SCRIPT = Path(__file__).with_name("two_ranks.py")
two_ranks = SimpleNamespace(**runpy.run_path(str(SCRIPT)))
pytestmark = pytest.mark.usefixtures("seeded")
LIMIT = {torch.float32: 1e-6, torch.float64: 1e-10}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each of two processes got."""
    folder = tmp_path_factory.mktemp("ranks")
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    words = [sys.executable, str(SCRIPT)]
    processes = [
        subprocess.Popen([*words, str(rank), "2", str(folder / "store"), str(folder)], env=environment)
        for rank in range(2)
    ]
    assert [process.wait(timeout=100) for process in processes] == [0, 0]
    return [load_file(folder / f"{rank}.safetensors") for rank in range(2)]


@pytest.mark.parametrize("dtype", LIMIT, ids=str)
@pytest.mark.parametrize("name", two_ranks.CASES)
def test_two_processes_give_the_gradients_of_one(found, name, dtype):
    one = two_ranks.gradients(name, dtype, slice(None))
    assert max(float(value.abs().max()) for value in one.values()) > 0.1
    for rank in range(2):
        for part, value in one.items():
            theirs = found[rank][f"{name}/{dtype}/{part}"]
            # Of sums as large as tens the last digit of float32 is no smaller than this.
            error = float((theirs - value).abs().max()) / max(1.0, float(value.abs().max()))
            assert error <= LIMIT[dtype], (rank, part)


def test_each_process_would_be_wrong_alone(found):
    """The square of a mean over ranks is no mean of squares: without the reduction the gradients differ."""
    halves = [two_ranks.gradients("regression", torch.float64, rows) for rows in (slice(0, 7), slice(7, None))]
    one = two_ranks.gradients("regression", torch.float64, slice(None))
    mean = (halves[0]["0.weight"] + halves[1]["0.weight"]) / 2
    assert float((mean - one["0.weight"]).abs().max()) > 1e-2


def test_without_a_group_nothing_is_summed():
    values = torch.randn(3, requires_grad=True)
    assert sum_over_ranks(values, None) is values


def test_the_wrapper_changes_nothing():
    model, x = nn.Linear(3, 1), torch.randn(5, 3)
    for wrapped, plain in zip(output_and_slope(Sloped(model), x), output_and_slope(model, x), strict=True):
        assert torch.equal(wrapped, plain)


def test_a_model_wrapped_without_its_slope_is_refused_in_one_line(tmp_path, monkeypatch):
    from torch import distributed

    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    store = f"file://{tmp_path / 'store'}"
    distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    try:
        model = DistributedDataParallel(nn.Linear(2, 1))
        x, y, domain = torch.randn(4, 2), torch.randn(4), torch.tensor([0, 0, 1, 1])
        with pytest.raises(InputError, match=r"wrap as DDP\(Sloped\(model\)\)"):
            lipirm_loss(model, x, y, domain, eta=1.0, rho=1.0, lam=0.1, task="regression")
    finally:
        distributed.destroy_process_group()


@pytest.mark.long
def test_the_example_trains_alike_on_one_process_and_on_two():
    example = Path(__file__).parents[2] / "examples" / "ddp.py"
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    two = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

    def losses(*words):
        command = [sys.executable, *words, str(example)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=200)
        return [line.split("(")[0] for line in done.stdout.splitlines()]

    one = losses()
    assert len(one) == 5
    assert losses(*two) == one
