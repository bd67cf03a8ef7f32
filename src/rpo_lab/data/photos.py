"""The stand-in for NICO that anybody can run: CIFAR-10's animals and vehicles, tied to the colour behind them."""

import hashlib
import os
from functools import lru_cache

import numpy as np

from rpo_lab.data.album import Album
from rpo_lab.data.cifar import KINDS, load_cifar
from rpo_lab.data.contexts import CONTEXTS, UNCLEAR, context_of
from rpo_lab.data.pictures import square
from rpo_lab.data.tying import Homes, Photos, corrupted, tied

VEHICLES = ("airplane", "automobile", "ship", "truck")
HOMES: Homes = (("green",), ("blue", "grey"))
# The weakest tie of those tried (see `rpo_lab.nico`) at which ERM on frozen features falls by ten points.
TIES, TEST_TIE = (1.0, 0.98), 0.0
PER_CELL = 300


def photos(
    setting: int = 0,
    *,
    folder: str | os.PathLike[str] | None = None,
    ties: tuple[float, ...] = TIES,
    test_tie: float = TEST_TIE,
    rows: int = 1600,
    test_rows: int = 800,
    per_cell: int = PER_CELL,
    keep: float = 0.1,
    flip: float = 0.3,
    seed: int = 0,
) -> Photos:
    """Animal or vehicle, before green (animals' home) or before blue and grey (vehicles'), drawn from CIFAR-10.

    In training domain e a share `ties[e]` of either is at home, in the test domain a share `test_tie`: the tie is
    reversed. A domain has `rows` rows, of which a fifth for validation. Pictures are drawn from a pool that is the same
    for all seeds: up to `per_cell` of each kind before each context. `setting`, `keep` and `flip` are the corruption
    of `rpo_lab.data.colored_mnist`, with kinds for digits. `folder` holds CIFAR-10, if not the cache.
    """
    album = photo_album(folder, per_cell)
    rng = np.random.default_rng([seed, 8])
    picture, domain, part = tied(album, HOMES, ties=ties, test_tie=test_tie, rows=rows, test_rows=test_rows, rng=rng)
    return corrupted(album, picture, domain, part, setting=setting, keep=keep, flip=flip, rng=rng)


def photo_album(folder: str | os.PathLike[str] | None = None, per_cell: int | None = None) -> Album:
    """CIFAR-10's pictures whose context is clear: all, or up to `per_cell` of each kind and context."""
    return _album(None if folder is None else os.fspath(folder), per_cell)


@lru_cache(maxsize=2)
def _album(folder: str | None, per_cell: int | None) -> Album:
    images, kind = load_cifar(folder)
    context = context_of(images)
    rng = np.random.default_rng(8)
    chosen = np.sort(
        np.concatenate(
            [
                rng.permutation(np.flatnonzero((kind == k) & (context == c)))[:per_cell]
                for k in range(len(KINDS))
                for c in range(len(CONTEXTS))
            ]
        )
    )
    assert UNCLEAR not in context[chosen]
    digest = np.array([hashlib.sha256(images[i].tobytes()).hexdigest() for i in chosen])
    is_vehicle = np.array([name in VEHICLES for name in KINDS])
    return Album(
        kinds=KINDS,
        contexts=CONTEXTS,
        label=is_vehicle[kind[chosen]].astype(np.int8),
        kind=kind[chosen].astype(np.int16),
        context=context[chosen].astype(np.int16),
        digest=digest,
        names=[f"{KINDS[kind[i]]}/{i:05d}" for i in chosen],
        read=lambda picture, size: square(images[chosen[picture]], size),
    )
