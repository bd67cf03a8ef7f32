import errno
import os
import subprocess
import sys

import pytest

from rpo._io import write_whole
from rpo.exceptions import InputError
from rpo_lab.runner.specification import DataSpec, Run
from rpo_lab.runner.store import Measured, Record, Store

RUN = Run(data=DataSpec(name="confounded"), method="rpo", seed=1)
MEASURED = Measured(validation_risk=[0.123456789, 1.0], validation_irm=[0.0, 2.0], test={"test": {"mse": 3.0}})
RECORD = Record(run=RUN, status="done", measured=MEASURED, seconds=1.5, versions={"rpo": "0"})


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "out")
    with store.lock():
        store.write(RECORD)
    return store


def test_a_record_comes_back_as_it_was(store):
    assert store.read(RUN) == RECORD
    assert store.read(RUN).measured.validation_risk == [0.123457, 1.0]
    assert store.read(RUN.model_copy(update={"seed": 2})) is None
    assert [path.name for path in store.runs.iterdir()] == [f"{RUN.digest}.json"]


def _truncate(content):
    return content[: len(content) // 2]


def _flip(content):
    return content.replace(b'"mse":3.0', b'"mse":2.0')


def _empty(content):
    return b""


def _list(content):
    return b"[1, 2]"


@pytest.mark.parametrize("damage", [_truncate, _flip, _empty, _list])
def test_a_corrupt_record_is_found_named_and_set_aside(store, damage):
    path = store.runs / f"{RUN.digest}.json"
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    assert store.read(RUN) is None
    assert store.corrupt == [path]
    store.set_aside()
    assert store.aside == [path.with_suffix(".json.corrupt")]
    assert store.aside[0].read_bytes() == damaged
    assert not path.exists()


def test_another_runs_record_under_this_name_is_corrupt(store):
    other = RUN.model_copy(update={"seed": 2})
    (store.runs / f"{RUN.digest}.json").rename(store.runs / f"{Run.model_validate(other.model_dump()).digest}.json")
    assert store.read(Run.model_validate(other.model_dump())) is None
    assert len(store.corrupt) == 1


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(tmp_path, monkeypatch, call):
    path = tmp_path / "file"
    write_whole(path, "old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(InputError, match="No space left on device") as caught:
        write_whole(path, "new")
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot create the folder"), Store(tmp_path / "file").lock():
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_one_line(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"), Store(tmp_path / "out").lock():
        pass


HOLD = """
import sys, pathlib
from rpo_lab.runner.store import Store
with Store(pathlib.Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_share_a_folder(store):
    command = [sys.executable, "-c", HOLD, str(store.folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"in use by process {holder.pid}"), store.lock():
            pass
        holder.kill()
        holder.wait()
    with store.lock():  # a killed process leaves no lock
        pass


def test_what_a_killed_writer_left_is_removed_and_nothing_else(store):
    left = store.runs / ".rpo-0123456789abcdef.partial"
    left.write_text("{")
    others = [store.folder / "thesis.partial", store.runs / "half.json.partial", store.folder / "x" / left.name]
    for other in others:
        other.parent.mkdir(exist_ok=True)
        other.write_text("years of work")
    (store.folder / ".rpo-fedcba9876543210.partial").mkdir()
    with store.lock():
        assert not left.exists()
    assert [other.read_text() for other in others] == ["years of work"] * 3
    assert store.read(RUN) == RECORD
