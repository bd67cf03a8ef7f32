"""A dataset of Parquet files, in parts: a file, a folder, a pattern, partitions named in folders, an object store.

Nothing is read but the ends of the files, where their columns and rows are described, until a part is asked for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd

from rpo._io import few, words_of
from rpo._table.reading import PARQUET_ENDINGS, PATTERN, check_names, check_types, frame_of
from rpo.exceptions import InputError

PART_ROWS = 1_000_000  # rows of a part at the least, where a file has as many
BATCH = 1 << 16  # rows that are in memory at a time
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
MOST_NAMED = 3


class UnreadableError(InputError):
    """A file cannot be read, or not to its end."""


@dataclass(frozen=True)
class Part:
    """Some rows of one file; `first` counts rows of the dataset before it, `offset` those of its file."""

    file: str
    groups: tuple[int, ...]
    rows: int
    first: int
    offset: int
    keys: tuple[tuple[str, Any], ...] = ()
    """Columns that the names of folders hold."""

    @property
    def name(self) -> str:
        """Which rows of which file these are, as one word."""
        return sha256(f"{self.file} {self.groups}".encode()).hexdigest()[:20]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Parts, in the order of their files' names, the columns that they have together, and files that were skipped."""

    name: str
    parts: tuple[Part, ...]
    schema: Any = field(repr=False)
    fingerprint: str
    """Of names, sizes and times of the files: another dataset has another."""
    bad: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    """Columns that some files lack."""

    @property
    def rows(self) -> int:
        """How many rows all parts have."""
        return sum(part.rows for part in self.parts)

    @property
    def files(self) -> int:
        """How many files it has."""
        return len({part.file for part in self.parts})

    @property
    def columns(self) -> list[str]:
        """Names of columns."""
        return list(self.schema.names)

    def batches(self, part: Part, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows of a part, some columns or all, a batch at a time; what cannot be read is one line."""
        import pyarrow as pa
        from pyarrow import dataset

        names = self.columns if columns is None else list(columns)
        keys = dict(part.keys)
        stored = pa.schema([self.schema.field(name) for name in names if name not in keys])
        coded = [name for name, kind in zip(stored.names, stored.types, strict=True) if pa.types.is_dictionary(kind)]
        system, path = _opened(part.file)
        try:
            # A column's pages as they are needed, not whole row groups: these may be of any size.
            options = dataset.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True, page_checksum_verification=True
            )
            form = dataset.ParquetFileFormat(
                read_options={"dictionary_columns": coded}, default_fragment_scan_options=options
            )
            some = form.make_fragment(path, system, row_groups=list(part.groups))
            scan = {"batch_size": BATCH, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
            for batch in some.to_batches(schema=stored, columns=stored.names, **scan):
                for name in names:
                    if name in keys:
                        value = pa.array([keys[name]], self.schema.field(name).type)
                        batch = batch.append_column(name, value.take(_zeros(batch.num_rows)))
                if batch.num_rows:
                    yield batch.select(names) if keys else batch
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UnreadableError(f"{part.file} cannot be read ({words_of(error)})") from None

    def without(self, files: Sequence[str]) -> "Dataset":
        """The same without some of its files."""
        left = [part for part in self.parts if part.file not in files]
        if not left:
            raise InputError(f"no file of {self.name} can be read")
        other = sha256(" ".join([self.fingerprint, *sorted(files)]).encode()).hexdigest()
        return Dataset(self.name, _numbered(left), self.schema, other, (*self.bad, *files), self.partial)

    def frame(self) -> pd.DataFrame:
        """All of it in memory."""
        import pyarrow as pa

        plain = [decoded(batch) for part in self.parts for batch in self.batches(part)]
        return frame_of(pa.Table.from_batches(plain))


def open_dataset(given: str, *, skip_bad: bool = False, needed: Sequence[str] = ()) -> Dataset:
    """The dataset at a path, pattern or address; every file's end is read, and one that is bad is told or skipped."""
    import pyarrow as pa
    from pyarrow import parquet

    files, keys = _found(given)
    types = _key_types(keys)
    good: list[tuple[str, Any, Any]] = []
    bad: dict[str, str] = {}
    schema: Any = None
    for file in files:
        system, path = _opened(file)
        try:
            with system.open_input_file(path) as opened:
                described = parquet.ParquetFile(opened)
                about, own = described.metadata, _plain(described.schema_arrow)
            check_types(own, Path(file))
            if lacking := [name for name in needed if name not in own.names and name not in types]:
                raise InputError(f"it has no column {lacking[0]!r}")
            schema = own if schema is None else pa.unify_schemas([schema, own], promote_options="permissive")
            good.append((file, about, own))
        except (pa.ArrowException, OSError, ValueError) as error:
            bad[file] = words_of(error)
    if bad and (not skip_bad or not good):
        file, why = next(iter(bad.items()))
        more = f", as {len(bad) - 1:,} more of {len(files):,} files" if len(bad) > 1 else ""
        raise InputError(f"{file} cannot be used ({why}){more}: repair or remove it, or skip it with --skip-bad")
    for name, kind in types.items():
        if name not in schema.names:
            schema = schema.append(pa.field(name, kind))
    schema = pa.schema([pa.field(one.name, _coded(one.type)) for one in schema])
    parts = [
        Part(file, groups, rows, 0, offset, tuple((name, _valued(keys[file].get(name), types[name])) for name in types))
        for file, about, _ in good
        for groups, rows, offset in _groups(about)
    ]
    check_names(list(schema.names), sum(part.rows for part in parts), Path(given))
    lacked = sorted({name for name in schema.names for _, _, own in good if name not in own.names} - set(types))
    print_of = sha256("\n".join(f"{file} {about.num_rows} {_stamp(file)}" for file, about, _ in good).encode())
    return Dataset(given, _numbered(parts), schema, print_of.hexdigest(), tuple(bad), tuple(lacked))


def _numbered(parts: Sequence[Part]) -> tuple[Part, ...]:
    made, first = [], 0
    for part in parts:
        made.append(Part(part.file, part.groups, part.rows, first, part.offset, part.keys))
        first += part.rows
    return tuple(made)


def _groups(about: Any) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Row groups of a file that make a part: which, their rows, and those before."""
    some: list[int] = []
    rows = offset = 0
    for group in range(about.num_row_groups):
        some.append(group)
        rows += about.row_group(group).num_rows
        if rows >= PART_ROWS or group == about.num_row_groups - 1:
            if rows:
                yield tuple(some), rows, offset
            offset, rows, some = offset + rows, 0, []


def _found(given: str) -> tuple[list[str], dict[str, dict[str, str | None]]]:
    """The Parquet files at a place, sorted by name, and what the folders that they are in say of each."""
    if "://" in given:
        system, path, kind = _remote(given)
        try:
            listed = system.glob(path) if PATTERN.search(path) else system.find(path)
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f"{given} cannot be listed ({words_of(error)})") from None
        files = [f"{kind}://{name}" for name in listed]
        root = given.rstrip("/")
    else:
        # Absolute, because a worker of a cluster may be somewhere else.
        path_ = Path(given).absolute()
        root = given = str(path_)
        if path_.is_dir():
            files = [str(one) for one in path_.rglob("*") if one.is_file()]
        elif path_.is_file():
            files = [given]
        else:
            import glob

            files = [name for name in glob.glob(given, recursive=True) if Path(name).is_file()]
    used = sorted(name for name in files if _is_data(name[len(root) :] if name.startswith(root) else name))
    if not used and files == [given]:
        used = files
    if not used:
        raise InputError(
            f"no Parquet file was found at {given}: pass a file, a folder or a pattern such as 'visits/*.parquet'"
        )
    return used, {name: dict(_pairs(name[len(root) :] if name.startswith(root) else name)) for name in used}


def _is_data(name: str) -> bool:
    """Whether a file below a folder is one of its data: no hidden one, and none of those that writers leave beside."""
    steps = [step for step in name.split("/") if step]
    return not any(step.startswith((".", "_")) for step in steps) and name.lower().endswith(PARQUET_ENDINGS)


def _pairs(name: str) -> Iterator[tuple[str, str | None]]:
    for step in name.split("/")[:-1]:
        key, equals, value = step.partition("=")
        if equals and key:
            yield unquote(key), None if value == NO_VALUE else unquote(value)


def _key_types(keys: dict[str, dict[str, str | None]]) -> dict[str, Any]:
    """Whole numbers, or text: for each column that the names of folders hold."""
    import pyarrow as pa

    values: dict[str, set[str]] = {}
    for one in keys.values():
        for name, value in one.items():
            values.setdefault(name, set()).update([] if value is None else [value])
    return {
        name: pa.int64() if some and all(re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", v) for v in some) else pa.string()
        for name, some in values.items()
    }


def _valued(value: str | None, kind: Any) -> Any:
    import pyarrow as pa

    return int(value) if value is not None and pa.types.is_integer(kind) else value


def _remote(given: str) -> tuple[Any, str, str]:
    try:
        import fsspec
    except ImportError:
        raise InputError("an address such as s3:// needs fsspec: pip install 'rpo[remote]'") from None
    try:
        system, path = fsspec.core.url_to_fs(given)
    except (ImportError, ValueError) as error:
        raise InputError(f"{given} cannot be opened ({words_of(error)})") from None
    return system, path, given.split("://")[0]


@cache
def _system(kind: str) -> Any:
    from pyarrow import fs

    if not kind:
        return fs.LocalFileSystem()
    return fs.PyFileSystem(fs.FSSpecHandler(_remote(f"{kind}://")[0]))


def _opened(file: str) -> tuple[Any, str]:
    """The file system that has a file, and its path there."""
    kind, found, _ = file.partition("://")
    if not found:
        return _system(""), str(Path(file).absolute())
    return _system(kind), _remote(file)[1]


def _stamp(file: str) -> str:
    """Size and time of a file; of one that has none, its name alone."""
    system, path = _opened(file)
    about = system.get_file_info(path)
    return f"{about.size} {about.mtime_ns}"


def _plain(schema: Any) -> Any:
    """Columns as their values are, not as they are stored; without pandas' unnamed index and notes."""
    import pyarrow as pa

    from rpo._table.reading import INDEX

    fields = [pa.field(one.name, _valued_type(one.type)) for one in schema if not INDEX.fullmatch(one.name)]
    return pa.schema(fields)


def _valued_type(kind: Any) -> Any:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def _coded(kind: Any) -> Any:
    """Text comes as codes of different values: each is looked at once."""
    import pyarrow as pa

    return pa.dictionary(pa.int32(), pa.string()) if pa.types.is_string(kind) else kind


def _zeros(rows: int) -> Any:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.zeros(rows, dtype=np.int64))


def decoded(rows: Any) -> Any:
    """Rows with text as text: batches have dictionaries of their own."""
    import pyarrow as pa

    coded = pa.types.is_dictionary
    columns = [one.cast(one.type.value_type) if coded(one.type) else one for one in rows.columns]
    return type(rows).from_arrays(columns, names=rows.schema.names)


def skipped_words(files: Sequence[str]) -> str:
    """Which files were left out."""
    return f"{len(files):,} files were skipped: {few(list(files), MOST_NAMED)}" if files else ""
