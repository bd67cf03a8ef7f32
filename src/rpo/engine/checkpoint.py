"""Checkpoints of a running training: complete files only, and no pickle."""

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from rpo._io import replacing
from rpo.engine.adam import AdamState
from rpo.engine.trained import Snapshot, Trained
from rpo.exceptions import InputError

TERMINATED = 128 + signal.SIGTERM  # exit code of a process ended by SIGTERM


class Checkpoint(NamedTuple):
    """Content of a checkpoint: the snapshot, the losses so far, and why models failed."""

    snapshot: Snapshot
    curve: Tensor
    failures: list[str | None]


class Keeper:
    """Saves the training of one stack to a file: every `every` seconds, at the end, and on SIGTERM.

    `mark` identifies the training; a file with another mark is refused.
    """

    def __init__(self, path: Path, mark: Mapping[str, str], every: float, stop: Callable[[], bool]) -> None:
        self.path, self.mark, self.every, self.stop = path, dict(mark), every, stop
        self.saved = time.monotonic()
        self.before: Tensor | None = None

    def load(self, device: torch.device) -> Checkpoint | None:
        """Return the content of the file, or None if there is no file."""
        if not self.path.exists():
            return None
        content, mark = read_checkpoint(self.path, device)
        for name, value in self.mark.items():
            if mark.get(name) != value:
                raise InputError(
                    f"{self.path} belongs to another training (different {name}): "
                    "use another checkpoint folder, or delete this one"
                )
        self.before = content.curve
        return content

    def __call__(self, now: Snapshot, curve: Sequence[Tensor], failures: Sequence[str | None]) -> None:
        """Save if it is time to; save and end the process if it was asked to stop. Called after each step."""
        stop = self.stop()
        if stop or time.monotonic() - self.saved >= self.every:
            self._save(now, torch.stack(list(curve)), failures)
        if stop:
            raise SystemExit(TERMINATED)

    def finish(self, trained: Trained) -> Trained:
        """Save the end of the training, and return it with the losses of all steps."""
        trained.curve = self._save(trained.snapshot, trained.curve, trained.failures)
        return trained

    def _save(self, now: Snapshot, curve: Tensor, failures: Sequence[str | None]) -> Tensor:
        whole = curve if self.before is None else torch.cat([self.before.to(curve), curve])
        write_checkpoint(self.path, Checkpoint(now, whole, list(failures)), self.mark)
        self.saved = time.monotonic()
        return whole


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Defer SIGTERM while the context lasts; yield a function that returns whether it came.

    The training looks after each step; on leaving, the process ends if the signal came. Outside the main thread no
    handler can be set, and the function always returns False.
    """
    came: list[int] = []
    try:
        before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    except ValueError:
        yield lambda: False
        return
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGTERM, before)
    if came:
        raise SystemExit(TERMINATED)


def write_checkpoint(path: Path, content: Checkpoint, mark: Mapping[str, str]) -> None:
    """Write a checkpoint; the file appears only when it is complete.

    >>> import tempfile
    >>> from rpo.engine.adam import start_adam
    >>> flat = torch.ones(2, 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     snapshot = Snapshot(flat, start_adam(flat), {"q": flat}, 7)
    ...     write_checkpoint(Path(folder, "now"), Checkpoint(snapshot, flat, []), {})
    ...     read_checkpoint(Path(folder, "now"))[0].snapshot.step
    7
    """
    snapshot = content.snapshot
    tensors = {"flat": snapshot.flat, "curve": content.curve}
    tensors |= {f"adam/{name}": value for name, value in snapshot.adam._asdict().items()}
    tensors |= {f"state/{name}": value for name, value in snapshot.state.items()}
    tensors |= {f"watch/{name}": value for name, value in snapshot.watch.items()}
    words = {"step": snapshot.step, "failures": content.failures, "mark": dict(mark)}
    # Clones, because tensors that share memory cannot be stored together.
    separate = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
    try:
        with replacing(path) as scratch:
            save_file(separate, scratch, {name: json.dumps(word) for name, word in words.items()})
    except SafetensorError as error:
        raise InputError(f"cannot write {path}: {error}; the previous file is intact") from None


def read_checkpoint(path: Path, device: torch.device | str = "cpu") -> tuple[Checkpoint, dict[str, str]]:
    """Read and validate a checkpoint; return its content and the mark of its training."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            words = {name: json.loads(word) for name, word in (file.metadata() or {}).items()}
        lacking = {"flat", "curve", *map("adam/{}".format, AdamState._fields)} - set(tensors)
        if lacking := lacking | ({"step", "failures", "mark"} - set(words)):
            raise ValueError(f"it has no {min(lacking)}")
    except (OSError, SafetensorError, ValueError) as error:
        raise InputError(
            f"{path} is not a valid checkpoint ({' '.join(str(error).split())}): delete it to train from the start"
        ) from None
    curve, there = tensors.pop("curve"), {name: tensor.to(device) for name, tensor in tensors.items()}
    adam = AdamState(*(there[f"adam/{name}"] for name in AdamState._fields))
    state, watch = (
        {name.removeprefix(kind): tensor for name, tensor in there.items() if name.startswith(kind)}
        for kind in ("state/", "watch/")
    )
    return Checkpoint(Snapshot(there["flat"], adam, state, words["step"], watch), curve, words["failures"]), words[
        "mark"
    ]
