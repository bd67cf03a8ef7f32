"""A Parquet file as a table whose columns are read when they are asked for, one at a time."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rpo._table.reading import check_names, check_types, explained, frame_of

# From so many rows on a file is read column by column, and the numbers made of it are kept in a file.
MANY_ROWS = 250_000


class ParquetFrame:
    """As much of a data frame as `prepare` asks for; every look at a column reads it from the file."""

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

    def __getitem__(self, key: Any) -> Any:
        """A column by name, several by a list of names, or the rows of a mask as another table."""
        if isinstance(key, np.ndarray):
            return ParquetFrame(self.file, key)
        with explained(self.file, "Parquet"):
            frame = frame_of(self.reader.read(columns=[key] if isinstance(key, str) else key, use_threads=False))
        frame = frame if self.rows is None else frame[self.rows]
        return frame[key]

    def set_axis(self, names: list[str], axis: int) -> "ParquetFrame":
        """Itself: names in a Parquet file are text already."""
        assert (names, axis) == (list(self.columns), 1)
        return self


def many_rows(path: Path) -> pd.DataFrame | None:
    """The table in a Parquet file of many rows, columns read as they are asked for; None for any other file.

    >>> many_rows(Path("homes.csv")) is None
    True
    """
    from rpo._table.reading import PARQUET_ENDINGS

    if not path.is_file() or not path.name.lower().endswith(PARQUET_ENDINGS):
        return None
    from pyarrow import ArrowException, parquet

    try:
        rows = parquet.read_metadata(path).num_rows
    except (ArrowException, OSError, ValueError, MemoryError):
        return None  # whoever reads it will say what is wrong
    with explained(path, "Parquet"):
        frame: Any = ParquetFrame(path) if rows >= MANY_ROWS else None
    found: pd.DataFrame | None = frame
    return found
