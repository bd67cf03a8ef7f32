"""Features of pictures, computed once: what is in the cache is read, what is missing is computed and added to it."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from rpo._io import Bar, Show
from rpo_lab.data.fetching import Say, cache_folder
from rpo_lab.data.pictures import Album
from rpo_lab.features.backbone import Backbone, get_backbone
from rpo_lab.features.shelf import Shelf

SHARD = 128  # pictures: the work that a kill may lose


def extract(
    album: Album,
    pictures: NDArray[Any] | None = None,
    *,
    backbone: str | nn.Module | Backbone = "lite0",
    cache: Path | None = None,
    progress: Show = "auto",
    say: Say = lambda _: None,
) -> NDArray[np.float32]:
    """Features of an album's pictures `(n, d)`, all of them or some, by a frozen backbone (yours is one argument).

    They are kept in the cache by the content of the picture and by everything about the backbone, so that the same
    call goes on where it was stopped, and a changed picture or weight is another entry. A shard of the cache that was
    altered is set aside, reported, and its pictures are computed again.
    """
    net = get_backbone(backbone)
    chosen = np.arange(len(album)) if pictures is None else np.asarray(pictures)
    wanted = [str(digest) for digest in album.digest[chosen]]
    shelf = Shelf((cache or cache_folder()) / "features" / net.digest[:32])
    known = shelf.read(wanted)
    for path in shelf.altered:
        say(f"{path.with_suffix('').name[:12]}… in {path.parent} was altered: set aside, and computed again")
    missing = [digest for digest in dict.fromkeys(wanted) if digest not in known]
    with Bar(len(missing), "features", progress) as bar:
        for start in range(0, len(missing), SHARD):
            digests = missing[start : start + SHARD]
            places = np.array([album.place[digest] for digest in digests])
            features = net.features(album.pixels(places, net.size))
            shelf.add(digests, features)
            known.update(zip(digests, features, strict=True))
            bar.advance(len(digests))
    return np.stack([known[digest] for digest in wanted])
