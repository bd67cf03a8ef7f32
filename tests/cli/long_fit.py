"""Runs `rpo …` once for every line of standard input, each in a new process: one import of everything for many kills.

It says the number of that process, and how it ended.
"""

import os
import sys

import rpo._models.table_model  # noqa: F401
from rpo import RPORegressor  # noqa: F401
from rpo.cli import main

if __name__ == "__main__":
    words = sys.argv[1:]
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            sys.argv = ["rpo", *words]
            main()
            os._exit(0)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
