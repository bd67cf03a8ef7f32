"""A snapshot of a training as one file: whole or not there, and no pickle."""

import os
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from rpo.engine.adam import AdamState
from rpo.engine.trained import Snapshot
from rpo.exceptions import InputError


def save_snapshot(snapshot: Snapshot, path: str | os.PathLike[str]) -> None:
    """Write a snapshot; the file appears only when it is complete.

    >>> import tempfile, torch
    >>> from rpo.engine.adam import adam_start
    >>> flat = torch.ones(2, 3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_snapshot(Snapshot(flat, adam_start(flat), {"q": flat}, 7), folder + "/now")
    ...     load_snapshot(folder + "/now").step
    7
    """
    tensors = {"flat": snapshot.flat} | {f"adam/{name}": value for name, value in snapshot.adam._asdict().items()}
    tensors |= {f"state/{name}": value for name, value in snapshot.state.items()}
    target = Path(path)
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # Clones, because tensors that share memory cannot be stored side by side.
        save_file(
            {n: t.detach().clone().contiguous() for n, t in tensors.items()}, scratch, {"step": str(snapshot.step)}
        )
        with scratch.open("rb") as file:
            os.fsync(file.fileno())
        scratch.replace(target)
    except SafetensorError as error:
        raise OSError(f"cannot write {target}: {error}") from None
    finally:
        scratch.unlink(missing_ok=True)


def load_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """The snapshot in a file, to go on from."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            step = int((file.metadata() or {})["step"])
        adam = AdamState(*(tensors[f"adam/{name}"] for name in AdamState._fields))
        state = {name.removeprefix("state/"): t for name, t in tensors.items() if name.startswith("state/")}
        return Snapshot(tensors["flat"], adam, state, step)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"{path} is not a snapshot ({' '.join(str(error).split())}): train from the start") from None
