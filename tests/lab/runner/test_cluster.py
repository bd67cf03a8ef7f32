"""Studies on a Dask cluster: real processes on the loopback interface, and what happens when they die."""

import asyncio
import gc
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rpo import _cluster as dask
from rpo._cluster import connect
from rpo.exceptions import InputError, TrainingError
from rpo.methods import load_plugin
from rpo_lab.runner.runner import execute
from rpo_lab.runner.store import Store
from rpo_lab.runner.study import Row

SCRIPT = Path(__file__).with_name("small.py")
clusters = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("clusters.py"))))


def _without_time(records):
    return {digest: record.model_dump(exclude={"seconds"}) for digest, record in records.items()}


def _start(folder, address):
    command = [sys.executable, str(SCRIPT), str(folder), "1", "--cluster", address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _wait_for_records(folder, number, process):
    while len(list((folder / "runs").glob("*.json"))) < number:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.fixture
def undisturbed(small, tmp_path):
    study = small.study(**small.KILLED)
    records = execute(study.runs(), Store(tmp_path / "undisturbed"), width=1, progress=False)
    return study, records, small.table(study, records)


def test_a_scheduler_and_a_worker_give_the_same_records(small, tmp_path, monkeypatch, registry):
    """Also of a method whose module no worker has."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "examples" / "own_method")
    load_plugin("rpo_vrex")
    study = small.study()
    study = replace(study, rows=(*study.rows, Row("mine", "my-vrex")))
    local = execute(study.runs(), Store(tmp_path / "local"), progress=False)
    with clusters.cluster(tmp_path / "cluster", workers=1) as running:
        far = execute(study.runs(), Store(tmp_path / "far"), cluster=running.address, progress=False)
    assert {record.status for record in far.values()} == {"done"}
    assert _without_time(far) == _without_time(local)


@pytest.mark.slow
def test_two_workers_give_the_same_records(tmp_path, undisturbed):
    study, records, _ = undisturbed
    with clusters.cluster(tmp_path / "cluster", workers=2) as running:
        far = execute(study.runs(), Store(tmp_path / "far"), cluster=running.address, width=1, progress=False)
    assert _without_time(far) == _without_time(records)


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(tmp_path, undisturbed):
    study, _, table = undisturbed
    with clusters.cluster(tmp_path / "cluster", workers=2) as running:
        process = _start(tmp_path / "out", running.address)
        _wait_for_records(tmp_path / "out", 3, process)
        running.workers[0].send_signal(signal.SIGKILL)
        _, err = process.communicate()
    assert process.returncode == 0, err
    names = sorted(path.name for path in (tmp_path / "out" / "runs").iterdir())
    assert names == sorted(f"{run.digest}.json" for run in study.runs())
    assert (tmp_path / "out" / "table.csv").read_text() == table


@pytest.mark.slow
def test_the_scheduler_killed_is_one_line_and_the_same_command_goes_on(tmp_path, undisturbed):
    study, _, table = undisturbed
    out = tmp_path / "out"
    with clusters.cluster(tmp_path / "cluster", workers=2) as running:
        process = _start(out, running.address)
        _wait_for_records(out, 3, process)
        running.scheduler.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        _, err = process.communicate()
        assert time.monotonic() - killed < 30
    assert process.returncode == 2
    assert err.strip().splitlines()[-1].startswith(f"rpo: the scheduler at {running.address} is gone")
    assert len([line for line in err.splitlines() if "no workers yet" not in line]) == 1
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "runs").iterdir()}
    assert 3 <= len(kept) < len(study.runs())
    with clusters.cluster(tmp_path / "again", workers=2) as running:
        process = _start(out, running.address)
        _, err = process.communicate()
    assert process.returncode == 0, err
    assert {name: (out / "runs" / name).stat().st_mtime_ns for name in kept} == kept
    assert (out / "table.csv").read_text() == table


@pytest.mark.parametrize(
    "error, words",
    [
        (ConnectionResetError(), "the scheduler at tcp://here is gone: finished work is kept"),
        (asyncio.CancelledError(), "the scheduler at tcp://here is gone"),
        (KeyError("a\nb"), r"gave an unexpected answer \(KeyError: 'a\\nb'\): finished work is kept"),
        (TrainingError("a worker failed"), "^a worker failed$"),
    ],
)
def test_whatever_breaks_while_the_scheduler_is_asked_is_one_line(error, words):
    with pytest.raises(TrainingError, match=words), dask.scheduler_needed("tcp://here"):
        raise error


@pytest.mark.slow
def test_a_stack_that_kills_every_worker_ends_in_one_line(small, tmp_path):
    """Workers are killed as soon as one has the stack; five are given, Dask gives up after four."""
    run = small.study(steps=10**6).runs()[0]
    with clusters.cluster(tmp_path / "cluster", workers=0) as running:
        over = threading.Event()

        def kill_whoever_works():
            while not over.is_set():
                worker = running.add_worker()
                end = time.monotonic() + 8  # by then it has joined and begun
                while time.monotonic() < end and not over.is_set():
                    time.sleep(0.05)
                worker.kill()

        killer = threading.Thread(target=kill_whoever_works)
        killer.start()
        try:
            with pytest.raises(TrainingError, match="abandoned after 4 workers died running it"):
                execute([run], Store(tmp_path / "out"), cluster=running.address, progress=False)
        finally:
            over.set()
            killer.join()


@pytest.mark.slow
def test_all_workers_gone_for_good_ends_in_one_line(small, tmp_path, monkeypatch):
    monkeypatch.setattr(dask, "PATIENCE", 3.0)
    run = small.study(steps=10**6).runs()[0]
    with clusters.cluster(tmp_path / "cluster", workers=1) as running:
        timer = threading.Timer(15, running.workers[0].kill)
        timer.start()
        with pytest.raises(TrainingError, match="has lost all its workers"):
            execute([run], Store(tmp_path / "out"), cluster=running.address, progress=False)


def test_an_address_that_nobody_answers_is_one_line_within_ten_seconds(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        start = time.monotonic()
        with pytest.raises(InputError, match="no Dask scheduler answers") as caught:
            connect(address)
    assert time.monotonic() - start < 10
    assert "\n" not in str(caught.value)
    # No half-made client is left: collected while another starts, it would wait for that one, and that one for it.
    assert not [one for one in gc.get_objects() if type(one).__name__ == "Client" and one.status != "closed"]


def test_something_else_that_answers_is_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(InputError, match="no Dask scheduler answers") as caught:
            connect(f"tcp://127.0.0.1:{server.getsockname()[1]}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["", "nowhere", "http://127.0.0.1:80"])
def test_what_is_no_address_is_one_line(address):
    with pytest.raises(InputError, match="--cluster is empty|no Dask scheduler answers"):
        connect(address)


def _listening(pid):
    """Inodes of sockets that a process and its descendants listen on, TCP of both kinds."""
    family = [pid]
    for one in family:
        for task in Path(f"/proc/{one}/task").iterdir():
            family += [int(child) for child in (task / "children").read_text().split()]
    held = set()
    for one in family:
        for link in Path(f"/proc/{one}/fd").iterdir():
            try:
                target = os.readlink(link)
            except FileNotFoundError:
                continue
            if target.startswith("socket:["):
                held.add(target[8:-1])
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in held], len(family)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs /proc")
def test_the_default_listens_on_no_network_address(tmp_path):
    with socket.create_server(("127.0.0.1", 0)):  # the way of looking is right
        assert len(_listening(os.getpid())[0]) >= 1
    with subprocess.Popen([sys.executable, str(SCRIPT), str(tmp_path), "2"]) as process:
        seen, looks = [], 0
        while looks < 10:  # once the driver and its workers are at work
            assert process.poll() is None
            try:
                found, family = _listening(process.pid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            seen += found
            looks += family >= 3 and any((tmp_path / "runs").glob("*.json"))
            time.sleep(0.05)
        process.kill()
    assert seen == []
