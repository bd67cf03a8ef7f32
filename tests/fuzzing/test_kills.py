"""Sixty SIGKILLs at random moments of compare, fit, save and data get: nothing is lost, doubled or torn."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rpo
from rpo._comparing.table_problem import read_arrays
from rpo._models.table_files import load_model
from rpo._models.table_model import predict_table
from rpo._saving.folders import foreign
from rpo._table.reading import read_table

ROOT = Path(__file__).parents[2]


class Victim:
    """A process that runs commands in children of its own, which are killed."""

    def __init__(self, folder, seed):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
        environment["RPO_DATA"] = str(folder / "cache")
        command = [sys.executable, "-m", "tests.fuzzing.kills", str(folder)]
        pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, **pipe)
        self.folder, self.moments = folder, random.Random(seed)
        self.seed = seed

    def start(self, *words):
        print(json.dumps([str(word) for word in words]), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def ended(self):
        return int(self.process.stdout.readline())

    def whole(self, *words):
        """A command to its end; seconds it took."""
        begun = time.monotonic()
        self.start(*words)
        assert self.ended() == 0
        return time.monotonic() - begun

    def killed(self, window, begun, *words):
        """A command that is killed at a moment of the next seconds, from when `begun` says so; whether it was, or had
        ended before."""
        child = self.start(*words)
        with suppress(ProcessLookupError):  # it ended before
            while not begun():
                os.kill(child, 0)
                time.sleep(0.002)
            end = time.monotonic() + self.moments.uniform(0, window)
            while time.monotonic() < end:
                os.kill(child, 0)
                time.sleep(0.002)
            os.kill(child, signal.SIGKILL)
        return self.ended() == -signal.SIGKILL


@contextmanager
def victim(folder):
    one = Victim(folder, random.randrange(2**32))
    try:
        yield one
    except AssertionError as error:
        raise AssertionError(f"seed {one.seed}: {error}") from error
    finally:
        one.process.stdin.close()
        one.process.wait()
        one.process.stdout.close()


def after_kills(one, kills, seconds, words, begun, check, finished, begin):
    """Kill a command so many times; `check` looks after each, `finished` when it comes to its end; how many kills found
    something finished, and how often it came to its end."""
    after_first, ends, done = 0, 0, 0
    place = begin(ends)
    seen = {}
    while done < kills:
        # One in four at any moment; the others after the first record.
        first = done % 4 == 3
        was_killed = one.killed(seconds, lambda p=place, f=first: f or begun(p), *words(place))
        now = check(place)
        for path, mark in seen.items():
            assert now.get(path) == mark, f"{path} was lost or done again"
        if was_killed:
            done += 1
            after_first += bool(begun(place))
            seen = now
        else:
            finished(place)
            ends += 1
            place, seen = begin(ends), {}
    one.whole(*words(place))
    finished(place)
    return after_first, ends + 1


def marks(paths):
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths}


def no_temporaries(folder):
    return not list(folder.rglob("*.partial")) and not list(folder.rglob("*.corrupt"))


@pytest.mark.long
def test_twenty_kills_of_a_comparison(tmp_path, capsys):
    compare = [
        "compare",
        tmp_path / "t.csv",
        "-t",
        "y",
        "-d",
        "d",
        "--seeds",
        "2",
        "--steps",
        "40",
        "--json",
        "-j",
        "1",
    ]

    def words(place):
        return [*compare, "-o", place]

    def begun(place):
        return any(True for name in ("runs/*.json", "learners/*.json", "tables/*.strata") for _ in place.glob(name))

    def check(place):
        for path in [*place.glob("runs/*.json"), *place.glob("learners/*.json")]:
            json.loads(path.read_bytes())
        for path in place.glob("tables/*"):
            assert path.name.endswith(".partial") or read_arrays(path) is not None, f"{path} is torn"
        return marks([*place.glob("runs/*.json"), *place.glob("learners/*.json"), *place.glob("tables/*.safetensors")])

    def content(place):
        found = {}
        for path in sorted([*place.glob("runs/*.json"), *place.glob("learners/*.json")]):
            saved = json.loads(path.read_bytes())
            saved.pop("sha256")
            saved.get("record", {}).pop("seconds", None)
            found[path.name] = saved
        return found

    def finished(place):
        assert content(place) == undisturbed
        assert {path.name for path in place.glob("tables/*")} == tables
        assert no_temporaries(place)

    with victim(tmp_path) as one:
        one.whole(*words(tmp_path / "first"))
        seconds = one.whole(*words(tmp_path / "undisturbed"))
        undisturbed = content(tmp_path / "undisturbed")
        tables = {path.name for path in (tmp_path / "undisturbed" / "tables").iterdir()}
        late, ends = after_kills(one, 20, seconds, words, begun, check, finished, lambda k: tmp_path / f"study{k}")
    with capsys.disabled():
        print(f"\ncompare: 20 kills, {late} after the first record, {ends} comparisons ended as undisturbed")
    assert late >= 14


@pytest.mark.long
def test_fifteen_kills_of_a_fit(tmp_path, capsys):
    """Over an older model, with checkpoints: the old or the new model is there, and the training goes on."""
    fit = ["fit", tmp_path / "t.csv", "-t", "y", "-d", "d", "-m", "rpo", "--every", "0"]

    def words(place):
        return [*fit, "--steps", "300", "-o", place / "model", "--checkpoint", place / "training"]

    def predicted(place):
        return predict_table(load_model(place / "model"), read_table(tmp_path / "t.csv"))[0]["prediction"].to_numpy()

    def begun(place):
        return any((place / "training").glob("**/*.safetensors"))

    def check(place):
        said = predicted(place)
        assert np.array_equal(said, old) or np.array_equal(said, new), "the model is neither the old nor the new one"
        assert foreign(place / "model") is None
        return dict.fromkeys((place / "training").glob("**/*.safetensors"))

    def finished(place):
        assert np.array_equal(predicted(place), new)
        assert no_temporaries(place / "training")
        assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []

    def begin(k):
        place = tmp_path / f"fit{k}"
        one.whole(*fit, "--steps", "3", "-o", place / "model")
        return place

    with victim(tmp_path) as one:
        old = predicted(begin("-old"))
        seconds = one.whole(*words(tmp_path / "undisturbed"))
        new = predicted(tmp_path / "undisturbed")
        late, ends = after_kills(one, 15, seconds, words, begun, check, finished, begin)
    with capsys.disabled():
        print(f"\nfit: 15 kills, {late} after the first checkpoint, {ends} trainings ended as undisturbed")
    assert late >= 10


@pytest.mark.long
def test_fifteen_kills_of_saving(tmp_path, capsys):
    """A network and trees saved to one place in turn: one of the two is always there, whole."""
    kinds = []
    with victim(tmp_path) as one:
        X = None
        for _ in range(15):
            child = one.start("save")
            while not (tmp_path / "model" / "manifest.json").exists():
                time.sleep(0.01)
            time.sleep(one.moments.uniform(0, 0.3))
            os.kill(child, signal.SIGKILL)
            assert one.ended() == -signal.SIGKILL
            X = pd.read_csv(tmp_path / "t.csv")[["x", "z"]].to_numpy() if X is None else X
            model = rpo.load(tmp_path / "model")
            assert np.isfinite(model.predict(X)).all()
            assert foreign(tmp_path / "model") is None
            kinds.append(type(model).__name__)
    with capsys.disabled():
        print(f"\nsave: 15 kills, all after the first; found {sorted(kinds)}")


@pytest.mark.long
def test_ten_kills_of_fetching(tmp_path, capsys):
    cache = tmp_path / "cache"

    def words(_):
        return ["data", "get", "tables", "--from", tmp_path]

    def begun(_):
        return any(cache.rglob("*.parquet.sha256"))

    def check(_):
        found = {}
        for noted in cache.rglob("*.parquet.sha256"):
            path = noted.with_suffix("")
            assert hashlib.sha256(path.read_bytes()).hexdigest() == noted.read_text()[:64], f"{path} is torn"
            found |= marks([path])
        return found

    def finished(_):
        assert {path.name: path.read_bytes() for path in cache.rglob("*.parquet")} == undisturbed

    def begin(k):
        if cache.exists():
            cache.rename(tmp_path / f"cache{k}")
        return cache

    with victim(tmp_path) as one:
        one.whole(*words(None))
        cache.rename(tmp_path / "first")
        seconds = one.whole(*words(None))
        undisturbed = {path.name: path.read_bytes() for path in cache.rglob("*.parquet")}
        late, ends = after_kills(one, 10, seconds, words, begun, check, finished, begin)
    with capsys.disabled():
        print(f"\ndata get: 10 kills, {late} after the first table, {ends} times whole in the end")
    assert late >= 6
