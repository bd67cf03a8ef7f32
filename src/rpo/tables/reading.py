"""Tables from files and to files: CSV, TSV and Parquet, CSV and TSV also compressed by gzip."""

import gzip
import io
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rpo.exceptions import InputError

DELIMITERS = (",", ";", "\t", "|")
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A"]
INDEX = re.compile(r"__index_level_\d+__")
# Enough for any honest header; a longer first line is no table of text.
HEADER_BYTES = 1 << 20


def read_table(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> pd.DataFrame:
    """The table in a file, by its ending; a delimiter other than the comma is recognised from the header.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "t.csv").write_text("age;city\\n31;Ulm\\n44;\\n")
    ...     read_table(Path(folder, "t.csv")).isna().sum().tolist()
    [0, 1]
    """
    file = Path(path)
    if not file.exists():
        raise InputError(f"there is no file {file}: give the path of a CSV, TSV or Parquet file")
    if not file.is_file():
        kind = "a directory" if file.is_dir() else "not a regular file"
        raise InputError(f"{file} is {kind}: give the path of a CSV, TSV or Parquet file")
    try:
        head = _head(file)
    except (OSError, EOFError) as error:
        raise InputError(f"{file} cannot be read ({_line(error)})") from None
    if not head:
        raise InputError(f"{file} is empty: give a table with a header and rows")
    name = file.name.lower()
    if name.endswith(PARQUET_ENDINGS):
        frame = _parquet(file)
    elif name.endswith(TEXT_ENDINGS):
        frame = _text(file, head, encoding)
    else:
        raise InputError(f"{file} ends in none of {', '.join((*TEXT_ENDINGS, *PARQUET_ENDINGS))}: rename it")
    return _checked(frame, file)


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table by the ending of its path, whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pd.DataFrame({"a": [1, 2], "b": 0}), Path(folder, "t.tsv.gz"))
    ...     read_table(Path(folder, "t.tsv.gz"))["a"].tolist()
    [1, 2]
    """
    from rpo.io import write_whole

    file = Path(path)
    name = file.name.lower()
    if file.is_dir():
        raise InputError(f"{file} is a directory: give the path of a file to write")
    buffer = io.BytesIO()
    if name.endswith(PARQUET_ENDINGS):
        frame.to_parquet(buffer, index=False)
    elif name.endswith(TEXT_ENDINGS):
        text = frame.to_csv(index=False, sep="\t" if ".tsv" in name else ",")
        # No time in the header: the same table gives the same bytes.
        buffer.write(gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode())
    else:
        raise InputError(f"{file} ends in none of {', '.join((*TEXT_ENDINGS, *PARQUET_ENDINGS))}: rename it")
    write_whole(file, buffer.getvalue())


def delimiter_of(header: str) -> str:
    """The delimiter that the header has most of, outside quotes; a comma if it has none.

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
    from pyarrow import csv

    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8":
        raise InputError(f"{file} is in UTF-16: save it as UTF-8, or say --encoding utf-16")
    if b"\0" in head and encoding == "utf-8":
        raise InputError(f"{file} is not a text file: give a CSV, TSV or Parquet file")
    try:
        mark = delimiter_of(head.decode(encoding, errors="ignore"))
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r}: use utf-8, latin-1, cp1252 or utf-16") from None
    try:
        table = csv.read_csv(
            file,
            read_options=csv.ReadOptions(encoding=encoding),
            parse_options=csv.ParseOptions(delimiter=mark, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=MISSING,
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                # Only what is written as a truth value is one: 0 and 1 stay numbers.
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
            ),
        )
    except UnicodeDecodeError:
        raise InputError(f"{file} is not in {encoding}: say which with --encoding, such as latin-1") from None
    except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError, OSError, EOFError) as error:
        words = _line(error)
        if "invalid UTF8" in words or "codec" in words:
            raise InputError(f"{file} is not in {encoding}: say which with --encoding, such as latin-1") from None
        raise InputError(f"{file} cannot be read as a table ({words})") from None
    if any(pa.types.is_binary(field.type) for field in table.schema):  # what pyarrow makes of text it cannot decode
        raise InputError(f"{file} is not in {encoding}: say which with --encoding, such as latin-1")
    return frame_of(table)


def _parquet(file: Path) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(file)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read as Parquet ({_line(error)})") from None
    check_types(table.schema, file)
    return frame_of(table)


def check_types(schema: Any, file: Path) -> None:
    """Refuse columns of a Parquet file that hold neither numbers nor text nor dates."""
    import pyarrow as pa

    for field in schema:
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
            raise InputError(f"column {field.name!r} of {file} holds {field.type}: give numbers, text or dates")


def frame_of(table: Any) -> pd.DataFrame:
    """A table of pyarrow as a data frame."""
    # Each column is given back to the allocator once converted: a large table is not held twice.
    frame: pd.DataFrame = table.to_pandas(
        split_blocks=True, self_destruct=True, date_as_object=False, ignore_metadata=True
    )
    # pandas may have written an index: one with a name is a column, one without is none.
    unnamed = [bool(INDEX.fullmatch(str(name))) for name in frame.columns]
    return frame.loc[:, np.logical_not(unnamed)] if any(unnamed) else frame


def _checked(frame: pd.DataFrame, file: Path) -> pd.DataFrame:
    names = [str(name) for name in frame.columns]
    check_names(names, len(frame), file)
    return frame.set_axis(names, axis=1)


def check_names(names: list[str], rows: int, file: Path) -> None:
    """Refuse a table without rows, and columns without names of their own."""
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        raise InputError(f"{file} has the column {twice[0]!r} more than once: give every column its own name")
    if "" in names:
        raise InputError(f"{file} has a column without a name (number {names.index('') + 1}): name it")
    if len(names) == 1:
        hint = "" if file.name.lower().endswith(PARQUET_ENDINGS) else ": is its delimiter one of , ; | or a tab?"
        raise InputError(f"{file} has one column only ({names[0]!r}){hint}")
    if rows == 0:
        raise InputError(f"{file} has a header but no rows")


def _line(error: BaseException) -> str:
    """The first line of what a library says, cut to a readable length."""
    text = (str(error) or type(error).__name__).splitlines()[0].strip(" \0")
    return text if len(text) <= 160 else f"{text[:157]}…"
