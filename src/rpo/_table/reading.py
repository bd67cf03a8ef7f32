"""Tables from files and to files: CSV, TSV and Parquet, CSV and TSV also compressed by gzip."""

import codecs
import gzip
import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._table.columns import EXACT
from rpo.exceptions import InputError

DELIMITERS = (",", ";", "\t", "|")
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A"]
INDEX = re.compile(r"__index_level_\d+__")
# Enough for any honest header; a longer first line is no table of text.
HEADER_BYTES = 1 << 20
# From so many rows on a file may be read column by column, and the numbers made of it are kept in a file.
MANY_ROWS = 250_000
STREAMED = 1_000_000  # from so many rows on a dataset is not read whole
PATTERN = re.compile(r"[*?\[]")  # of a path with signs that stand for others
# What a number would not give back as it is written: a zero in front, more digits than a number holds, 1e5.
WRITTEN = r"^\s*(0[0-9]+|[0-9]{19,}|[0-9]+[eE][0-9]+)\s*$"
WRITTEN_WHOLE = r"^\s*0[0-9]+\s*$"
# Python knows them, but no file of text is written in them.
NO_ENCODINGS = ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "unicode_escape", "charmap")
ENCODINGS = "utf-8, latin-1, cp1252 or utf-16"


def read_table(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> pd.DataFrame:
    """Read the table in a file, by its ending; a delimiter other than the comma is recognised from the header.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text("age;city\\n31;Ulm\\n44;\\n")
    ...     read_table(Path(folder, "t.csv")).isna().sum().tolist()
    [0, 1]
    """
    file = Path(path)
    if not file.exists():
        raise InputError(f"{file} does not exist: pass the path of a CSV, TSV or Parquet file")
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "not a regular file"
        raise InputError(f"{file} is {kind}: pass the path of a CSV, TSV or Parquet file")
    name = file.name.lower()
    if not name.endswith((*TEXT_ENDINGS, *PARQUET_ENDINGS)):
        raise InputError(f"{file} must end in one of {', '.join((*TEXT_ENDINGS, *PARQUET_ENDINGS))}")
    kind = "Parquet" if name.endswith(PARQUET_ENDINGS) else "a table"
    with explain_errors(file, kind):
        head = _head(file)
        if not head:
            raise InputError(f"{file} is empty: a header and rows are needed")
        frame = _parquet(file) if kind == "Parquet" else _text(file, head, encoding)
        return _checked(frame, file)


@contextmanager
def explain_errors(file: Path, kind: str) -> Iterator[None]:
    """Raise any error of the libraries that read a file as one line about the file.

    >>> with explain_errors(Path("t.csv"), "a table"):
    ...     raise KeyError("column")
    Traceback (most recent call last):
    rpo.exceptions.InputError: t.csv cannot be read as a table ('column')
    """
    try:
        yield
    except (InputError, KeyboardInterrupt, SystemExit):
        raise
    except MemoryError:
        raise InputError(f"{file} does not fit into memory: use fewer columns or rows") from None
    except Exception as error:
        raise InputError(f"{file} cannot be read as {kind} ({_line(error)})") from None


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table in the format of its path's ending, atomically.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pd.DataFrame({"a": [1, 2], "b": 0}), Path(folder, "t.tsv.gz"))
    ...     read_table(Path(folder, "t.tsv.gz"))["a"].tolist()
    [1, 2]
    """
    from rpo._io import write_whole

    file = Path(path)
    name = file.name.lower()
    if file.is_dir():
        raise InputError(f"{file} is a directory: choose the path of a file")
    buffer = io.BytesIO()
    if name.endswith(PARQUET_ENDINGS):
        frame.to_parquet(buffer, index=False)
    elif name.endswith(TEXT_ENDINGS):
        text = frame.to_csv(index=False, sep="\t" if ".tsv" in name else ",")
        # No time in the header: the same table gives the same bytes.
        buffer.write(gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode())
    else:
        raise InputError(f"{file} must end in one of {', '.join((*TEXT_ENDINGS, *PARQUET_ENDINGS))}")
    write_whole(file, buffer.getvalue())


def delimiter_of(header: str) -> str:
    """Return the most frequent delimiter of the header, outside quotes; a comma if it has none.

    >>> delimiter_of('"a;b",c,d'), delimiter_of("a b\\tc")
    (',', '\\t')
    """
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=lambda mark: (outside.count(mark), -DELIMITERS.index(mark)))


def _head(file: Path) -> bytes:
    with open(file, "rb") as raw:
        stream: Any = gzip.GzipFile(fileobj=raw) if file.name.lower().endswith(".gz") else raw
        return bytes(stream.readline(HEADER_BYTES))


def _text(file: Path, head: bytes, encoding: str) -> pd.DataFrame:
    import pyarrow as pa

    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8":
        raise InputError(f"{file} is in UTF-16: save it as UTF-8, or use --encoding utf-16")
    if b"\0" in head and encoding == "utf-8":
        raise InputError(f"{file} is not a text file: pass a CSV, TSV or Parquet file")
    _check_encoding(encoding)
    try:
        mark = delimiter_of(codecs.decode(head, encoding, "ignore"))
        table = _parse(file, mark, encoding)
        names = table.schema.names
    except UnicodeError as error:
        if "BOM" in str(error):
            raise InputError(
                f"{file} has no byte-order mark: use --encoding {encoding}-le (or {encoding}-be) instead of {encoding}"
            ) from None
        raise InputError(
            f"{file} is not in {encoding}: specify its encoding with --encoding, such as latin-1"
        ) from None
    except (pa.ArrowException, OSError) as error:
        if "invalid UTF8" in str(error) or "codec" in str(error):
            raise InputError(
                f"{file} is not in {encoding}: specify its encoding with --encoding, such as latin-1"
            ) from None
        raise
    if any(is_bytes(field.type) for field in table.schema):  # what pyarrow makes of text it cannot decode
        raise InputError(f"{file} is not in {encoding}: specify its encoding with --encoding, such as latin-1")
    check_names(names, len(table), file)
    texts = _kept_as_text(table, file, mark, encoding)
    return frame_of(_parse(file, mark, encoding, texts) if texts else table)


def _check_encoding(encoding: str) -> None:
    try:
        codec = codecs.lookup(encoding)
        text = getattr(codec, "_is_text_encoding", True) and codec.incrementaldecoder is not None
    except (LookupError, ValueError):
        text = False
    if not text or encoding.lower().replace("_", "-") in NO_ENCODINGS or not encoding.isprintable():
        raise InputError(f"unknown encoding {encoding[:40]!r}: use {ENCODINGS}") from None


def _options(mark: str, encoding: str, as_text: Sequence[str] = (), only: Sequence[str] = ()) -> dict[str, Any]:
    """Return pyarrow's options for reading text: which columns as text, and which at all (all if none is named)."""
    import pyarrow as pa
    from pyarrow import csv

    return {
        "read_options": csv.ReadOptions(encoding=encoding),
        "parse_options": csv.ParseOptions(delimiter=mark, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            null_values=MISSING,
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            # Only what is written as a truth value is one: 0 and 1 stay numbers.
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            column_types=dict.fromkeys(as_text, pa.string()),
            include_columns=list(only),
        ),
    }


def _parse(file: Path, mark: str, encoding: str, as_text: Sequence[str] = ()) -> Any:
    from pyarrow import csv

    return csv.read_csv(file, **_options(mark, encoding, as_text))


def _kept_as_text(table: Any, file: Path, mark: str, encoding: str) -> list[str]:
    """Return columns that pyarrow read as numbers, but whose text a number does not preserve."""
    import pyarrow as pa
    from pyarrow import compute, csv

    patterns = {
        field.name: WRITTEN_WHOLE if pa.types.is_integer(field.type) else WRITTEN
        for field in table.schema
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    }
    columns: list[str] = []
    if not patterns:
        return columns
    # A block at a time: the text of a large table is not held beside its numbers.
    with csv.open_csv(file, **_options(mark, encoding, list(patterns), list(patterns))) as blocks:
        for block in blocks:
            for name in [name for name in patterns if name not in columns]:
                if compute.any(compute.match_substring_regex(block.column(name), patterns[name])).as_py():
                    columns.append(name)
    return columns


def _parquet(file: Path) -> pd.DataFrame:
    from pyarrow import parquet

    table = parquet.read_table(file)
    check_types(table.schema, file)
    return frame_of(table)


def is_bytes(kind: Any) -> bool:
    """Return whether a type of pyarrow is binary.

    >>> import pyarrow as pa
    >>> is_bytes(pa.binary(4)), is_bytes(pa.string())
    (True, False)
    """
    import pyarrow as pa

    known = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(is_one(kind) for is_one in known)


def check_types(schema: Any, file: Path) -> None:
    """Refuse columns of a Parquet file that are neither numbers nor text nor dates."""
    import pyarrow as pa

    for field in schema:
        kind = field.type
        if isinstance(kind, pa.BaseExtensionType) or pa.types.is_nested(kind) or is_bytes(kind):
            raise InputError(
                f"column {field.name[:60]!r} of {file} has type {str(kind)[:60]}: use numbers, text or dates"
            )
        if pa.types.is_timestamp(kind) and kind.tz is not None and not _is_zone(kind.tz):
            raise InputError(f"column {field.name[:60]!r} of {file} is in the unknown time zone {kind.tz[:60]!r}")


def _is_zone(name: str) -> bool:
    import pyarrow as pa

    try:
        pa.lib.string_to_tzinfo(name)
    except Exception:  # what it raises depends on the name
        return False
    return True


def frame_of(table: Any) -> pd.DataFrame:
    """Convert a table of pyarrow to a data frame."""
    table = _exact(table)
    # Each column is given back to the allocator once converted: a large table is not held twice.
    frame: pd.DataFrame = table.to_pandas(
        split_blocks=True, self_destruct=True, date_as_object=False, ignore_metadata=True
    )
    # pandas may have written an index: one with a name is a column, one without is none.
    unnamed = [bool(INDEX.fullmatch(str(name))) for name in frame.columns]
    return frame.loc[:, np.logical_not(unnamed)] if any(unnamed) else frame


def _exact(table: Any) -> Any:
    """Convert whole numbers with gaps to text if floats cannot represent them: pandas would convert them to floats."""
    import pyarrow as pa
    from pyarrow import compute

    for place, field in enumerate(table.schema):
        column = table.column(place)
        if not pa.types.is_integer(field.type) or field.type.bit_width < 64 or column.null_count in (0, len(column)):
            continue
        ends = compute.min_max(column).as_py()
        if max(abs(ends["min"]), abs(ends["max"])) > EXACT:
            table = table.set_column(place, field.name, column.cast(pa.string()))
    return table


def _checked(frame: pd.DataFrame, file: Path) -> pd.DataFrame:
    names = [str(name) for name in frame.columns]
    check_names(names, len(frame), file)
    return frame.set_axis(names, axis=1)


def check_names(names: list[str], rows: int, file: Path) -> None:
    """Refuse a table without rows, and columns without unique names."""
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise InputError(f"{file} has the column {twice[0]!r} more than once: rename one of them")
    if "" in names:
        raise InputError(f"{file} has a column without a name (number {names.index('') + 1}): add one")
    if len(names) == 1:
        hint = "" if file.name.lower().endswith(PARQUET_ENDINGS) else ": is its delimiter one of , ; | or a tab?"
        raise InputError(f"{file} has only one column ({names[0]!r}){hint}")
    if rows == 0:
        raise InputError(f"{file} has a header but no rows")


def _line(error: BaseException) -> str:
    """Return the first line of a library's error, cut to a readable length."""
    text = (str(error) or type(error).__name__).splitlines()[0].strip(" \0")
    return text if len(text) <= 160 else f"{text[:157]}…"


def is_dataset(given: str) -> bool:
    """Return whether a path of a table refers to several files, or to another machine.

    >>> is_dataset("homes.csv"), is_dataset("visits/*.parquet"), is_dataset("s3://bucket/visits")
    (False, True, True)
    """
    path = Path(given)
    return "://" in given or path.is_dir() or (bool(PATTERN.search(given)) and not path.exists())


def rows_in(path: str | Path) -> int:
    """Return the number of rows of a Parquet file; zero if it is another file, or cannot be read.

    >>> rows_in("homes.csv")
    0
    """
    from pyarrow import ArrowException, parquet

    if not Path(path).is_file() or not str(path).lower().endswith(PARQUET_ENDINGS):
        return 0
    try:
        return int(parquet.read_metadata(path).num_rows)
    except (ArrowException, OSError, ValueError, MemoryError):
        return 0  # whoever reads it will say what is wrong


class ParquetFrame:
    """The part of a data frame's interface that `prepare` needs; columns are read from the file on every access."""

    def __init__(self, file: Path, rows: NDArray[np.bool_] | None = None) -> None:
        from pyarrow import parquet

        self.file, self.rows = file, rows
        self.reader = parquet.ParquetFile(file, memory_map=True)
        schema = self.reader.schema_arrow
        check_types(schema, file)
        self.columns = frame_of(schema.empty_table()).columns
        check_names(list(self.columns), self.reader.metadata.num_rows, file)

    def __len__(self) -> int:
        return int(self.reader.metadata.num_rows if self.rows is None else self.rows.sum())

    @property
    def index(self) -> "pd.Index[int]":
        """The places of the rows in the file."""
        every = pd.RangeIndex(self.reader.metadata.num_rows)
        return every if self.rows is None else every[self.rows]

    def __getitem__(self, key: Any) -> Any:
        """Return a column by name, several by a list of names, or the rows of a mask as another table."""
        if isinstance(key, np.ndarray):
            return ParquetFrame(self.file, key)
        with explain_errors(self.file, "Parquet"):
            frame = frame_of(self.reader.read(columns=[key] if isinstance(key, str) else key, use_threads=False))
        frame = frame if self.rows is None else frame[self.rows]
        return frame[key]

    def set_axis(self, names: list[str], axis: int) -> "ParquetFrame":
        """Return the same table, because names in a Parquet file are text already."""
        assert (names, axis) == (list(self.columns), 1)
        return self


def many_rows(path: Path) -> Any:
    """Return the table in a Parquet file of many rows, its columns read on access; None for other files.

    >>> many_rows(Path("homes.csv")) is None
    True
    """
    with explain_errors(path, "Parquet"):
        return ParquetFrame(path) if rows_in(path) >= MANY_ROWS else None
