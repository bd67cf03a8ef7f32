"""`python killed.py FOLDER exchange|renames`: save over a saved folder and be killed at every step in turn.

Prints one line for each kill: whether the place was there at once, and what is read from it.
"""

import os
import shutil
import sys
from pathlib import Path

from rpo._saving import folders

FILES = {"a.bin": 1 << 20, "b.txt": 100}
OLD = {"a.bin": b"old" * 100, "b.txt": b"old"}
NEW = {"a.bin": b"new" * 100, "b.txt": b"new"}


class Stepped:
    """A module whose functions count their calls, and end the process before the n-th."""

    def __init__(self, module, names, count):
        self.module, self.names, self.count = module, names, count

    def __getattr__(self, name):
        found = getattr(self.module, name)
        if name not in self.names:
            return found

        def step(*given, **named):
            if self.count[0] == 0:
                os._exit(9)
            self.count[0] -= 1
            return found(*given, **named)

        return step


def killed(target, at, exchange):
    """A child that is killed before its step number `at`; whether it was."""
    child = os.fork()
    if child == 0:
        count = [at]
        folders.os = Stepped(os, {"rename", "fsync", "close"}, count)
        folders.shutil = Stepped(shutil, {"rmtree"}, count)
        folders.tempfile = Stepped(folders.tempfile, {"mkdtemp"}, count)
        real, swap = folders._write, folders._exchange
        folders._write = Stepped(type("", (), {"write": staticmethod(real)}), {"write"}, count).write
        stepped = Stepped(type("", (), {"swap": staticmethod(swap)}), {"swap"}, count).swap
        folders._exchange = stepped if exchange else lambda *_: False
        folders.write_folder(target, NEW)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def main(place, exchange):
    """Every step in turn."""
    at = 0
    while True:
        target = place / str(at) / "model"
        folders.write_folder(target, OLD)
        alive = not killed(target, at, exchange)
        there = target.is_dir()
        found = folders.read_folder(target, FILES)
        print(at, there, "old" if found == OLD else "new" if found == NEW else found)
        folders.write_folder(target, NEW)  # and it can be saved again
        assert folders.read_folder(target, FILES) == NEW
        if alive:
            return
        at += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] == "exchange")
