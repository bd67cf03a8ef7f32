"""The field's published lists of NICO's domains: lines of class, context and file, with either slash."""

import csv
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rpo.exceptions import InputError
from rpo_lab.data.album import Album, Skipped
from rpo_lab.data.nico_tree import place_of, plain


class Claim(NamedTuple):
    """A picture of the album, and the domain and part that a list puts it into."""

    picture: int
    domain: int
    part: str


def read_lists(album: Album, folder: Path) -> tuple[list[Claim], list[Skipped]]:
    """What the lists put where, and what is listed in vain, with the list's name and why.

    Training lists are domains in the order of their names. A picture listed twice, under one name or two, is taken
    once: for the test before all, then for validation.
    """
    paths = {word: sorted(folder.glob(f"*{word}*.csv")) for word in ("test", "val", "train")}
    for word, some in paths.items():
        if not some:
            raise InputError(f"{folder} holds no list *{word}*.csv")
    domains = len(paths["train"])
    plan = [(path, domains, "test") for path in paths["test"]]
    plan += [(path, domains + 1, "balanced") for path in paths["val"]]
    plan += [(path, domain, "train") for domain, path in enumerate(paths["train"])]
    pictures, left_out = _by_name(album), _left_out(album)
    claims: dict[int, Claim] = {}
    vain = []
    for path, domain, part in plan:
        before = len(claims)
        for name in _names(path):
            picture = pictures.get(name, pictures.get(_stem(name)))
            if picture is None:
                vain.append(Skipped(name, f"listed in {path.name} but {left_out.get(name, 'missing')}"))
            elif picture in claims:
                vain.append(Skipped(name, f"listed in {path.name} but in a list already"))
            else:
                claims[picture] = Claim(picture, domain, part)
        if len(claims) == before:
            raise InputError(f"{path} lists no picture of this folder: is it the right list?")
    return list(claims.values()), vain


def _names(path: Path) -> Iterator[str]:
    """`class/context/file` of every line of a list."""
    with open(path, newline="", encoding="utf-8") as file:
        for number, line in enumerate(csv.reader(file), start=1):
            parts = re.split(r"[\\/]", line[0].strip()) if line else []
            if len(parts) < 3:
                raise InputError(f"{path}, line {number}: expected class\\context\\file, found {','.join(line)!r}")
            yield "/".join(plain(part) for part in parts[-3:])


def _by_name(album: Album) -> dict[str, int]:
    """Pictures by name, and by name without its ending where that says which."""
    stems: dict[str, set[int]] = {}
    for name, picture in album.aliases.items():
        stems.setdefault(_stem(name), set()).add(picture)
    return {stem: min(some) for stem, some in stems.items() if len(some) == 1} | dict(album.aliases)


def _left_out(album: Album) -> dict[str, str]:
    """Why a file that is there was left out, by the name that a list would have for it."""
    places = ((place_of(Path(skipped.name)), skipped.why) for skipped in album.skipped)
    return {str(place): why for place, why in places if place is not None}


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]
