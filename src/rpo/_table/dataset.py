"""A dataset of Parquet files, in parts: a file, a folder, a pattern, partitions named in folders, an object store.

Only the metadata at the ends of the files is read before a part is used.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd

from rpo._io import few, words_of
from rpo._table.reading import INDEX, PARQUET_ENDINGS, PATTERN, check_names, check_types, frame_of
from rpo.exceptions import InputError

PART_ROWS = 1_000_000  # rows of a part at the least, where a file has as many
BATCH = 1 << 16  # rows that are in memory at a time
KEY = re.compile(r"([^/=]+)=([^/]*)/")  # a column and its value in the names of folders
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Hidden files are none of its data, nor are those that writers leave beside.
DATA = re.compile(rf"/*([^._/][^/]*/+)*[^._/][^/]*({'|'.join(map(re.escape, PARQUET_ENDINGS))})", re.IGNORECASE)
WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
MOST_NAMED = 3


class UnreadableError(InputError):
    """Raised if a Parquet file is unreadable or truncated."""


@dataclass(frozen=True)
class Part:
    """Some row groups of one file; `offset` counts the rows of the file before them."""

    file: str
    groups: tuple[int, ...]
    rows: int
    offset: int
    keys: Any
    """Columns that the names of folders hold, as an expression of pyarrow."""

    @property
    def name(self) -> str:
        """Which rows of which file these are, as one word."""
        return sha256(f"{self.file} {self.offset} {self.rows}".encode()).hexdigest()[:20]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Parts, in the order of their files' names, the columns of all of them, and files that were skipped."""

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
        """Read the rows of a part in batches, some columns or all, with text as codes of distinct values."""
        import pyarrow as pa
        from pyarrow import dataset

        names = self.columns if columns is None else list(columns)
        kinds = {name: self.schema.field(name).type for name in names}
        keys = dataset.get_partition_keys(part.keys)  # one that is missing would be a code of its own
        coded = [name for name, kind in kinds.items() if pa.types.is_string(kind) and keys.get(name, "") is not None]
        schema = pa.schema(kinds | dict.fromkeys(coded, pa.dictionary(pa.int32(), pa.string())))
        # A column's pages as they are needed, not whole row groups: these may be of any size.
        options = dataset.ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True, page_checksum_verification=True
        )
        form = dataset.ParquetFileFormat(
            read_options={"dictionary_columns": coded}, default_fragment_scan_options=options
        )
        scan = {"batch_size": BATCH, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
        system, path = _open_system(part.file)
        try:
            rows = form.make_fragment(path, system, part.keys, row_groups=list(part.groups))
            yield from (batch for batch in rows.to_batches(schema, names, **scan) if batch.num_rows)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UnreadableError(f"{part.file} cannot be read ({words_of(error)})") from None

    def decoded(self, batches: Sequence[Any]) -> Any:
        """Concatenate rows of batches to a table of pyarrow, with codes decoded to text."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in batches[0].schema.names])
        return pa.concat_tables([pa.Table.from_batches([batch]).cast(schema) for batch in batches])

    def without(self, files: Sequence[str]) -> "Dataset":
        """Return the same dataset without some of its files."""
        left = tuple(part for part in self.parts if part.file not in files)
        if not left:
            raise InputError(f"no file of {self.name} can be read")
        other = sha256(" ".join([self.fingerprint, *sorted(files)]).encode()).hexdigest()
        return replace(self, parts=left, fingerprint=other, bad=(*self.bad, *files))

    def frame(self) -> pd.DataFrame:
        """Read all parts into memory."""
        return frame_of(self.decoded([batch for part in self.parts for batch in self.batches(part)]))


def open_dataset(given: str, *, skip_bad: bool = False, needed: Sequence[str] = ()) -> Dataset:
    """Open the dataset at a path, pattern or address; read the metadata of every file, raise if one is unreadable."""
    import pyarrow as pa
    from pyarrow import parquet

    files, folders = _find_files(given)
    schema, print_of = pa.schema([]), sha256()
    good: dict[str, Any] = {}
    bad: dict[str, str] = {}
    parts: list[Part] = []
    for file, place in files.items():
        system, path = _open_system(file)
        try:
            with system.open_input_file(path) as opened:
                described = parquet.ParquetFile(opened)
                about, own = described.metadata, _plain(described.schema_arrow)
            check_types(own, Path(file))
            if lacking := [name for name in needed if name not in (*own.names, *folders.schema.names)]:
                raise InputError(f"it has no column {lacking[0]!r}")
            schema = pa.unify_schemas([schema, own], promote_options="permissive") if good else own
        except (pa.ArrowException, OSError, ValueError) as error:
            bad[file] = words_of(error)
            continue
        good[file] = own.names
        parts += _parts(file, about, folders.parse(place))
        stamp = system.get_file_info(path)
        print_of.update(f"{file} {about.num_rows} {stamp.size} {stamp.mtime_ns}\n".encode())
    if bad and (not skip_bad or not good):
        file, why = next(iter(bad.items()))
        more = f", as {len(bad) - 1:,} more of {len(files):,} files" if len(bad) > 1 else ""
        raise InputError(f"{file} cannot be used ({why}){more}: repair or remove it, or skip it with --skip-bad")
    for entry in folders.schema:
        schema = schema if entry.name in schema.names else schema.append(entry)
    check_names(list(schema.names), sum(part.rows for part in parts), Path(given))
    lacked = {name for names in good.values() for name in schema.names if name not in names}
    partial = tuple(sorted(lacked - set(folders.schema.names)))
    return Dataset(given, tuple(parts), schema, print_of.hexdigest(), tuple(bad), partial)


def _parts(file: str, about: Any, keys: Any) -> Iterator[Part]:
    """Cut a file into parts of whole row groups."""
    groups: list[int] = []
    rows = offset = 0
    for group in range(about.num_row_groups):
        groups.append(group)
        rows += about.row_group(group).num_rows
        if rows >= PART_ROWS or group == about.num_row_groups - 1:
            if rows:
                yield Part(file, tuple(groups), rows, offset, keys)
            offset, rows, groups = offset + rows, 0, []


def _find_files(given: str) -> tuple[dict[str, str], Any]:
    """Return the Parquet files at a place, sorted by name, each with its path below it, and the columns of folders."""
    if "://" in given:
        system, path = _remote(given)
        try:
            listed = system.glob(path) if PATTERN.search(path) else system.find(path)
        except (OSError, ValueError, ImportError) as error:
            raise InputError(f"{given} cannot be listed ({words_of(error)})") from None
        files, root = [f"{given.split('://')[0]}://{name}" for name in listed], given.rstrip("/")
    else:
        # Absolute, because a worker of a cluster may be somewhere else.
        root = given = str(Path(given).absolute())
        folder, single = Path(given).is_dir(), Path(given).is_file()
        names = Path(given).rglob("*") if folder else [given] if single else glob(given, recursive=True)
        files = [str(name) for name in names if Path(name).is_file()]
    places = {file: file.removeprefix(root) for file in sorted(files)}
    used = {file: place for file, place in places.items() if DATA.fullmatch(place) or files == [given]}
    if not used:
        raise InputError(
            f"no Parquet file was found at {given}: pass a file, a folder or a pattern such as 'visits/*.parquet'"
        )
    return used, _folders(list(used.values()))


def _folders(places: Sequence[str]) -> Any:
    """Return the columns of folders named column=value as pyarrow's partitioning: whole numbers, or text."""
    import pyarrow as pa
    from pyarrow import dataset

    values: dict[str, set[str]] = {}
    for key, value in (pair for place in places for pair in KEY.findall(place)):
        values.setdefault(unquote(key), set()).add(unquote(value))
    known = {name: texts - {NO_VALUE} for name, texts in values.items()}
    whole = {name: bool(texts) and all(map(WHOLE.fullmatch, texts)) for name, texts in known.items()}
    schema = pa.schema({name: pa.int64() if is_whole else pa.string() for name, is_whole in whole.items()})
    return dataset.partitioning(schema, flavor="hive")


def _remote(given: str) -> tuple[Any, str]:
    """Return the file system of an address, and its path there."""
    try:
        import fsspec
    except ImportError:
        raise InputError("an address such as s3:// needs fsspec: pip install 'rpo[remote]'") from None
    try:
        system, path = fsspec.core.url_to_fs(given)
    except (ImportError, ValueError) as error:
        raise InputError(f"{given} cannot be opened ({words_of(error)})") from None
    return system, path


def _open_system(file: str) -> tuple[Any, str]:
    """Return the file system of pyarrow that has a file, and its path there."""
    from pyarrow import fs

    if "://" not in file:
        return fs.LocalFileSystem(), file
    system, path = _remote(file)
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def _plain(schema: Any) -> Any:
    """Return columns as values instead of storage types, without pandas' unnamed index and metadata."""
    import pyarrow as pa

    text = (pa.types.is_large_string, pa.types.is_string_view)
    fields = []
    for entry in schema:
        kind = entry.type.value_type if pa.types.is_dictionary(entry.type) else entry.type
        fields.append(pa.field(entry.name, pa.string() if any(is_one(kind) for is_one in text) else kind))
    return pa.schema([entry for entry in fields if not INDEX.fullmatch(entry.name)])


def skipped_words(files: Sequence[str]) -> str:
    """Describe the files that were skipped."""
    return f"{len(files):,} files were skipped: {few(list(files), MOST_NAMED)}"
