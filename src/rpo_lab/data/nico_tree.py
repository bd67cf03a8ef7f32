"""NICO's folders, whichever way they are laid out: what each file shows, and whether it can be used."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rpo._io import write_whole
from rpo.exceptions import InputError
from rpo_lab.data.album import LABELS, Skipped
from rpo_lab.data.fetching import cache_folder
from rpo_lab.data.pictures import REFUSED, Trouble, leads_out, trouble_with

# A flat layout does not say what is an animal; contexts are read from the names, never listed here.
ANIMALS = ("bear", "bird", "cat", "cow", "dog", "elephant", "horse", "monkey", "rat", "sheep")
VEHICLES = ("airplane", "bicycle", "boat", "bus", "car", "helicopter", "motorcycle", "train", "truck")
FLAT = ("train", "val", "test")

# What is wrong with a refused file, and what to do about it.
ADVICE: dict[str, str] = {
    "empty": "has no content: fetch it again or delete it",
    "bomb": "unpacks to more pixels than any photo has: delete it",
    "link": "leads out of the folder: put the file itself there",
}


class Place(NamedTuple):
    """What a file's place in the tree says that it shows; `name` is its own within class and context."""

    label: int
    kind: str
    context: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.context}/{self.name}"


class File(NamedTuple):
    """A file, what it shows, the SHA-256 of its content, and what is wrong with it."""

    path: Path
    place: Place
    digest: str
    trouble: Trouble | None


def plain(name: str) -> str:
    """One spelling: small letters, no spaces.

    >>> plain("On  Snow")
    'on_snow'
    """
    return re.sub(r"[\s_]+", "_", name.strip().lower())


def place_of(path: Path) -> Place | None:
    """What a file shows, by its place under the root; None if the place is of no layout.

    >>> place_of(Path("animal/images/bear/on snow/7.jpg"))
    Place(label=0, kind='bear', context='on_snow', name='7.jpg')
    >>> place_of(Path("train/truck_on_grass_12.png"))
    Place(label=1, kind='truck', context='on_grass', name='12.png')
    """
    parts = [plain(part) for part in path.parts]
    for depth, part in enumerate(parts[:-1]):
        if part.rstrip("s") in LABELS:
            inner = [p for p in parts[depth + 1 : -1] if p != "images"]
            return Place(LABELS.index(part.rstrip("s")), inner[0], inner[1], parts[-1]) if len(inner) == 2 else None
        if part in FLAT and len(parts) == depth + 2:
            match = re.fullmatch(r"([a-z]+)_(.+)_([^_]+)", parts[-1])
            known = match is not None and match[1] in ANIMALS + VEHICLES
            return Place(int(match[1] in VEHICLES), match[1], match[2], match[3]) if match and known else None
    return None


def scan(root: Path, contexts: frozenset[str] | None) -> tuple[list[File], list[Skipped]]:
    """Every file of some contexts (or of all) that can be used, and those left out; refused files are an error.

    Every file is decoded once; the judgement is kept in the cache and stands as long as the file's size and date do.
    """
    misnamed, placed, links = [], [], []
    for path in _walk(root):
        place = place_of(path)
        if (root / path).is_symlink() and leads_out(root / path, root):
            links.append(File(path, Place(0, "", "", ""), "", "link"))
        elif place is None:
            misnamed.append(Skipped(shown(path), "misnamed"))
        elif contexts is None or place.context in contexts:
            placed.append((path, place))
    files = [File(path, place, *found) for (path, place), found in zip(placed, _judge(root, placed), strict=True)]
    refused = links + [file for file in files if file.trouble in REFUSED]
    if refused:
        words = "; ".join(f"{shown(file.path)} {ADVICE[str(file.trouble)]}" for file in refused[:5])
        more = f"; and {len(refused) - 5} more files" if len(refused) > 5 else ""
        raise InputError(f"{root} is not loaded: {words}{more}")
    skipped = [Skipped(shown(file.path), file.trouble) for file in files if file.trouble is not None]
    return [file for file in files if file.trouble is None], misnamed + skipped


def shown(path: Path) -> str:
    """The path, printable whatever bytes it is made of.

    >>> shown(Path("a/b.jpg"))
    'a/b.jpg'
    """
    return path.as_posix().encode("utf-8", "backslashreplace").decode()


def _walk(root: Path) -> Iterator[Path]:
    """All files below, in order; links to folders are not followed but given themselves."""
    for here, folders, files in os.walk(root):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        for name in sorted(files + links):
            yield Path(here, name).relative_to(root)


def _judge(root: Path, placed: list[tuple[Path, Place]]) -> list[tuple[str, Trouble | None]]:
    """Content hash and trouble of each file, from the cache where size and date are those of then."""
    from rpo._io import Bar

    saved = cache_folder() / "nico" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:20]}.json"
    try:
        known = json.loads(saved.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    judged, before = [], dict(known)
    with Bar(len(placed), "looking at pictures") as bar:
        for path, _ in placed:
            state = (root / path).stat()
            entry = known.get(shown(path))
            if entry is None or entry[:2] != [state.st_size, state.st_mtime_ns]:
                entry = [state.st_size, state.st_mtime_ns, *_look(root / path)]
                known[shown(path)] = entry
            judged.append((entry[2], entry[3]))
            bar.advance()
    if known != before:
        write_whole(saved, json.dumps(known))
    return judged


def _look(path: Path) -> tuple[str, Trouble | None]:
    """Content hash and trouble of one file; what is no file (a pipe, say) is never opened."""
    if not path.is_file():
        return "", "unreadable"
    try:
        content = path.read_bytes()
    except OSError:
        return "", "unreadable"
    return hashlib.sha256(content).hexdigest(), trouble_with(content, path.name)
