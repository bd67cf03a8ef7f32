"""`rpo fit --checkpoint`: stopped, killed or out of disk, in real processes."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rpo.engine.checkpoint import read_checkpoint

SERVER = Path(__file__).with_name("long_fit.py")
WORDS = ("-t", "radon", "-d", "site", "--drop", "high", "-m", "rpo")


def rpo(*words, **options):
    command = [sys.executable, "-c", "from rpo.cli import main; main()", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def ended(process):
    out, err = process.communicate()
    return process.returncode, out, err


def model_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def wait_for(path, process):
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def test_it_is_an_option_of_the_command(command, homes, tmp_path):
    code, _, _ = command("fit", homes, *WORDS, "--steps", 10, "-o", tmp_path / "m", "--checkpoint", tmp_path / "c")
    assert code == 0
    assert read_checkpoint(tmp_path / "c" / "training-0.safetensors")[0].snapshot.step == 10
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    words = ("--steps", 11, "-o", tmp_path / "m", "--checkpoint", tmp_path / "c")
    code, out, err = command("fit", homes, *WORDS, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "another training (different steps" in err


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["stage-1-0", "training-0"])
def test_sigterm_writes_a_checkpoint_and_exits_143(homes, tmp_path, stage):
    words = ("fit", homes, *WORDS, "--steps", 1000)
    kept = ("--checkpoint", tmp_path / "c", "--every", 0.05)
    whole = rpo(*words, "-o", tmp_path / "whole")
    process = rpo(*words, "-o", tmp_path / "m", *kept)
    wait_for(tmp_path / "c" / f"{stage}.safetensors", process)
    time.sleep(0.1)
    process.terminate()
    code, out, err = ended(process)
    assert (code, out, err.count("\n")) == (143, "", 1)
    assert "the same command continues" in err
    step = read_checkpoint(tmp_path / "c" / f"{stage}.safetensors")[0].snapshot.step
    assert 0 < step < 1000
    assert not (tmp_path / "m").exists()
    assert ended(rpo(*words, "-o", tmp_path / "m", *kept))[0] == 0
    assert ended(whole)[0] == 0
    assert model_in(tmp_path / "m") == model_in(tmp_path / "whole")


@pytest.mark.long
def test_twenty_kills_over_a_long_fit_lose_nothing(homes, tmp_path):
    """SIGKILL at random moments of both stages; every checkpoint found afterwards is whole and never steps back."""
    words = ["fit", str(homes), *WORDS, "--steps", "1200"]
    assert ended(rpo(*words, "-o", tmp_path / "whole"))[0] == 0
    kept = tmp_path / "c"
    words += ["-o", str(tmp_path / "m"), "--checkpoint", str(kept), "--every", "0"]
    seed = random.randrange(2**32)
    moments, done = random.Random(seed), []
    with subprocess.Popen(
        [sys.executable, str(SERVER), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        for _ in range(20):
            print(file=server.stdin, flush=True)
            pid = int(server.stdout.readline())
            before = steps_in(kept)
            while steps_in(kept) == before:
                time.sleep(0.002)
            time.sleep(moments.uniform(0, 0.3))
            os.kill(pid, signal.SIGKILL)
            assert int(server.stdout.readline()) == -signal.SIGKILL, f"seed {seed}: make the fit longer"
            done.append(steps_in(kept))
        server.stdin.close()
    assert done == sorted(done), f"seed {seed}: {done}"
    assert ended(rpo(*words))[0] == 0
    assert model_in(tmp_path / "m") == model_in(tmp_path / "whole"), f"seed {seed}"


def steps_in(folder):
    """Steps of all trainings kept; a torn file would be an error."""
    return sum(read_checkpoint(path)[0].snapshot.step for path in folder.rglob("[!.]*.safetensors"))


@pytest.mark.slow
def test_a_second_fit_with_the_same_checkpoint_is_told(homes, tmp_path):
    words = ("fit", homes, *WORDS, "--steps", 1000, "--checkpoint", tmp_path / "c", "--every", 0.05)
    first = rpo(*words, "-o", tmp_path / "m")
    wait_for(tmp_path / "c" / "stage-1-0.safetensors", first)
    code, out, err = ended(rpo(*words, "-o", tmp_path / "n"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"in use by process {first.pid}" in err
    first.kill()
    ended(first)
