"""NICO, from the folder that its user downloaded: animal or vehicle, tied to the context of the photo."""

import hashlib
import os
from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rpo.exceptions import InputError
from rpo_lab.data.album import Album, Skipped, unique
from rpo_lab.data.nico_lists import read_lists
from rpo_lab.data.nico_tree import File, plain, scan, shown
from rpo_lab.data.pictures import square
from rpo_lab.data.tying import Homes, Photos, corrupted, tied, with_validation

HOMES: Homes = (("in_forest", "on_grass"), ("on_beach", "on_snow"))
TIES = (0.976, 0.951)  # of the field's published lists, as are the numbers of rows


def nico(
    root: str | os.PathLike[str],
    setting: int = 0,
    *,
    lists: str | os.PathLike[str] | None = None,
    homes: Homes = HOMES,
    ties: tuple[float, ...] = TIES,
    test_tie: float = 0.1,
    rows: int = 1640,
    test_rows: int = 400,
    keep: float = 0.1,
    flip: float = 0.3,
    seed: int = 0,
) -> Photos:
    r"""Animal or vehicle in four contexts; the domains are those of published lists, or drawn by our own rule.

    Without `lists`, a share `ties[e]` of training domain e is at home (`homes`: animals' contexts, vehicles'
    contexts), and a share `test_tie` of the test domain; the seed decides which pictures. With `lists`, a folder of
    `*train*.csv`, `*val*.csv` and `*test*.csv` with lines `class\context\file,…`, those are the domains, one a training
    list; what is listed for validation has no tie, and is the part "balanced". Either way a fifth of each training
    domain is for validation, and no picture is in two parts, by its content. `setting`, `keep` and `flip` are the
    corruption of `rpo_lab.data.colored_mnist`, with kinds for digits.

    Layouts: `{animal,vehicle}/images/<class>/<context>/<file>`, the same without `images`, in any case, singular or
    plural; and flat, `{train,val,test}/<class>_<context>_<number>`.
    """
    home = (tuple(map(plain, homes[0])), tuple(map(plain, homes[1])))
    album = nico_album(root, home[0] + home[1])
    rng = np.random.default_rng([seed, 9])
    vain: list[Skipped] = []
    if lists is None:
        picture, domain, part = tied(album, home, ties=ties, test_tie=test_tie, rows=rows, test_rows=test_rows, rng=rng)
    else:
        claims, vain = read_lists(album, Path(lists))
        picture = np.array([claim.picture for claim in claims], dtype=np.intp)
        domain = np.array([claim.domain for claim in claims], dtype=np.int8)
        part = with_validation(domain, np.array([claim.part for claim in claims], dtype="U10"), rng)
    skipped = (*album.skipped, *vain)
    return corrupted(album, picture, domain, part, setting=setting, keep=keep, flip=flip, rng=rng, skipped=skipped)


def nico_album(root: str | os.PathLike[str], contexts: Collection[str] | None = None) -> Album:
    """All pictures of the folder, or those in some contexts; what cannot be used is left out and listed in `skipped`.

    The same pictures give the same album in every layout. Of pictures with the same content one is taken.
    """
    folder = Path(root)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: pass the one that contains NICO")
    return _album(folder.resolve(), None if contexts is None else frozenset(map(plain, contexts)))


def _album(root: Path, contexts: frozenset[str] | None) -> Album:
    files, skipped = scan(root, contexts)
    if not files:
        wanted = "" if contexts is None else f" in {', '.join(sorted(contexts))}"
        raise InputError(
            f"{root} holds no picture{wanted}: folders must be {{animal,vehicle}}/<class>/<context>, or files "
            "{train,val,test}/<class>_<context>_<number>"
        )
    files.sort(key=lambda file: (file.place, file.digest))
    first = unique(np.array([file.digest for file in files]))
    kept = [files[i] for i in first]
    number = {file.digest: picture for picture, file in enumerate(kept)}
    twins = [file for file in files if kept[number[file.digest]] is not file]
    skipped += [Skipped(shown(file.path), "duplicate") for file in twins]
    kinds = tuple(dict.fromkeys(file.place.kind for file in kept))
    names = tuple(sorted({file.place.context for file in kept}))
    return Album(
        kinds=kinds,
        contexts=names,
        label=np.array([file.place.label for file in kept], dtype=np.int8),
        kind=np.array([kinds.index(file.place.kind) for file in kept], dtype=np.int16),
        context=np.array([names.index(file.place.context) for file in kept], dtype=np.int16),
        digest=np.array([file.digest for file in kept]),
        names=[str(file.place) for file in kept],
        read=lambda picture, size: _read(root, kept[picture], size),
        skipped=tuple(skipped),
        aliases={str(file.place): number[file.digest] for file in files},
    )


def _read(root: Path, file: File, size: int) -> NDArray[np.uint8]:
    content = (root / file.path).read_bytes()
    if hashlib.sha256(content).hexdigest() != file.digest:
        raise InputError(f"{root / file.path} has changed while it was in use: start again")
    return square(content, size)
