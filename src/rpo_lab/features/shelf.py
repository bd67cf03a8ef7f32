"""Features on disk, in shards whose name is the SHA-256 of their bytes: an altered one no longer fits its name."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from rpo._io import write_whole

ENDING = ".safetensors"


class Shelf:
    """A folder of shards, each with the content hashes of some pictures and their features.

    Nothing is ever overwritten, so any number of processes may add to it, and a kill loses the shard in work and no
    more. A shard that is not what was written is set aside as `*.altered` and listed in `altered`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.altered: list[Path] = []

    def read(self, wanted: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Features by content hash, of those wanted that are there."""
        asked, found = set(wanted), {}
        for path in sorted(self.folder.glob(f"*{ENDING}")):
            shard = self._shard(path)
            if shard is not None:
                names = [row.tobytes().hex() for row in shard["digest"]]
                found.update({name: shard["features"][i] for i, name in enumerate(names) if name in asked})
        return found

    def add(self, digests: Sequence[str], features: NDArray[np.float32]) -> None:
        """One more shard."""
        names = np.array([list(bytes.fromhex(digest)) for digest in digests], dtype=np.uint8)
        data = save({"digest": names, "features": np.ascontiguousarray(features)})
        write_whole(self.folder / f"{hashlib.sha256(data).hexdigest()}{ENDING}", data)

    def _shard(self, path: Path) -> dict[str, NDArray[np.generic]] | None:
        data = path.read_bytes()
        try:
            if hashlib.sha256(data).hexdigest() == path.stem:
                return dict(load(data))
        except SafetensorError:  # named after its content and still no shard: somebody else's file
            pass
        aside = path.with_suffix(".altered")
        path.replace(aside)
        self.altered.append(aside)
        return None
