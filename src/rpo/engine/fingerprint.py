"""Fingerprints of trainings: two trainings with the same fingerprint give the same model."""

import hashlib
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rpo.engine.method import Method
from rpo.engine.nets import Net
from rpo.engine.source import Source

if TYPE_CHECKING:
    from rpo.engine.training import Preparation

CHUNK = 1 << 22  # numbers hashed at once, so that data on disk are not read into memory as a whole

Fingerprint = dict[str, str]


def fingerprint(method: Method, net: Net, run: "Preparation") -> Fingerprint:
    """Return a text for each thing that decides the result of a training, by name."""
    data, config, first = run.data, run.config, run.first or {}
    x = data.x.sample() if isinstance(data.x, Source) else data.x
    # The rest, and an option that is newer, only where they are not the default: earlier checkpoints are recognised.
    rest = f"{' bfloat16' * config.autocast}{f' {config.accumulate} batches' if config.accumulate > 1 else ''}"
    numbers = sorted(run.numbers.items())
    options = [item for item in sorted(run.options.items()) if item != ("centre", None)]
    return {
        "method": f"{method.name}, version {method.version}",
        "data": f"{data.task} {digest(x, data.y, data.domain, data.stratum, data.weight)}",
        "seeds": digest(torch.tensor(run.seeds)),
        "hyper-parameters": f"{digest(*(value for _, value in numbers))} {options}",
        "network": f"{net.module} {[(name, tuple(shape)) for name, shape in net.shapes.items()]}",
        "steps, batches and precision": f"{config.steps} {config.schedule} {config.batch_size} {config.dtype}{rest}",
        "first stage": digest(*(first[name] for name in sorted(first))),
    }


def digest(*tensors: Tensor) -> str:
    """Return the SHA-256 of types, shapes and values of tensors.

    >>> digest(torch.ones(2)) == digest(torch.ones(2)), digest(torch.ones(2)) == digest(torch.ones(1, 2))
    (True, False)
    """
    sha = hashlib.sha256()
    for tensor in tensors:
        sha.update(f"{tensor.dtype} {tuple(tensor.shape)};".encode())
        for piece in torch.split(tensor.detach().reshape(-1), CHUNK):
            sha.update(piece.cpu().numpy().tobytes())
    return sha.hexdigest()
