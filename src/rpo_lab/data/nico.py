"""NICO, from the folder that its user downloaded: animal or vehicle, tied to the context of the photo."""

import csv
import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpo._io import Bar, write_whole
from rpo.exceptions import InputError
from rpo_lab.data.fetching import cache_folder
from rpo_lab.data.pictures import LABELS, REFUSED, Album, Skipped, Trouble, square, trouble_with, unique
from rpo_lab.data.tying import Homes, Photos, corrupted, tied, with_validation

HOMES: Homes = (("in_forest", "on_grass"), ("on_beach", "on_snow"))
TIES = (0.976, 0.951)  # of the field's published lists, as are the numbers of rows


class Place(NamedTuple):
    """Class and context of a file by its folder; `name` is unique within class and context."""

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
    r"""Draw animals and vehicles in four contexts; the domains are those of published lists, or made by our own rule.

    Without `lists`, a share `ties[e]` of training domain e is at home (`homes`: animals' contexts, vehicles'
    contexts), and a share `test_tie` of the test domain; the seed decides which pictures. With `lists`, a folder of
    `*train*.csv`, `*val*.csv` and `*test*.csv` with lines `class\context\file,…`, those are the domains, one a training
    list; what is listed for validation has no tie, and is the part "balanced". Either way a fifth of each training
    domain is for validation, and no picture is in two parts, by its content. `setting`, `keep` and `flip` are the
    corruption of `rpo_lab.data.colored_mnist`, with kinds for digits.

    Folders are `{animal,vehicle}/images/<class>/<context>/<file>`, or the same without `images`, in any case, singular
    or plural.
    """
    home = (tuple(map(plain, homes[0])), tuple(map(plain, homes[1])))
    album = nico_album(root, home[0] + home[1])
    rng = np.random.default_rng([seed, 9])
    vain: list[Skipped] = []
    if lists is None:
        picture, domain, part = tied(album, home, ties=ties, test_tie=test_tie, rows=rows, test_rows=test_rows, rng=rng)
    else:
        claims, vain = read_lists(album, Path(lists))
        picture = np.array(list(claims), dtype=np.intp)
        domain = np.array([claim[0] for claim in claims.values()], dtype=np.int8)
        part = with_validation(domain, np.array([claim[1] for claim in claims.values()], dtype="U10"), rng)
    skipped = (*album.skipped, *vain)
    return corrupted(album, picture, domain, part, setting=setting, keep=keep, flip=flip, rng=rng, skipped=skipped)


def nico_album(root: str | os.PathLike[str], contexts: Collection[str] | None = None) -> Album:
    """Collect the pictures of the folder, or those in some contexts; `skipped` lists what cannot be used.

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
        raise InputError(f"{root} holds no picture{wanted}: folders must be {{animal,vehicle}}/<class>/<context>")
    files.sort(key=lambda file: (file.place, file.digest))
    pictures = [files[i] for i in unique(np.array([file.digest for file in files]))]
    number = {file.digest: picture for picture, file in enumerate(pictures)}
    skipped += [Skipped(shown(file.path), "duplicate") for file in files if pictures[number[file.digest]] is not file]
    kinds = tuple(dict.fromkeys(file.place.kind for file in pictures))
    names = tuple(sorted({file.place.context for file in pictures}))
    return Album(
        kinds=kinds,
        contexts=names,
        label=np.array([file.place.label for file in pictures], dtype=np.int8),
        kind=np.array([kinds.index(file.place.kind) for file in pictures], dtype=np.int16),
        context=np.array([names.index(file.place.context) for file in pictures], dtype=np.int16),
        digest=np.array(list(number)),
        names=[str(file.place) for file in pictures],
        read=lambda picture, size: _read(root, pictures[picture], size),
        skipped=tuple(skipped),
        aliases={str(file.place): number[file.digest] for file in files},
    )


def _read(root: Path, file: File, size: int) -> NDArray[np.uint8]:
    content = (root / file.path).read_bytes()
    if hashlib.sha256(content).hexdigest() != file.digest:
        raise InputError(f"{root / file.path} has changed while it was in use: start again")
    return square(content, size)


def plain(name: str) -> str:
    """Spell a name in small letters, without spaces.

    >>> plain("On  Snow")
    'on_snow'
    """
    return re.sub(r"[\s_]+", "_", name.strip().lower())


def shown(path: Path) -> str:
    """Make a path printable, whatever bytes it is made of.

    >>> shown(Path("a/b.jpg"))
    'a/b.jpg'
    """
    return path.as_posix().encode("utf-8", "backslashreplace").decode()


def place_of(path: Path) -> Place | None:
    """Return what a file shows, by its place under the root; None if the place is of no layout.

    >>> place_of(Path("animal/images/bear/on snow/7.jpg"))
    Place(label=0, kind='bear', context='on_snow', name='7.jpg')
    """
    parts = [plain(part) for part in path.parts]
    for depth, part in enumerate(parts[:-1]):
        if part.rstrip("s") in LABELS:
            inner = [name for name in parts[depth + 1 : -1] if name != "images"]
            return Place(LABELS.index(part.rstrip("s")), inner[0], inner[1], parts[-1]) if len(inner) == 2 else None
    return None


def scan(root: Path, contexts: frozenset[str] | None) -> tuple[list[File], list[Skipped]]:
    """Return the files of some contexts (or of all) that can be used, and those left out; refused files are an error.

    Every file is decoded once; the judgement is kept in the cache and stands as long as the file's size and date do.
    """
    misnamed, placed, links = [], [], []
    for path in _walk(root):
        place = place_of(path)
        if (root / path).is_symlink() and not (root / path).resolve().is_relative_to(root.resolve()):
            links.append(File(path, Place(0, "", "", ""), "", "link"))
        elif place is None:
            misnamed.append(Skipped(shown(path), "misnamed"))
        elif contexts is None or place.context in contexts:
            placed.append((path, place))
    files = [File(path, place, *looked) for (path, place), looked in zip(placed, _judge(root, placed), strict=True)]
    refused = links + [file for file in files if file.trouble in REFUSED]
    if refused:
        words = "; ".join(f"{shown(file.path)} {REFUSED[str(file.trouble)]}" for file in refused[:5])
        more = f"; and {len(refused) - 5} more files" if len(refused) > 5 else ""
        raise InputError(f"{root} is not loaded: {words}{more}")
    skipped = [Skipped(shown(file.path), file.trouble) for file in files if file.trouble is not None]
    return [file for file in files if file.trouble is None], misnamed + skipped


def _walk(root: Path) -> Iterator[Path]:
    """Iterate over all files below, in order; links to folders are not followed but given themselves."""
    for here, folders, files in os.walk(root):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        for name in sorted(files + links):
            yield Path(here, name).relative_to(root)


def _judge(root: Path, placed: list[tuple[Path, Place]]) -> list[tuple[str, Trouble | None]]:
    """Return content hash and trouble of each file, from the cache where size and date are those of then."""
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
    """Return content hash and trouble of one file; what is no file (a pipe, say) is never opened."""
    if not path.is_file():
        return "", "unreadable"
    try:
        content = path.read_bytes()
    except OSError:
        return "", "unreadable"
    return hashlib.sha256(content).hexdigest(), trouble_with(content, path.name)


def read_lists(album: Album, folder: Path) -> tuple[dict[int, tuple[int, str]], list[Skipped]]:
    """Return the domain and part that published lists put each picture into, and what they list in vain, and why.

    Training lists are domains in the order of their names. A picture listed twice, under one name or two, is taken
    once: for the test before all, then for validation.
    """
    paths = {word: sorted(folder.glob(f"*{word}*.csv")) for word in ("test", "val", "train")}
    for word, lists in paths.items():
        if not lists:
            raise InputError(f"{folder} holds no list *{word}*.csv")
    domains = len(paths["train"])
    plan: list[tuple[Path, tuple[int, str]]] = [(path, (domains, "test")) for path in paths["test"]]
    plan += [(path, (domains + 1, "balanced")) for path in paths["val"]]
    plan += [(path, (domain, "train")) for domain, path in enumerate(paths["train"])]
    pictures, left_out = _by_name(album), _left_out(album)
    claims: dict[int, tuple[int, str]] = {}
    vain = []
    for path, claim in plan:
        before = len(claims)
        for name in _names(path):
            picture = pictures.get(name, pictures.get(_stem(name)))
            if picture is None:
                vain.append(Skipped(name, f"listed in {path.name} but {left_out.get(name, 'missing')}"))
            elif picture in claims:
                vain.append(Skipped(name, f"listed in {path.name} but in a list already"))
            else:
                claims[picture] = claim
        if len(claims) == before:
            raise InputError(f"{path} lists no picture of this folder: is it the right list?")
    return claims, vain


def _names(path: Path) -> Iterator[str]:
    """Iterate over the lines of a list as `class/context/file`, whichever slash they have."""
    with open(path, newline="", encoding="utf-8") as file:
        for number, line in enumerate(csv.reader(file), start=1):
            parts = re.split(r"[\\/]", line[0].strip()) if line else []
            if len(parts) < 3:
                raise InputError(f"{path}, line {number}: expected class\\context\\file, found {','.join(line)!r}")
            yield "/".join(plain(part) for part in parts[-3:])


def _by_name(album: Album) -> dict[str, int]:
    """Map names to pictures, and names without their ending where that says which."""
    stems: dict[str, set[int]] = {}
    for name, picture in album.aliases.items():
        stems.setdefault(_stem(name), set()).add(picture)
    return {stem: min(pictures) for stem, pictures in stems.items() if len(pictures) == 1} | dict(album.aliases)


def _left_out(album: Album) -> dict[str, Any]:
    """Map the names that a list would have for files that were left out to the reasons."""
    places = ((place_of(Path(skipped.name)), skipped.why) for skipped in album.skipped)
    return {str(place): why for place, why in places if place is not None}


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]
