"""Folders with a manifest: replaced whole, read only whole, and nobody else's work is touched."""

import fcntl
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from rpo._saving.folders import MANIFEST, check_place, find_foreign, read_folder, write_folder
from rpo.exceptions import InputError

FILES = {"a.txt": b"one", "b.bin": bytes(range(256))}
LIMITS = {"a.txt": 10, "b.bin": 1000}


@pytest.fixture
def folder(tmp_path):
    write_folder(tmp_path / "model", FILES)
    return tmp_path / "model"


def git(folder):
    (folder / ".git").mkdir()


def thesis(folder):
    (folder / "thesis.tex").write_text("years of work")


def note(folder):
    (folder / "a.txt").write_text("own words")


def fake(folder):
    (folder / MANIFEST).write_text("{}")


def away(folder):
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    "change, message",
    [
        (git, r"holds \.git, which is not part of a saved model"),
        (thesis, r"holds thesis\.tex, which is not part"),
        (note, r"holds a\.txt, which was changed since it was saved"),
        (fake, "that is not of a saved model"),
        (away, r"holds a\.txt, which was changed"),
        (lambda f: (f / MANIFEST).unlink(), r"holds a\.txt, which is not part"),
    ],
)
def test_what_is_not_ours_is_never_replaced(folder, change, message):
    change(folder)
    before = {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}
    with pytest.raises(InputError, match=message):
        check_place(folder)
    with pytest.raises(InputError, match=message):
        write_folder(folder, FILES)
    assert {path: path.lstat().st_mtime_ns for path in folder.rglob("*")} == before
    assert os.listdir(folder.parent) == ["model"]


def test_ours_is_replaced_whole_and_an_empty_folder_is_filled(folder, tmp_path):
    write_folder(folder, {"c.txt": b"three"})
    assert sorted(os.listdir(folder)) == ["c.txt", MANIFEST]
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "empty", FILES)
    assert read_folder(tmp_path / "empty", LIMITS) == FILES
    assert sorted(os.listdir(tmp_path)) == ["empty", "model"]
    assert find_foreign(tmp_path / "empty") is None


def test_a_file_or_a_link_at_the_place_is_refused(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "file").write_text("")
    for name in ("link", "file"):
        with pytest.raises(InputError, match="exists and is not a folder"):
            write_folder(tmp_path / name, FILES)
    assert read_folder(folder, LIMITS) == FILES


def fifo(folder):
    (folder / "a.txt").unlink()
    os.mkfifo(folder / "a.txt")


def outside(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"]["../../x"] = manifest["files"].pop("a.txt")
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "harm, message",
    [
        (note, "was changed after it was written"),
        (away, "is a link"),
        (fifo, "is not a regular file"),
        (fake, "is not a manifest"),
        (outside, "a file name is not valid"),
        (lambda f: (f / "b.bin").unlink(), "has no b.bin"),
        (lambda f: (f / MANIFEST).unlink(), "so its files cannot be checked"),
        (lambda f: (f / MANIFEST).write_text("[" * 60_000), "is not a manifest"),
        (lambda f: os.truncate(f / MANIFEST, 1 << 40), "more than"),
        (lambda f: os.truncate(f / "b.bin", 1 << 40), "more than 1,000"),
    ],
)
def test_what_is_not_whole_is_not_read(folder, harm, message):
    harm(folder)
    with pytest.raises(InputError, match=message) as caught:
        read_folder(folder, LIMITS)
    assert len(str(caught.value).replace(str(folder), "")) <= 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_killed_at_any_step_the_old_or_the_new_is_there(tmp_path, way):
    script = Path(__file__).with_name("killed.py")
    done = subprocess.run([sys.executable, script, tmp_path, way], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) >= 12
    found = [line[2] for line in lines]
    assert found == sorted(found, reverse=True)  # old until a step, new from there on
    assert set(found) == {"old", "new"}
    if way == "exchange" and sys.platform == "linux":
        assert all(line[1] == "True" for line in lines)
    else:
        assert sum(line[1] == "False" for line in lines) == 1  # between the renames, and it was mended


def test_any_flipped_bit_is_noticed(folder):
    """In any file, the manifest too: refused, or read as it was written."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        path = folder / str(rng.choice(["a.txt", "b.bin", MANIFEST]))
        whole = path.read_bytes()
        spoiled = bytearray(whole)
        spoiled[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(spoiled))
        with suppress(InputError):
            assert read_folder(folder, LIMITS) == FILES
        path.write_bytes(whole)


def test_what_killed_processes_left_is_swept_and_what_is_held_is_not(folder, tmp_path):
    def left(name, content="new", age=3600):
        place = tmp_path / name
        (place / content).mkdir(parents=True)
        os.utime(place, (time.time() - age,) * 2)
        return place

    dead, fresh = left(".model.rpo-abcd1234"), left(".model.rpo-fresh123", age=0)
    other, mine = left(".other.rpo-abcd1234"), left(".model.rpo-mine1234", content="thesis")
    held = left(".model.rpo-held1234")
    holder = os.open(held, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    write_folder(folder, FILES)
    assert not dead.exists()
    assert all(place.exists() for place in (fresh, other, mine, held))
    os.close(holder)
    write_folder(folder, FILES)
    assert not held.exists()
