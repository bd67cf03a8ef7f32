"""Shared by all tests: as many threads a process as OMP_NUM_THREADS says, else one: times depend on no neighbour."""

import json
import os
import sys
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import settings

from rpo._saving.folders import MANIFEST, make_manifest
from rpo.cli import main
from rpo.engine.drawing import Seeded
from rpo.exceptions import InputError
from rpo.methods import REGISTRY, get_method
from rpo_lab.data.mnist import fetch_mnist

Command = Callable[..., tuple[int, str, str]]

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
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


@pytest.fixture
def registry():
    """The methods; afterwards those of a test are gone."""
    get_method("rpo")
    before = dict(REGISTRY)
    yield REGISTRY
    for name in REGISTRY.keys() - before.keys():
        home = REGISTRY[name].objective.__module__
        if home != "__main__":
            sys.modules.pop(home, None)  # or it would not be imported again
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.fixture
def reseal():
    """A folder's manifest made to fit what is in it now: what somebody would do who means harm."""

    def reseal(folder):
        small = (file for file in folder.iterdir() if file.is_file() and file.stat().st_size < 1 << 24)
        files = {file.name: file.read_bytes() for file in small if file.name != MANIFEST}
        known = json.loads((folder / MANIFEST).read_bytes())["files"] | json.loads(make_manifest(files))["files"]
        (folder / MANIFEST).write_text(json.dumps({"format": 1, "files": known}))

    return reseal


@pytest.fixture
def seeded():
    """What the test draws from torch, and the layers it makes, come from one seed."""
    with Seeded(0):
        yield


@pytest.fixture(autouse=True)
def no_global_generator():
    """No test, and nothing it calls, draws from the generators that all of a process shares, or sets them."""
    before = torch.get_rng_state(), np.random.get_state(legacy=False)  # noqa: NPY002
    yield
    assert torch.equal(torch.get_rng_state(), before[0]), "torch's own generator was used: give a generator"
    now = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    same = now["pos"] == before[1]["state"]["pos"] and np.array_equal(now["key"], before[1]["state"]["key"])
    assert same, "NumPy's own generator was used: give a generator"


@pytest.fixture
def command(monkeypatch, capsys) -> Command:
    """Run `rpo …`; its exit code, standard output and standard error."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rpo", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return int(stop.value.code or 0), out, err

    return run
