"""A frozen network that turns pictures into vectors, and what has to be known to tell its features from others'."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rpo.exceptions import InputError
from rpo_lab.features.lite0 import pretrained

FORMAT = 1  # raise it when the same network and pictures no longer give the same features


@dataclass(frozen=True, eq=False)
class Backbone:
    """A module from `(n, 3, size, size)` to `(n, …)`, and the pixels it wants: (byte / 255 − mean) / std."""

    module: nn.Module
    size: int = 128
    mean: float = 0.5
    std: float = 0.5

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything the features depend on but the picture: pixels, layers and weights."""
        words = [FORMAT, self.size, self.mean, self.std, str(self.module)]
        total = hashlib.sha256(json.dumps(words).encode())
        for name, tensor in self.module.state_dict().items():
            total.update(name.encode())
            total.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return total.hexdigest()

    def features(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Vectors of pictures `(n, size, size, 3)`, in evaluation mode, whatever the batch they come in.

        >>> Backbone(nn.AdaptiveAvgPool2d(1), size=2).features(np.full((1, 2, 2, 3), 255, np.uint8))
        array([[1., 1., 1.]], dtype=float32)
        """
        # Bytes have the colour last, which is also how convolutions are quickest.
        x = (torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).float() / 255 - self.mean) / self.std
        was_training = self.module.training
        try:
            with torch.inference_mode():
                found: Tensor = self.module.eval()(x)
        finally:
            self.module.train(was_training)
        vectors: NDArray[np.float32] = found.flatten(1).float().numpy()
        if not np.isfinite(vectors).all():
            raise InputError("the backbone returns features that are not finite: check its weights and its input")
        return vectors


def get_backbone(given: "str | nn.Module | Backbone") -> Backbone:
    """`"lite0"`, a module of yours, a `Backbone`, or `"package.module:name"` of something that gives one of them.

    >>> get_backbone(nn.Flatten()).size
    128
    """
    if isinstance(given, Backbone):
        return given
    if isinstance(given, nn.Module):
        return Backbone(given)
    if given == "lite0":
        return _lite0()
    package, colon, name = given.partition(":")
    if not colon:
        raise InputError(f"unknown backbone {given!r}: use 'lite0', or 'package.module:name' for your own")
    try:
        found = getattr(import_module(package), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"backbone {given!r} cannot be imported: {error}") from None
    made = found if isinstance(found, nn.Module | Backbone) else found()
    if not isinstance(made, nn.Module | Backbone):
        raise InputError(f"backbone {given!r} must be an nn.Module or a Backbone, got a {type(made).__name__}")
    return get_backbone(made)


@lru_cache(maxsize=1)
def _lite0() -> Backbone:
    return Backbone(pretrained())
