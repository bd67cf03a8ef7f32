"""Frozen backbones: features of photos, computed once and cached by the content of picture and backbone.

Shards of the cache are named after the SHA-256 of their bytes: an altered one no longer fits its name. Nothing is ever
overwritten, so any number of processes may add to them, and a kill loses the shard in work and no more.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save
from torch import Tensor, nn

from rpo._io import Bar, Show, write_whole
from rpo.exceptions import InputError
from rpo_lab.data.fetching import Say, cache_folder
from rpo_lab.data.pictures import Album
from rpo_lab.lite0 import pretrained

FORMAT = 1  # raise it when the same network and pictures no longer give the same features
SHARD = 128  # pictures: the work that a kill may lose


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
        """Compute the vectors of pictures `(n, size, size, 3)`, in evaluation mode, whatever the batch they come in.

        >>> Backbone(nn.AdaptiveAvgPool2d(1), size=2).features(np.full((1, 2, 2, 3), 255, np.uint8))
        array([[1., 1., 1.]], dtype=float32)
        """
        # Bytes have the colour last, which is also how convolutions are quickest.
        x = (torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).float() / 255 - self.mean) / self.std
        was_training = self.module.training
        try:
            with torch.inference_mode():
                outputs: Tensor = self.module.eval()(x)
        finally:
            self.module.train(was_training)
        vectors: NDArray[np.float32] = outputs.flatten(1).float().numpy()
        if not np.isfinite(vectors).all():
            raise InputError("the backbone returns features that are not finite: check its weights and its input")
        return vectors


def get_backbone(given: "str | nn.Module | Backbone") -> Backbone:
    """Return the backbone of a name, `"lite0"` or `"package.module:name"`, or of a module.

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
        maker = getattr(import_module(package), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"backbone {given!r} cannot be imported: {error}") from None
    backbone = maker if isinstance(maker, nn.Module | Backbone) else maker()
    if not isinstance(backbone, nn.Module | Backbone):
        raise InputError(f"backbone {given!r} must be an nn.Module or a Backbone, got a {type(backbone).__name__}")
    return get_backbone(backbone)


@lru_cache(maxsize=1)
def _lite0() -> Backbone:
    return Backbone(pretrained())


def extract(
    album: Album,
    pictures: NDArray[Any] | None = None,
    *,
    backbone: str | nn.Module | Backbone = "lite0",
    cache: Path | None = None,
    progress: Show = "auto",
    say: Say = lambda _: None,
) -> NDArray[np.float32]:
    """Compute features of an album's pictures `(n, d)`, all of them or some, by a frozen backbone.

    They are kept in the cache by the content of the picture and by everything about the backbone, so that the same
    call goes on where it was stopped, and a changed picture or weight is another entry. A shard of the cache that was
    altered is set aside, reported, and its pictures are computed again.
    """
    net = get_backbone(backbone)
    chosen = np.arange(len(album)) if pictures is None else np.asarray(pictures)
    wanted = [str(digest) for digest in album.digest[chosen]]
    folder = (cache or cache_folder()) / "features" / net.digest[:32]
    known = _read_shards(folder, set(wanted), say)
    missing = [digest for digest in dict.fromkeys(wanted) if digest not in known]
    with Bar(len(missing), "features", progress) as bar:
        for start in range(0, len(missing), SHARD):
            digests = missing[start : start + SHARD]
            places = np.array([album.place[digest] for digest in digests])
            features = net.features(album.pixels(places, net.size))
            _write_shard(folder, digests, features)
            known.update(zip(digests, features, strict=True))
            bar.advance(len(digests))
    return np.stack([known[digest] for digest in wanted])


def _read_shards(folder: Path, wanted: set[str], say: Say) -> dict[str, NDArray[np.float32]]:
    """Return the features that are kept, by content hash."""
    known = {}
    for path in sorted(folder.glob("*.safetensors")):
        shard = _read_shard(path, say)
        if shard is not None:
            names = [row.tobytes().hex() for row in shard["digest"]]
            known.update({name: shard["features"][i] for i, name in enumerate(names) if name in wanted})
    return known


def _read_shard(path: Path, say: Say) -> dict[str, NDArray[Any]] | None:
    """Return the content of a shard; one that is not what was written is set aside as `*.altered` and reported."""
    data = path.read_bytes()
    try:
        if hashlib.sha256(data).hexdigest() == path.stem:
            return dict(load(data))
    except SafetensorError:  # named after its content and still no shard: somebody else's file
        pass
    path.replace(path.with_suffix(".altered"))
    say(f"{path.stem[:12]}… in {path.parent} was altered: set aside, and computed again")
    return None


def _write_shard(folder: Path, digests: Sequence[str], features: NDArray[np.float32]) -> None:
    names = np.array([list(bytes.fromhex(digest)) for digest in digests], dtype=np.uint8)
    data = save({"digest": names, "features": np.ascontiguousarray(features)})
    write_whole(folder / f"{hashlib.sha256(data).hexdigest()}.safetensors", data)
