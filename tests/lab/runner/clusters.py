"""A Dask cluster of real processes on the loopback interface, for tests and benchmarks."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Processes:
    """A scheduler and its workers; `address` is where the scheduler listens."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.start_scheduler()

    def start_scheduler(self, port: int = 0) -> None:
        self.file.unlink(missing_ok=True)
        self.scheduler = self._start("scheduler", "--port", port, "--scheduler-file", self.file)
        while True:
            try:
                self.address = json.loads(self.file.read_text())["address"]
                return
            except (FileNotFoundError, ValueError):
                assert self.scheduler.poll() is None
                time.sleep(0.05)

    def add_worker(self, *words: object) -> "subprocess.Popen[bytes]":
        place = self.folder / f"worker-{len(self.workers)}"
        options = ("--nthreads", 1, "--no-nanny", "--local-directory", place)
        self.workers.append(self._start("worker", self.address, *options, *words))
        return self.workers[-1]

    def _start(self, kind: str, *words: object) -> "subprocess.Popen[bytes]":
        module = f"distributed.cli.dask_{kind}"
        loopback = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
        command = [sys.executable, "-m", module, *loopback, *map(str, words)]
        return subprocess.Popen(command, cwd=self.folder, **QUIET)

    def stop(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Processes]:
    folder.mkdir(parents=True, exist_ok=True)
    processes = Processes(folder)
    try:
        for _ in range(workers):
            processes.add_worker()
        yield processes
    finally:
        processes.stop()
