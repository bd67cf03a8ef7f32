"""Full disks, read-only folders, two commands in one folder, a cluster that is not there: one line, exit code 2."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rpo_lab.runner.runner import plan
from rpo_lab.runner.specification import sha256
from rpo_lab.runner.store import Store
from rpo_lab.table1 import table1

RPO = [sys.executable, "-c", "from rpo.cli import main; main()"]
BENCH = ["bench", "table1", "--seeds", "2", "--jobs", "1", "--out"]
# A file system of its own for one command; what is left on it is copied out before it goes.
MOUNTED = """
mount -t tmpfs -o "$1" tmpfs "$2" || exit 1
place=$2; shift 2
"$@"; code=$?
cp -a "$place" "$place.kept"
exit $code
"""


def in_file_system(options, place, command):
    """A command with a file system at `place`; by name skipped where that is not allowed."""
    shell = ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNTED, "sh"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*shell, "size=1m", place, "true"], capture_output=True).returncode
    ):
        pytest.skip("no file system can be mounted here")
    shutil.rmtree(f"{place}.kept", ignore_errors=True)
    return subprocess.run([*shell, options, place, *map(str, command)], capture_output=True, text=True)


def one_line(done):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("rpo: ")
    return done.stderr


@pytest.fixture
def place(tmp_path):
    (tmp_path / "small").mkdir()
    return tmp_path / "small"


@pytest.mark.slow
def test_a_full_disk_is_one_line_and_what_was_written_is_whole(place):
    line = one_line(in_file_system("size=64k", place, [*RPO, *BENCH, place / "out"]))
    assert "No space left on device" in line
    records = list(Path(f"{place}.kept", "out", "runs").glob("*.json"))
    assert records
    for path in records:
        saved = json.loads(path.read_bytes())
        assert sha256(saved["record"]) == saved["sha256"]
    assert not list(Path(f"{place}.kept").rglob("*.partial"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        pytest.param([*BENCH, "PLACE/out"], id="bench"),
        pytest.param(
            ["compare", "TABLE", "-t", "radon", "-d", "site", "-m", "rpo", "--steps", "5", "--out", "PLACE/out"],
            id="compare",
        ),
        pytest.param(
            ["fit", "TABLE", "-t", "radon", "-d", "site", "-m", "rpo", "--steps", "5", "--out", "PLACE/out"], id="fit"
        ),
        pytest.param(
            [
                "fit",
                "TABLE",
                "-t",
                "radon",
                "-d",
                "site",
                "-m",
                "rpo",
                "--steps",
                "5",
                "-o",
                "OUT",
                "--checkpoint",
                "PLACE/c",
            ],
            id="checkpoint",
        ),
    ],
)
@pytest.mark.parametrize("options, reason", [("ro,size=64k", "Read-only file system"), ("size=4k", "No space left")])
def test_a_place_that_cannot_be_written_to_is_one_line(homes, tmp_path, place, words, options, reason):
    names = {"TABLE": homes, "OUT": tmp_path / "out"}
    command = [names.get(word, word.replace("PLACE", str(place))) for word in words]
    line = one_line(in_file_system(options, place, [*RPO, *command]))
    assert reason in line
    assert str(place) in line


@pytest.mark.slow
def test_a_model_that_cannot_be_written_is_told_before_the_fitting(homes, place):
    hours = [
        "fit",
        homes,
        "-t",
        "radon",
        "-d",
        "site",
        "-m",
        "rpo",
        "--steps",
        "10000000",
        "--out",
        place / "a" / "model",
    ]
    line = one_line(in_file_system("ro,size=64k", place, [*RPO, *hours]))
    assert line == f"rpo: cannot write {place / 'a' / 'model'}: Read-only file system\n"


@pytest.mark.slow
def test_a_second_command_in_the_same_folder_is_told_and_nothing_is_harmed(tmp_path):
    out = tmp_path / "out"
    first = subprocess.Popen([*RPO, *BENCH, out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(out.glob("runs/*.json")):
        assert first.poll() is None
        time.sleep(0.02)
    second = subprocess.run([*RPO, *BENCH, out], capture_output=True, text=True)
    assert f"in use by process {first.pid}" in one_line(second)
    first.send_signal(signal.SIGINT)
    first.wait()
    store = Store(out)
    study = table1("quick", seeds=2)
    assert plan(study.runs(), store).done
    assert not store.corrupt


@pytest.mark.slow
@pytest.mark.parametrize("words", [[*BENCH, "OUT"], ["compare", "TABLE", "-t", "radon", "-d", "site", "--out", "OUT"]])
def test_an_address_that_nobody_answers_is_one_line_within_ten_seconds(homes, tmp_path, words):
    names = {"TABLE": homes, "OUT": tmp_path / "out"}
    command = [*RPO, *(names.get(word, word) for word in words), "--cluster", "tcp://127.0.0.1:9"]
    start = time.monotonic()
    line = one_line(subprocess.run(command, capture_output=True, text=True))
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in line
    # Of ten seconds, on a machine that is free; starting Python and importing torch are in it.
    assert time.monotonic() - start < 10
    assert not (tmp_path / "out").exists()
